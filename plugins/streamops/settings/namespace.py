"""The namespace of a settings file, as people write it."""

import re

EXPECTED = (
    "nothing, or lower-case letters, digits and single underscores, a letter first, 40 characters at most, and neither"
    " stream nor catchup"
)

_NAMESPACE = re.compile(r"(?!(stream|catchup)$)(?=.{1,40}$)[a-z][a-z0-9]*(_[a-z0-9]+)*")


def checked_namespace(text: str) -> str:
    """The namespace itself; ValueError for what could not be told from another part of a DAG's id."""
    if text and not _NAMESPACE.fullmatch(text):
        raise ValueError(EXPECTED)
    return text
