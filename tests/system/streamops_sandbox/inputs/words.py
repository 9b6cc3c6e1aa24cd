"""Lines of text. They have no event time: late and out-of-order lines are lines like any other."""

from collections import Counter
from collections.abc import Iterable

from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.timetable import Kind, arrange

TOPIC = "words"

_VOCABULARY = (
    *("a", "after", "Again", "before", "Café", "clear", "COLD", "cup", "day", "Down", "each", "Früh", "glass", "Grün"),
    *("half", "High", "home", "ice", "INTO", "keep", "light", "Map", "near", "night", "old", "one", "over", "Paint"),
    *("pear", "quiet", "RAIN", "red", "sea", "slow", "Stone", "tea", "three", "under", "view", "warm", "West", "wind"),
)
_BLANKS = (" ", "  ", "\t", " \t ")


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` lines. A malformed one is null or invalid UTF-8 by turns; a duplicate is a line that counts once more."""
    lines: dict[int, InputRecord] = {}
    made: list[InputRecord] = []
    for slot in arrange(seed=seed, count=count, shares=shares):
        if slot.kind is Kind.MALFORMED:
            value = b"caf\xe9 and tea" if slot.number % 2 else None
            made.append(InputRecord(TOPIC, slot.label("line").encode(), value, slot.wave))
            continue
        if slot.kind is not Kind.DUPLICATE:
            line = _line(seed, slot.number)
            lines[slot.number] = InputRecord(TOPIC, slot.label("line").encode(), line.encode(), slot.wave)
        made.append(lines[slot.number])
    return tuple(made)


def expected_counts(records: Iterable[InputRecord]) -> dict[str, int]:
    """How often each word comes, in lower case."""
    lines = (_text(record) for record in records)
    return dict(Counter(word for line in lines if line is not None for word in line.lower().split()))


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The records that are no text; an empty text is one, without words."""
    return tuple(record for record in records if _text(record) is None)


def _line(seed: int, number: int) -> str:
    words = [
        _VOCABULARY[draw(len(_VOCABULARY), seed, "word", number, place)]
        for place in range(draw(9, seed, "length", number))
    ]
    return _BLANKS[draw(len(_BLANKS), seed, "blank", number)].join(words)


def _text(record: InputRecord) -> str | None:
    try:
        return None if record.value is None else record.value.decode()
    except UnicodeDecodeError:
        return None
