"""What the files of a checkpoint have in common: names, sizes, how their text is taken apart, and in what way one is broken.

What Spark 4.2.0 makes of odd numbers, ids and JSON was tried on its own classes.

Spark classes: HDFSMetadataLog for what counts as a batch, CheckpointFileManager and Hadoop's ChecksumFileSystem for what
lies beside them; 3.5 to 4.3.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import filterfalse, pairwise

from streamops.errors import CheckpointError
from streamops.storage import ReadableStorage

METADATA = "metadata"
OFFSETS = "offsets"
COMMITS = "commits"

METADATA_LIMIT = 64 * 1024
"""Bytes. The file holds one id, 45 bytes."""
OFFSETS_LIMIT = 16 * 1024 * 1024
"""Bytes. 200 000 Kafka partitions take 4 MB, 5 MB with the largest offsets; everything else is far smaller."""
COMMIT_LIMIT = 16 * 1024 * 1024
"""Bytes. An entry with state ids holds 39 bytes for each store: room for 400 000 of them, offsets never grow so."""

ORDINARY_ID = re.compile(r"0|[1-9][0-9]{0,17}")
"""An id as Spark writes it: plain digits that fit into a long. Every other spelling is for `java_long` to judge."""
_LONG_TEXT = re.compile(r"[+-]?\d{1,1024}")
"""No name in any store is longer, and Python converts numbers of this length."""
_MIN_LONG = -(2**63)
_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_LENGTH = 40


def is_long(number: int) -> bool:
    """Whether a number fits into Java's long, as every number in a checkpoint does."""
    return _MIN_LONG <= number < -_MIN_LONG


def java_long(text: str) -> int | None:
    """The number that Java's Long.parse reads: signs, leading zeros and digits of other scripts included."""
    # Java looks at one UTF-16 unit at a time, and so knows no digits beyond the first plane.
    if not _LONG_TEXT.fullmatch(text) or not (text.isascii() or max(text) <= "\uffff"):
        return None
    number = int(text)
    return number if is_long(number) else None


def batch_id(name: str) -> int | None:
    """The batch that a file name stands for: `7` → 7, `00007` → 7, `7.tmp` and `.7.crc` → None.

    Spark takes whatever Java's Long.parse accepts (HDFSMetadataLog, 3.5 to 4.3), odd spellings included.
    """
    return int(name) if ORDINARY_ID.fullmatch(name) else java_long(name)


def lines_of(content: bytes) -> list[str]:
    """The lines as Scala's `getLines` reads them: any line end counts, the last one opens no further line.

    ValueError for bytes that are no UTF-8: the logs of 3.5 to 4.3 are read strictly, `metadata` is not (tried on 4.2.0).
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is no UTF-8") from error
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice, and is well otherwise as far as it was read."""


CUT = "it ends too early"
"""In the reason of a JSON text that has no end: Spark has other words for that than for a character in the wrong place."""


def json_value(text: str, *, is_spark_own: bool = True) -> object:
    """The first value of a JSON text; ValueError in a few printable words for everything else, however hostile.

    What follows that value does not matter: Jackson, which reads all of it in Spark, stops behind it (4.2.0). What Spark wrote
    itself has no NaN and no key twice: 4.2.0 refuses both. A source may write what it likes, and Python data sources do write
    NaN. A number beyond Java's long becomes a float, for it is no damage and no integer either.
    """
    decoder = _SPARK_JSON if is_spark_own else _ANY_JSON
    start = len(text) - len(text.lstrip(_JSON_BLANKS))
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip(_JSON_BLANKS)) or error.msg.startswith("Unterminated string")
        raise ValueError(f"not JSON from column {error.colno} on{f': {CUT}' if is_cut else ''}") from error
    except RecursionError as error:
        raise ValueError("not JSON that Spark reads: nested too deep") from error
    if not isinstance(value, dict | list | str) and text[end : end + 1].strip(_JSON_BLANKS):
        # The end of a number or a word is told by what follows: `5x` is no 5.
        raise ValueError(f"not JSON from column {end + 1} on")
    return value


def json_part(text: str) -> str:
    """A JSON object without what lies around it, which `json_value` passes over; any other text as it is."""
    start = len(text) - len(text.lstrip(_JSON_BLANKS))
    try:
        value, end = _ANY_JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return text
    return text[start:end] if isinstance(value, dict) else text


def long_or_none(value: object) -> int | None:
    """A JSON value where a long belongs; None where it is missing or no long, ValueError where it is no number at all.

    Spark 4.2.0 refuses the last, and bends a number that is no long into one.
    """
    if value is None or isinstance(value, float):
        return None
    if type(value) is not int:
        raise ValueError("is no number")
    return value


def quoted(text: str) -> str:
    """A piece of hostile text for a message: short, and nothing in it can move a cursor."""
    shown = repr(text[: _QUOTE_LENGTH + 1])
    return shown if len(shown) <= _QUOTE_LENGTH else shown[:_QUOTE_LENGTH] + "…"


def _number(digits: str) -> int | float:
    number = int(digits) if len(digits) <= len(str(_MIN_LONG)) else None
    return number if number is not None and is_long(number) else float(digits)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"not JSON: {name}")


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise RepeatedKeyError("a key comes twice")
    return fields


_JSON_BLANKS = " \t\r\n"
_ANY_JSON = json.JSONDecoder(parse_int=_number)
_SPARK_JSON = json.JSONDecoder(parse_int=_number, parse_constant=_refuse_constant, object_pairs_hook=_unique)


SHOWN_NAMES = 20
"""Enough to recognise what lies there; a folder may hold any number of strangers."""

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEMPORARY = re.compile(rf"\.([^.]+)\.{_UUID}(?:\.TID\d+)?\.tmp", re.ASCII)
_CHECKSUM_END = ".crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of one kind, as they are on disk: escape them before you show them."""

    count: int = 0
    first: tuple[str, ...] = ()
    """At most SHOWN_NAMES, in the order of the listing."""

    @classmethod
    def of(cls, names: list[str]) -> "Names":
        """Counts all, keeps the first."""
        return cls(count=len(names), first=tuple(names[:SHOWN_NAMES]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogListing:
    """One log's folder at one moment."""

    ids: tuple[int, ...] = ()
    """Every batch that Spark counts, in order and once."""
    odd: tuple[str, ...] = ()
    """Names that count as a batch and that Spark never writes: `00004`, `-1`, `+3`."""
    temporaries: Names = Names()
    """`.7.<uuid>.tmp` and `.7.<uuid>.TID3.tmp`: left by a crash, never read, never deleted by Spark."""
    checksums: Names = Names()
    """`.7.crc`: Hadoop's side files on local file systems, of batches and of temporaries; that one is missing proves nothing."""
    foreign: Names = Names()
    """Everything else. Spark passes over it."""
    orphan_checksums: tuple[int, ...] = ()
    """Batches above the newest whose side file is there without them: whoever writes that batch finds it in the way."""

    @classmethod
    def of(cls, names: Iterable[str]) -> "LogListing":
        """Sorts the names of a folder."""
        names = tuple(names)
        # In one go: a log that nobody cleans up has a hundred thousand of them, and next to nothing else.
        ordinary = list(filter(ORDINARY_ID.fullmatch, names))
        ids = list(map(int, ordinary))
        others = () if len(ordinary) == len(names) else filterfalse(frozenset(ordinary).__contains__, names)
        odd: list[str] = []
        temporaries: list[str] = []
        checksums: list[str] = []
        foreign: list[str] = []
        for name in others:
            if name.startswith("."):
                _hidden_kind(name, temporaries, checksums, foreign).append(name)
            elif (batch := batch_id(name)) is None:
                foreign.append(name)
            else:
                ids.append(batch)
                if batch < 0 or name != str(batch):
                    odd.append(name)
        return cls(
            ids=tuple(sorted(set(ids) if odd else ids)),
            odd=tuple(odd),
            temporaries=Names.of(temporaries),
            checksums=Names.of(checksums),
            foreign=Names.of(foreign),
            orphan_checksums=_orphans(checksums, newest=max(ids, default=-1)),
        )

    @property
    def highest(self) -> int:
        """The newest batch; -1 for a log without entries."""
        return self.ids[-1] if self.ids else -1

    def holes(self) -> tuple[range, ...]:
        """The batches that are missing between the lowest and the highest, as ranges: one may span the whole of a long.

        Normal with async progress tracking when both logs have the same; below the newest two entries Spark never looks.
        """
        if not self.has_holes:
            return ()
        return tuple(range(low + 1, high) for low, high in pairwise(self.ids) if high - low > 1)

    @property
    def has_holes(self) -> bool:
        """Whether a batch is missing between the lowest and the highest; told without a walk over them."""
        return bool(self.ids) and self.ids[-1] - self.ids[0] + 1 > len(self.ids)


def read_listing(storage: ReadableStorage, folder: str) -> LogListing:
    """The listing of a folder; empty when there is no such folder. Raises StorageError when it can't be asked."""
    return LogListing.of(storage.list(folder))


def _orphans(checksums: list[str], *, newest: int) -> tuple[int, ...]:
    batches = (batch_id(name[1:].removesuffix(".crc")) for name in checksums)
    return tuple(sorted({batch for batch in batches if batch is not None and batch > newest}))


def _hidden_kind(name: str, temporaries: list[str], checksums: list[str], foreign: list[str]) -> list[str]:
    if name.endswith(_CHECKSUM_END):
        main = name[1:].removesuffix(_CHECKSUM_END)
        return checksums if batch_id(main) is not None or _is_temporary(main) else foreign
    return temporaries if _is_temporary(name) else foreign


def _is_temporary(name: str) -> bool:
    temporary = _TEMPORARY.fullmatch(name)
    return temporary is not None and batch_id(temporary[1]) is not None


class Damage(StrEnum):
    """What is wrong with a file that Spark would read."""

    EMPTY = "empty"
    VERSION = "version"
    """Written by a Spark that is newer than any we know."""
    MALFORMED_VERSION = "malformed-version"
    """The first line is no version at all."""
    NO_HEADER = "no-header"
    NO_SOURCE = "no-source"
    HEADER = "header"
    BLANK_HEADER = "blank-header"
    """As continuous mode writes it, or an edited entry."""
    SOURCE = "source"
    """A source's offset is cut or no JSON."""
    SOURCE_ID = "source-id"
    """A line of v2 does not begin with the id of a source."""
    NO_COLON = "no-colon"
    """A line of v2 holds no colon, so no id can be told from its text."""
    BODY = "body"
    NO_QUERY_ID = "no-query-id"
    """There is JSON, and no text under `id`."""
    NULL_QUERY_ID = "null-query-id"
    """The file or its id is null, on which Java fails in words of its own."""
    QUERY_ID = "query-id"
    """The id is none."""
    NOT_UNDER_ITS_NAME = "not-under-its-name"
    """`00004` is listed as batch 4, and Spark then reads `4`."""
    TOO_LARGE = "too-large"
    NO_TEXT = "no-text"
    """Bytes that are no UTF-8."""
    NO_FILE = "no-file"
    """A folder, a FIFO or a loop of links lies there."""


class DamagedFileError(CheckpointError):
    """A file that Spark would read and could not; the message names file and line."""

    def __init__(self, damage: Damage, message: str) -> None:
        super().__init__(message)
        self.damage = damage


def text_lines(content: bytes, *, address: str) -> list[str]:
    """The lines of an entry of a log; DamagedFileError where it is no text."""
    try:
        return lines_of(content)
    except ValueError as error:
        raise DamagedFileError(Damage.NO_TEXT, f"{address}: {error}") from error


def version_error(version: str, message: str) -> DamagedFileError:
    """For a first line that is none of the versions we know: `v99` is too new, `vX` is damage."""
    is_version = version.startswith("v") and version[1:].isascii() and version[1:].isdigit()
    return DamagedFileError(Damage.VERSION if is_version else Damage.MALFORMED_VERSION, message)
