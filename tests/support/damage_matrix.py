"""The damage matrix: what is broken in a checkpoint of five committed batches, and what each Spark then does.

A damage is a list of edits of files by name, so that it can be done to a checkpoint in memory and to one that a real Spark
has just written. Codes (P0 …) name the rows; expectations are what real runs of that version showed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from streamops.engines import ENGINES

Files = dict[str, bytes]
Edit = Callable[[Files], None]

CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"
ALL = tuple(ENGINES)
OLD, NEW = ("3.5", "4.0", "4.1"), ("4.2", "4.3")
UUID = "01234567-89ab-cdef-0123-456789abcdef"


def gone(*names: str) -> Edit:
    """Files that are deleted."""

    def edit(files: Files) -> None:
        for name in names:
            del files[name]

    return edit


def emptied(*logs: str) -> Edit:
    """All entries of logs that are deleted."""

    def edit(files: Files) -> None:
        for name in [name for name in files if name.split("/")[0] in logs]:
            del files[name]

    return edit


def put(name: str, content: bytes) -> Edit:
    """A file that is replaced or added."""

    def edit(files: Files) -> None:
        files[name] = content

    return edit


def line(name: str, number: int, change: Callable[[str], str]) -> Edit:
    """One line of a file, counted from 1, that is rewritten."""

    def edit(files: Files) -> None:
        lines = files[name].decode().split("\n")
        lines[number - 1] = change(lines[number - 1])
        files[name] = "\n".join(lines).encode()

    return edit


def only_lines(name: str, count: int) -> Edit:
    """A file that ends after some lines."""

    def edit(files: Files) -> None:
        files[name] = b"\n".join(files[name].split(b"\n")[:count])

    return edit


def half(text: str) -> str:
    """As a write that was cut off leaves it."""
    return text[: len(text) // 2]


def instead(text: str) -> Callable[[str], str]:
    """Whatever was there."""
    return lambda _: text


@dataclass(frozen=True, kw_only=True)
class Row:
    """One damage and what it leads to."""

    code: str
    damage: tuple[Edit, ...] = ()
    runs: int | None
    """The first batch that runs; None where none does."""
    reruns: tuple[int, ...] = ()
    error: str = ""
    repeats: bool = False
    new_id: bool = False
    engines: tuple[str, ...] = ALL

    @property
    def runs_and_fails(self) -> bool:
        """Whether a batch is written before the start fails."""
        return self.runs is not None and bool(self.error)

    def applied(self, files: Files) -> Files:
        """A copy of the files, damaged."""
        damaged = dict(files)
        for edit in self.damage:
            edit(damaged)
        return damaged


ROWS = (
    Row(code="P0", runs=5),
    Row(code="P1", damage=(gone("commits/4"),), runs=4, reruns=(4,)),
    Row(code="P2", damage=(gone("offsets/4"),), runs=3, reruns=(3,), error=CONCURRENT),
    Row(code="P3", damage=(gone("offsets/4", "commits/4"),), runs=4),
    Row(code="P4", damage=(gone("offsets/3"),), runs=None, error="batch 3 doesn't exist"),
    Row(code="P4b", damage=(gone("offsets/3", "commits/4"),), runs=None, error="batch 3 doesn't exist", engines=OLD),
    Row(
        code="P4b",
        damage=(gone("offsets/3", "commits/4"),),
        runs=None,
        error="Previous batch 3 not found in offset log",
        engines=NEW,
    ),
    Row(code="P5", damage=(gone("offsets/1"),), runs=5),
    Row(code="P6", damage=(gone("commits/1", "commits/3"),), runs=5),
    Row(code="P6c", damage=(gone("commits/3", "commits/4"),), runs=4, reruns=(4,)),
    Row(code="P7a", damage=(put("offsets/4", b""),), runs=None, error="Incomplete log file"),
    Row(code="P7b", damage=(put("offsets/4", b""), gone("commits/4")), runs=None, error="Incomplete log file"),
    Row(code="P7c", damage=(put("commits/4", b""),), runs=None, error="Incomplete log file in the offset commit log"),
    Row(code="P7d", damage=(put("offsets/3", b""),), runs=None, error="Incomplete log file"),
    Row(code="P7e", damage=(put("offsets/1", b""), put("commits/1", b"")), runs=5),
    Row(code="P8a", damage=(line("offsets/4", 2, half),), runs=None, error="end-of-input"),
    Row(code="P8b", damage=(only_lines("offsets/4", 1),), runs=None, error="next on empty iterator"),
    Row(
        code="P8c",
        damage=(only_lines("offsets/4", 2),),
        runs=None,
        error="There are [0] sources in the checkpoint offsets",
    ),
    Row(code="P8d", damage=(line("offsets/4", 3, half),), runs=None, error="end-of-input"),
    Row(
        code="P8f",
        damage=(line("offsets/4", 2, instead("")),),
        runs=None,
        error="WatermarkTracker.currentWatermark()",
    ),
    Row(code="P8g", damage=(line("offsets/4", 3, lambda text: f"{text}\n"),), runs=5),
    Row(code="P8i", damage=(line("offsets/4", 3, instead("-")),), runs=5, repeats=True),
    Row(code="P8j", damage=(line("commits/4", 2, half),), runs=None, error="end-of-input"),
    Row(code="P8k", damage=(only_lines("commits/4", 1),), runs=5),
    Row(code="P8l", damage=(line("commits/4", 2, instead("{}")),), runs=5),
    Row(
        code="P9",
        damage=tuple(
            put(f"offsets/{name}", b"x") for name in (f".5.{UUID}.tmp", "5.tmp", "4.bak", "foo", "_x", "00003")
        ),
        runs=5,
    ),
    Row(code="P10", damage=(put("commits/40", b"v1\n{}"),), runs=4, reruns=(4,), error=CONCURRENT),
    Row(code="P11a", damage=(gone("metadata"),), runs=5, new_id=True, engines=OLD),
    Row(
        code="P11a",
        damage=(gone("metadata"),),
        runs=None,
        error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        engines=NEW,
    ),
    Row(code="P11b", damage=(put("metadata", b""),), runs=None, error="end-of-input"),
    Row(code="P11c", damage=(line("metadata", 1, half),), runs=None, error="end-of-input"),
    Row(code="P11d", damage=(put("metadata", b'{"id":"hello"}'),), runs=None, error="Invalid UUID string"),
    Row(
        code="P11e",
        damage=(gone("metadata"), emptied("offsets")),
        runs=0,
        reruns=(0,),
        error=CONCURRENT,
        repeats=True,
        engines=("3.5", "4.0"),
    ),
    Row(
        code="P11e",
        damage=(gone("metadata"), emptied("offsets")),
        runs=None,
        error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        engines=("4.1",),
    ),
    Row(
        code="P11e",
        damage=(gone("metadata"), emptied("offsets")),
        runs=None,
        error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        engines=NEW,
    ),
    Row(code="P15a", damage=(line("offsets/4", 1, instead("v99")),), runs=None, error="supported log version"),
    Row(code="P15b", damage=(line("offsets/4", 1, instead("vX")),), runs=None, error="malformed"),
    Row(
        code="P15c",
        damage=(line("offsets/4", 1, instead("v2")),),
        runs=None,
        error="supported log version",
        engines=OLD,
    ),
    Row(code="P15c", damage=(line("offsets/4", 1, instead("v2")),), runs=5, repeats=True, engines=NEW),
    Row(code="P15d", damage=(put("commits/4", b"v2\n{}"),), runs=None, error="supported log version", engines=("3.5",)),
    Row(code="P15d", damage=(put("commits/4", b"v2\n{}"),), runs=5, engines=NEW),
    Row(code="P16a", damage=(emptied("commits"),), runs=4, reruns=(4,)),
    Row(
        code="P16b",
        damage=(emptied("offsets"),),
        runs=0,
        reruns=(0,),
        error=CONCURRENT,
        repeats=True,
        engines=("3.5", "4.0"),
    ),
    Row(
        code="P16b",
        damage=(emptied("offsets"),),
        runs=None,
        error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        engines=("4.1",),
    ),
    Row(code="P16b", damage=(emptied("offsets"),), runs=None, error="assertion failed", engines=NEW),
    Row(code="P16c", damage=(emptied("offsets", "commits"),), runs=0),
)

DEPTH_ROWS = (
    Row(code="P12a", damage=(gone("sources/0/4"),), runs=None, error="batch 4 doesn't exist"),
    Row(code="P12b", damage=(emptied("sources"),), runs=None, error="exist"),
    Row(code="P12c", damage=(put("sources/0/4", b""),), runs=None, error="Incomplete log file"),
    Row(code="P12d", damage=(gone("sources/0/4", "commits/4"),), runs=None, error="batch 4 doesn't exist"),
    Row(code="P12e", damage=(gone("sources/0/2"),), runs=None, error="doesn't exist (latestId", engines=NEW),
    Row(code="P3b", damage=(gone("offsets/4", "commits/4", "sources/0/4"),), runs=4),
    Row(code="P16c", damage=(emptied("offsets", "commits"),), runs=0, repeats=True),
    Row(code="P18", damage=(line("offsets/4", 3, instead('{"logOffset":40}')),), runs=None, error="exist"),
)
"""Rows that are told by what lies beyond the two logs."""


def follows(name: str, content: bytes) -> Edit:
    """A file with something behind its end, as a bad disk or an editor leaves it."""

    def edit(files: Files) -> None:
        files[name] += content

    return edit


def like(name: str, other: str) -> Edit:
    """A file that is a copy of another one."""

    def edit(files: Files) -> None:
        files[name] = files[other]

    return edit


def swapped(name: str, other: str) -> Edit:
    """Two files, each under the name of the other."""

    def edit(files: Files) -> None:
        files[name], files[other] = files[other], files[name]

    return edit


def ends_of_lines(name: str) -> Edit:
    """As an editor on Windows saves a file."""

    def edit(files: Files) -> None:
        files[name] = files[name].replace(b"\n", b"\r\n") + b"\r\n"

    return edit


def before(name: str, content: bytes) -> Edit:
    """A file with something before its begin."""

    def edit(files: Files) -> None:
        files[name] = content + files[name]

    return edit


_SOURCES = "sources in the checkpoint offsets and now"
_NO_OFFSET = "No usable value for logOffset"
_NULS = b"\0" * 64


def _without_confs(text: str) -> str:
    """A header whose settings are null, and not merely absent."""
    return json.dumps(json.loads(text) | {"conf": None})


def _renumbered(text: str) -> str:
    """An entry of a source's log that names another batch; the file that it names stays known."""
    return text.replace('"batchId":3', '"batchId":40')


def _path_of_the_one_before(text: str) -> str:
    """An entry of a source's log that names the input file of the batch before."""
    return text.replace("/4.json", "/3.json")


def _doubled(text: str) -> str:
    return f"{text}\n{text}"


def _without_path(text: str) -> str:
    """An entry of a source's log that names no file."""
    return json.dumps(json.loads(text) | {"path": None}, separators=(",", ":"))


def _source(
    text: str, *, code: str, runs: int | None = None, error: str = "", batch: int = 4, pending: bool = False
) -> Row:
    """An entry whose source's text is another one."""
    damage = line(f"offsets/{batch}", 3, instead(text))
    return Row(code=code, damage=(damage, *((gone("commits/4"),) if pending else ())), runs=runs, error=error)


OFFSET_ROWS = (
    Row(code="Q1a", damage=(follows("offsets/4", b"\n-"),), runs=None, error=_SOURCES),
    Row(code="Q1b", damage=(follows("offsets/4", b"\n-"), gone("commits/4")), runs=None, error=_SOURCES),
    Row(code="Q1c", damage=(follows("offsets/3", b"\n-"),), runs=None, error=_SOURCES),
    _source('{"t":{"0":5}}', code="Q2a", error=_NO_OFFSET),
    _source('{"t":{"0":5}}', code="Q2b", batch=3, error=_NO_OFFSET),
    _source('{"t":{"0":5}}', code="Q2c", batch=3, pending=True, error=_NO_OFFSET),
    _source('{"x":5}', code="Q2d", error=_NO_OFFSET),
    _source('{"logOffset":"4"}', code="Q3a", error=_NO_OFFSET),
    _source('{"logOffset":null}', code="Q3b", error=_NO_OFFSET),
    _source('{"logOffset":4.0}', code="Q3c", runs=5),
    _source('{"logOffset":4,"x":1}', code="Q3d", runs=5),
    _source("4", code="Q3e", runs=5),
    _source('{"logOffset":-1}', code="Q4a", error="assertion failed"),
    _source('{"logOffset":2}', code="Q4b", error="assertion failed"),
    _source('{"logOffset":2}', code="Q4c", pending=True, error="assertion failed"),
    _source('{"logOffset":3}', code="Q4d", runs=5),
    _source('{"logOffset":1}', code="Q4e", batch=3, runs=5),
    Row(code="Q4h", damage=(line("offsets/3", 3, instead('{"logOffset":1}')), gone("commits/4")), runs=4, repeats=True),
    Row(code="Q4i", damage=(like("offsets/3", "offsets/2"), gone("commits/4")), runs=4, repeats=True),
    Row(code="Q4f", damage=(swapped("offsets/3", "offsets/4"),), runs=None, error="assertion failed"),
    Row(code="Q4g", damage=(like("offsets/4", "offsets/0"),), runs=None, error="assertion failed"),
    Row(code="Q5a", damage=(follows("offsets/4", _NULS),), runs=5),
    Row(code="Q5b", damage=(line("offsets/4", 2, lambda text: f"{text} tail"),), runs=5),
    Row(code="Q5c", damage=(line("offsets/4", 3, lambda text: f"{text} tail"),), runs=5),
    Row(code="Q5d", damage=(follows("commits/4", _NULS),), runs=5),
    Row(code="Q5e", damage=(follows("commits/4", b' {"x":1} tail'),), runs=5),
    Row(code="Q5f", damage=(follows("metadata", _NULS),), runs=5),
    Row(code="Q5g", damage=(follows("metadata", b' {"x":1}'),), runs=5),
    Row(code="Q5h", damage=(before("commits/4", b" "),), runs=5),
    Row(code="Q5i", damage=(before("commits/4", b"\n"),), runs=None, error="MALFORMED_LOG_FILE"),
    Row(code="Q5j", damage=(before("offsets/4", b" "),), runs=None, error="MALFORMED_LOG_FILE"),
    Row(code="Q6a", damage=(ends_of_lines("sources/0/4"),), runs=5),
    Row(code="Q6b", damage=(ends_of_lines("offsets/4"),), runs=5),
    Row(code="Q6c", damage=(follows("sources/0/4", b" tail"),), runs=5),
    Row(code="Q6d", damage=(follows("sources/0/4", b"\n\n"),), runs=None, error="end-of-input"),
    Row(code="Q6e", damage=(before("sources/0/4", b" "),), runs=None, error="MALFORMED_LOG_FILE"),
    Row(code="Q7a", damage=(like("sources/0/4", "sources/0/3"),), runs=5, repeats=True),
    Row(code="Q7b", damage=(put("sources/0/4", b"v1"),), runs=5, repeats=True),
    Row(code="Q7c", damage=(put("sources/0/3", b"v1"),), runs=5, repeats=True),
    Row(code="Q7d", damage=(swapped("sources/0/3", "sources/0/4"),), runs=5),
    Row(code="Q7e", damage=(put("sources/0/0", b""),), runs=None, error="Incomplete log file"),
    Row(code="Q7f", damage=(line("sources/0/0", 1, instead("v")),), runs=None, error="MALFORMED_LOG_FILE"),
    Row(code="Q7g", damage=(line("sources/0/3", 2, _renumbered),), runs=5),
    Row(code="Q7h", damage=(line("sources/0/3", 2, _without_path),), runs=5, repeats=True),
    Row(
        code="Q7i", damage=(line("sources/0/4", 2, _without_path),), runs=None, error='Cannot invoke "String.length()"'
    ),
    Row(
        code="Q7j",
        damage=(line("sources/0/4", 2, _without_path), gone("commits/4")),
        runs=None,
        error='Cannot invoke "String.length()"',
    ),
    Row(code="Q7k", damage=(line("sources/0/4", 2, _doubled),), runs=5),
    Row(code="Q7l", damage=(line("sources/0/4", 2, _doubled), gone("commits/4")), runs=4, repeats=True),
    Row(code="Q7m", damage=(line("sources/0/4", 2, _path_of_the_one_before),), runs=5, repeats=True),
    Row(
        code="Q7n",
        damage=(line("sources/0/4", 2, _path_of_the_one_before), gone("commits/4")),
        runs=4,
        repeats=True,
    ),
    Row(code="Q8a", damage=(follows("offsets/4", b"\xff"),), runs=None, error="Input length = 1"),
    Row(code="Q8b", damage=(follows("offsets/3", b"\xff"),), runs=None, error="Input length = 1"),
    Row(code="Q8c", damage=(follows("commits/4", b"\xff"),), runs=None, error="Input length = 1"),
    Row(code="Q8d", damage=(follows("sources/0/1", b"\xff"),), runs=None, error="Input length = 1"),
    _source("{}", code="Q8e", error=_NO_OFFSET),
    _source("{}", code="Q8f", batch=3, error=_NO_OFFSET),
    Row(code="Q8g", damage=(line("offsets/4", 2, half), only_lines("offsets/4", 2)), runs=None, error="end-of-input"),
    Row(code="Q8i", damage=(line("offsets/4", 2, _without_confs),), runs=5),
    Row(code="Q8j", damage=(line("offsets/4", 2, _without_confs), gone("commits/4")), runs=None, error="None.get"),
    Row(code="Q8k", damage=(line("offsets/3", 2, _without_confs), gone("commits/4")), runs=None, error="None.get"),
    Row(
        code="Q8l",
        damage=(
            gone(*(f"offsets/{batch}" for batch in range(1, 5)), *(f"commits/{batch}" for batch in range(5))),
            line("offsets/0", 2, _without_confs),
        ),
        runs=0,
        reruns=(0,),
    ),
    Row(code="Q8h", damage=(put("metadata", b"\0" * 45),), runs=None, error="Illegal character"),
)
"""What the texts of sources and the lines of their logs say, and what follows them. Tried on 4.2.0."""
