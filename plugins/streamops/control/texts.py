"""How long the texts in records may be, and how they are cut: what people, drivers and Spark say has no length of its own.

What a person says is refused where it is too long, since half a reason may say the opposite. What the suite composes from
the words of others is cut, and shows it.
"""

from collections.abc import Iterable

from streamops.errors import SettingsError

REASON_LIMIT = 2_000
"""Characters of a reason that a person gives."""
COMPOSED_LIMIT = 4_000
"""Characters of a reason that the suite composes, as from the text of an exception."""
FAILURE_LIMIT = 16_000
"""Characters of the text of a failure."""
NAME_LIMIT = 300
"""Characters of a name that somebody else has given: of a query, of an account."""
CLASSES_KEPT = 50
"""Error classes of one failure."""
CLASS_LIMIT = 200
"""Characters of an error class."""


def shortened(text: str, limit: int) -> str:
    """At most so many characters of a text, its middle cut out: the class stands at its start, the cause at its end.

    A text that was shortened before stays as it is.
    """
    if len(text) <= limit:
        return text
    mark = f"\n… {len(text)} characters, their middle left out …\n"
    kept = max(0, limit - len(mark))
    head = kept - kept // 2
    return (text[:head] + mark + text[len(text) - kept // 2 :])[:limit]


def shortened_classes(classes: Iterable[str], most: int = CLASSES_KEPT) -> tuple[str, ...]:
    """The first and the last of many error classes, each once and cut."""
    found = tuple(dict.fromkeys(name[:CLASS_LIMIT] for name in classes))
    if len(found) <= most:
        return found
    last = most // 5
    return found[: most - last] + found[-last:]


def reason_trouble(reason: str) -> str:
    """Why a person's reason is too long; empty where it is not."""
    if len(reason) <= REASON_LIMIT:
        return ""
    return (
        f"it has {len(reason)} characters, {REASON_LIMIT} at most are put on record: say it shortly, and name the ticket"
        " that tells the rest"
    )


def checked_reason(reason: str) -> str:
    """What a person gives as a reason, without blanks around it. SettingsError for none, or for one that is too long."""
    said = reason.strip()
    if not said:
        raise SettingsError("the reason is empty: say why, others will read it")
    if trouble := reason_trouble(said):
        raise SettingsError(f"the reason is too long: {trouble}")
    return said
