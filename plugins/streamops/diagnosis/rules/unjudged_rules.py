"""A source whose offsets nobody here knows: what they say is shown, and not judged."""

from collections.abc import Iterator

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.layout import OFFSETS, json_value, quoted
from streamops.checkpoint.offsets import offset_pairs
from streamops.checkpoint.source_offsets import UnknownOffset
from streamops.diagnosis.expectations import Expectations
from streamops.formatting import listed
from streamops.verdict import Finding, Severity

SHOWN = 5
MOST_LEAVES = 1_000
"""Values of an offset that are compared."""


def unjudged_source(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A source whose offsets nobody here knows, as Iceberg's, Kinesis' or one of Python's: what they say is not judged."""
    if facts.newest is None:
        return
    for name, had, has in offset_pairs(facts.previous, facts.newest):
        if not isinstance(has, UnknownOffset) or (had is not None and not isinstance(had, UnknownOffset)):
            continue
        moved = _moves(had.text, has.text) if had else []
        more = f"; moved since the entry below: {listed(moved, SHOWN)}"
        yield Finding(
            rule="unjudged-source",
            severity=Severity.NOTE,
            file=f"{OFFSETS}/{facts.newest.batch}",
            evidence=f"source {name}: {quoted(has.text)}{more if moved else ''}",
            meaning="the form of these offsets is not known: a start is judged as far as Spark's own logs tell, and not by"
            " whether the source still has what the offsets name",
        )


def _moves(had: str, has: str) -> list[str]:
    """What is another value than before, by its place in the JSON; numbers that went down, and texts, first."""
    before, now = _leaves(had), _leaves(has)
    moved = [(place, before.get(place), now.get(place)) for place in dict.fromkeys((*before, *now))]
    moved = [(place, old, new) for place, old, new in moved if old != new]
    moved.sort(key=lambda one: _rises(one[1], one[2]))
    return [
        f"{place} {_shown(old)} → {_shown(new)}{'' if _rises(old, new) else _goes_back(old, new)}"
        for place, old, new in moved
    ]


def _rises(old: object, new: object) -> bool:
    return isinstance(old, int | float) and isinstance(new, int | float) and new > old


def _goes_back(old: object, new: object) -> str:
    return " (goes back)" if _rises(new, old) else ""


def _shown(value: object) -> str:
    return "nothing" if value is None else quoted(value) if isinstance(value, str) else str(value)


def _leaves(text: str) -> dict[str, object]:
    """The values in a JSON text by their place; the text itself where it is none."""
    try:
        value = json_value(text, is_spark_own=False)
    except ValueError:
        return {"text": text}
    found: dict[str, object] = {}
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting and len(found) < MOST_LEAVES:
        place, one = waiting.pop(0)
        inner = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        waiting += [
            (f"{place}.{quoted(str(key))[1:-1]}" if place else quoted(str(key))[1:-1], held) for key, held in inner
        ]
        if not isinstance(one, dict | list):
            found[place or "offset"] = one
    return found
