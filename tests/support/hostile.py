"""Hostile files and names: strategies that draw them, and a fence that nothing may be read beyond.

Drawn are arbitrary bytes, and valid files with something wrong in them, which come much further than noise does.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from hypothesis import strategies as st

from streamops.errors import ObjectNotFoundError, ObjectTooLargeError
from streamops.storage import DEFAULT_READ_LIMIT, FileDetail, is_inside, join

UUID = "0a1b2c3d-0000-4000-8000-00000000000a"

ODD_TEXTS = (
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "\x1b]0;owned\x07",
    "\x1b[2J",
    "\x7f\x85",
    "[red]x[/red]",
    "a\r\nok  fine",
    "\u2028\u2029",
    "\u202eevil\u2066",
    "\ud800",
    "\ufeff",
    "٣",
    "+7",
    "00004",
    "-1",
    "nan",
    "x" * 300,
)
"""Escapes of a terminal, marks of direction, half a character, ways out of a folder, and odd spellings of numbers."""

ODD_TOKENS = (
    *(b"9" * digits for digits in (18, 19, 400, 4300, 5000)),
    b"-9223372036854775808",
    b"9223372036854775808",
    b"1e999999",
    b"-1e-999999",
    b"-0",
    b"0.5",
    b"NaN",
    b"-Infinity",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"a":' * 10_000,
    b"[" * 900 + b"]" * 900,
    *(
        b'"' + text.encode() + b'"'
        for text in (r"\u001b[2J", r"\ud800", r"\u0000", r"..\/..\/etc", r"\u202e", "\x1b[2J")
    ),
)
"""Put in the place of a value in JSON."""

texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=12)

_TOKEN = re.compile(rb'"[^"]*"|-?[0-9]+|true|false|null|\{\}|\[\]')


def names(*usual: str) -> st.SearchStrategy[list[str]]:
    """The names in a folder: usual ones among all sorts of others."""
    spellings = texts | st.integers(-2, 12).map(str) | st.sampled_from([*(usual or ("7",)), f".7.{UUID}.tmp", ".7.crc"])
    return st.lists(spellings, max_size=8, unique=True)


def contents(*valid: bytes) -> st.SearchStrategy[bytes]:
    """A file in the place of one of these: noise, or one of them with one or two things wrong."""
    if not valid:
        return st.binary(max_size=64)
    damaged = st.sampled_from(valid).flatmap(_damaged)
    return st.one_of(st.sampled_from(valid), st.binary(max_size=64), damaged, damaged, damaged.flatmap(_damaged))


def trees(valid: Sequence[Mapping[str, bytes]]) -> st.SearchStrategy[dict[str, bytes]]:
    """The files of a checkpoint by name, begun from a valid one: some are damaged, some gone, and some added."""
    return st.sampled_from(valid).flatmap(_changed)


class Fence:
    """A storage of any names and any contents, which refuses to read beside the checkpoint.

    It may be listed elsewhere: whether the input of a batch is there, only a listing of the input's folder tells.
    """

    def __init__(self, checkpoint: str, files: Mapping[str, bytes]) -> None:
        self._checkpoint = checkpoint
        self._files = {join(checkpoint, name): content for name, content in files.items()}
        self.listed_outside: list[str] = []
        self.bytes_read = 0

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        if not is_inside(directory, self._checkpoint):
            self.listed_outside.append(directory)
            return ()
        self._refuse_escape(directory)
        below = [address.removeprefix(directory + "/") for address in self._files if is_inside(address, directory)]
        # What is behind a slash may be a name below, or part of a name that an odd store gave.
        found = {name.partition("/")[0] for name in below} | {name for name in below if ".." in name}
        return tuple(sorted(name for name in found if name > after))

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        sizes = {name: len(self._files.get(join(directory, name), b"")) for name in self.list(directory)}
        moment = datetime.fromtimestamp(0, UTC)
        return tuple(
            FileDetail(name=name, size=size, modified_at=moment)
            for name, size in sizes.items()
            if only is None or name in only
        )

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        self._refuse_escape(address)
        content = self._files.get(address)
        if content is None:
            raise ObjectNotFoundError(f"{address} does not exist")
        self.bytes_read += min(len(content), limit + 1)
        if len(content) > limit:
            raise ObjectTooLargeError(f"{address} is larger than {limit} bytes")
        return content

    def _refuse_escape(self, address: str) -> None:
        assert is_inside(address, self._checkpoint), f"{address!r} lies beside the checkpoint"
        below = address.removeprefix(self._checkpoint).split("/")[1:]
        assert not {"", ".", ".."} & set(below), repr(address)
        assert address.isprintable(), repr(address)


def _changed(files: Mapping[str, bytes]) -> st.SearchStrategy[dict[str, bytes]]:
    folders = sorted({name.rpartition("/")[0] for name in files} - {""})
    usual = [name.rpartition("/")[2] for name in files]
    places = st.tuples(st.sampled_from(folders), texts | st.sampled_from(usual)).map("/".join)
    return st.builds(
        lambda damaged, gone, added: {
            name: content for name, content in ({**files, **damaged, **added}).items() if name not in gone
        },
        st.lists(st.sampled_from(sorted(files)), max_size=3, unique=True).flatmap(
            lambda chosen: st.fixed_dictionaries({name: _damaged(files[name]) for name in chosen})
        ),
        st.sets(st.sampled_from(sorted(files)), max_size=2),
        st.dictionaries(places, contents(*files.values()), max_size=3),
    )


def _damaged(valid: bytes) -> st.SearchStrategy[bytes]:
    size = len(valid)
    tokens = [match.span() for match in _TOKEN.finditer(valid)][:200]
    lines = valid.split(b"\n")
    ways = [
        st.integers(0, size).map(lambda end: valid[:end]),
        st.tuples(st.integers(0, size), st.binary(max_size=8)).map(
            lambda hit: valid[: hit[0]] + hit[1] + valid[hit[0] + len(hit[1]) :]
        ),
        st.tuples(st.integers(0, size), texts).map(
            lambda put: valid[: put[0]] + put[1].encode(errors="surrogatepass") + valid[put[0] :]
        ),
        st.integers(0, len(lines)).map(lambda number: b"\n".join(lines[:number] + lines[number + 1 :])),
        st.tuples(st.integers(0, len(lines) - 1), st.sampled_from([2, 300])).map(
            lambda again: b"\n".join(lines[: again[0]] + lines[again[0] : again[0] + 1] * again[1] + lines[again[0] :])
        ),
        st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]).map(
            lambda code: valid.decode(errors="replace").encode(code)
        ),
        st.sampled_from([b"v9\n", b"v1\r\n", b"\0", b"\xff\xfe", b"v99999999999999999999\n"]).map(
            lambda head: head + valid
        ),
    ]
    if tokens:
        ways.append(
            st.tuples(st.sampled_from(tokens), st.sampled_from(ODD_TOKENS)).map(
                lambda put: valid[: put[0][0]] + put[1] + valid[put[0][1] :]
            )
        )
    # A value in the place of another goes deepest, so it is drawn as often as all others together.
    return st.one_of(*ways, *ways[-1:] * 6)
