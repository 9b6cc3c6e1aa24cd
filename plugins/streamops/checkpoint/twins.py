"""Folders that another release of Spark, or a tool, would take for the same checkpoint: one spelled with escapes, one without.

Spark 2.x escaped spaces, `%` and `#` in the path of a checkpoint, some of them more than once; 3.0 and later take it as it is
(SPARK-26824).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from streamops.checkpoint.layout import OFFSETS
from streamops.checkpoint.listing import read_listing
from streamops.errors import StorageError
from streamops.storage import ReadableStorage, join

MAX_TWINS = 5
_ESCAPED_TIMES = 3
"""`%252520` is a space that was escaped three times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A checkpoint under another spelling of the same path."""

    address: str
    last_offset: int


def read_twins(storage: ReadableStorage, address: str) -> tuple[Twin, ...]:
    """Those that hold batches. A place that can't be asked has none: it is not the one that was asked about."""
    found = []
    for spelling in _spellings(storage, address):
        try:
            last = read_listing(storage, join(spelling, OFFSETS)).highest
        except StorageError:
            continue
        if last >= 0:
            found.append(Twin(address=spelling, last_offset=last))
        if len(found) == MAX_TWINS:
            break
    return tuple(found)


def _spellings(storage: ReadableStorage, address: str) -> Iterator[str]:
    """The address with one part spelled as a neighbour is; nothing is listed around parts that have one spelling only."""
    head, separator, path = address.partition("://")
    parts = path.split("/")
    for index, part in enumerate(parts):
        if index == 0 or quote(part) == part:
            continue
        around = head + separator + "/".join(parts[:index])
        try:
            names = storage.list(around)
        except StorageError:
            continue
        plain = _plain(part)
        for name in names:
            if name != part and _plain(name) == plain:
                yield join(around, name, *parts[index + 1 :])


def _plain(name: str) -> str:
    for _ in range(_ESCAPED_TIMES):
        name = unquote(name)
    return name
