"""What lies at an address that is said to be a checkpoint: what has no logs, and folders that a tool would take for the same one.

Spark 2.x escaped spaces, `%` and `#` in the path of a checkpoint, some of them more than once; 3.0 and later take it as it is
(SPARK-26824).
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import quote, unquote

from streamops.checkpoint.layout import COMMITS, METADATA, OFFSETS, batch_id, read_listing
from streamops.errors import StorageError
from streamops.storage import ReadableStorage, join, parent

SHOWN = 3
MAX_CHILDREN = 50
"""Folders below that are looked into, to see whether they are checkpoints."""

_OWN = frozenset({METADATA, OFFSETS, COMMITS, "sources", "state", "lost+found"})
"""Of a checkpoint, and of the root of a volume that one is meant for."""
_UNEXPANDED = re.compile(r"\$\{|\$[A-Za-z_]|/~|%\(|\{\{|\{\w+\}|%\w+%|[\"'*]")
_STATE_FILE = re.compile(r"\d+(_[0-9a-f-]{36})?\.(delta|snapshot|changelog|zip)", re.ASCII)
_FLINK = re.compile(r"chk-\d+|savepoint-.+|taskowned", re.ASCII)
_DSTREAM = re.compile(r"checkpoint-\d{13}(?:\.bk)?", re.ASCII)
_KAFKA_STREAMS = re.compile(r"\d+_\d+", re.ASCII)
_MARKERS = (
    ("_delta_log", "a Delta table"),
    (".hoodie", "a Hudi table"),
    ("_spark_metadata", "the output of Spark's file sink"),
    ("receivedBlockMetadata", "a checkpoint of Spark's DStreams"),
    ("kafka-streams-process-metadata", "a state folder of Kafka Streams"),
    ("_metadata", "a checkpoint of Flink"),
    ("_SUCCESS", "the output of a job"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What an address without logs holds."""

    is_there: bool = True
    """Whether there is such a folder."""
    what: str = ""
    """What it is instead of a checkpoint: `a Delta table`; empty where nothing tells."""
    strangers: tuple[str, ...] = ()
    """Names that say nothing, the first SHOWN: no reason not to begin beside them."""
    checkpoints: tuple[str, ...] = ()
    """Names of folders below that look like checkpoints."""
    alike: tuple[str, ...] = ()
    """Names beside a folder that is not there, that are spelled alike."""
    is_unexpanded: bool = False
    """Whether the address holds a variable, a pattern, a quotation mark or a `~` that nobody has replaced."""


def read_place(storage: ReadableStorage, address: str) -> Place:
    """Look at an address whose checkpoint has no logs. Raises StorageError where it can't be asked."""
    names = storage.list(address)
    is_table = METADATA in names and _holds_table_metadata(storage, join(address, METADATA))
    is_unexpanded = bool(_UNEXPANDED.search(address))
    if not names:
        return _empty(storage, address, is_unexpanded=is_unexpanded)
    return Place(
        what=_ICEBERG if is_table else _what(names),
        strangers=tuple(sorted(_strange(names))[:SHOWN]),
        checkpoints=_below(storage, address, names),
        is_unexpanded=is_unexpanded,
    )


def _empty(storage: ReadableStorage, address: str, *, is_unexpanded: bool) -> Place:
    name = address.rstrip("/").rpartition("/")[2]
    try:
        beside = storage.list(parent(address))
    except StorageError:
        beside = ()
    if name in beside:
        return Place(is_unexpanded=is_unexpanded)
    alike = tuple(get_close_matches(name, beside, n=SHOWN, cutoff=0.75))
    return Place(is_there=False, alike=alike, is_unexpanded=is_unexpanded)


def _what(names: Collection[str]) -> str:
    if any(_STATE_FILE.fullmatch(name) for name in names) or ("_metadata" in names and "0" in names):
        return "a part of a checkpoint's state, not the checkpoint itself: name the folder above `state`"
    told = next((what for marker, what in _MARKERS if marker in names), "")
    if told:
        return told
    if any(_DSTREAM.fullmatch(name) for name in names):
        return "a checkpoint of Spark's DStreams"
    if any(_FLINK.fullmatch(name) for name in names):
        return "a checkpoint folder of Flink"
    strange = _strange(names)
    if strange and all(batch_id(name.removesuffix(".compact")) is not None for name in strange):
        return "a log of a checkpoint, not the checkpoint itself: name the folder above it"
    if strange and all(_KAFKA_STREAMS.fullmatch(name) for name in strange):
        return "a state folder of Kafka Streams"
    if {"data", METADATA} <= set(names) and OFFSETS not in names:
        return _ICEBERG
    return ""


def _holds_table_metadata(storage: ReadableStorage, folder: str) -> bool:
    """Of a checkpoint `metadata` is a file, which can't be listed."""
    try:
        return any(name.endswith(_OF_ICEBERG) for name in storage.list(folder))
    except StorageError:
        return False


_ICEBERG = "an Iceberg table"
_OF_ICEBERG = (".metadata.json", "version-hint.text")


def _strange(names: Collection[str]) -> list[str]:
    return [name for name in names if name not in _OWN and not name.startswith(".")]


def _below(storage: ReadableStorage, address: str, names: Collection[str]) -> tuple[str, ...]:
    found = []
    for name in _strange(names)[:MAX_CHILDREN]:
        try:
            inside = storage.list(join(address, name))
        except StorageError:
            continue
        if {OFFSETS, METADATA} <= set(inside):
            found.append(name)
    return tuple(found)


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
