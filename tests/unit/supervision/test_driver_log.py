from pathlib import Path

import pytest

from streamops.errors import ObjectNotFoundError, StorageError
from streamops.supervision.endings import TAIL_LIMIT, tail


def a_log(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "000001.log"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("content", "lines", "expected"),
    [
        pytest.param(b"one\ntwo\nthree\n", 2, ["two", "three"], id="the last two"),
        pytest.param(b"one\ntwo\n", 9, ["one", "two"], id="fewer than asked for"),
        pytest.param(b"one\ntwo", 1, ["two"], id="the last line is not finished"),
        pytest.param(b"one\r\ntwo\r\n", 2, ["one", "two"], id="from Windows"),
        pytest.param(b"one\n\n", 1, [""], id="an empty line is a line"),
        pytest.param(b"gr\xc3\xbcn\n\xff\n", 2, ["grün", "�"], id="bytes that are not UTF-8"),
        pytest.param(b"a\x0bb\xe2\x80\xa8c\n", 1, ["a\x0bb\u2028c"], id="only a line feed ends a line"),
        pytest.param(b"", 5, [], id="empty"),
        pytest.param(b"one\n", 0, [], id="none asked for"),
    ],
)
def test_the_last_lines_of_a_log(tmp_path: Path, content: bytes, lines: int, expected: list[str]) -> None:
    assert tail(a_log(tmp_path, content), lines) == expected


def test_a_log_of_any_size_costs_one_mebibyte_and_shows_whole_lines(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"
    path = a_log(tmp_path, b"cut " + line * (2 * TAIL_LIMIT // len(line)))

    found = tail(path, 1_000_000)

    assert len(found) <= TAIL_LIMIT // len(line)
    assert set(found) == {"x" * 99}


def test_a_single_line_without_end_is_shown_from_its_cut(tmp_path: Path) -> None:
    path = a_log(tmp_path, b"x" * (TAIL_LIMIT + 5))

    assert tail(path, 1) == ["x" * TAIL_LIMIT]


def test_a_log_that_is_not_there_is_told_apart_from_one_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ObjectNotFoundError, match="does not exist on this host"):
        tail(str(tmp_path / "none.log"), 1)
    with pytest.raises(StorageError, match="can't be read"):
        tail(str(tmp_path), 1)
