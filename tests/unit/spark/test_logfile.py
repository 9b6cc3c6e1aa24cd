"""The bound on a driver's log."""

import os

import pytest

from streamops.spark.driver_process import CappedLog


@pytest.fixture
def path(tmp_path):
    return tmp_path / "1.log"


def test_a_small_log_is_left_alone(path):
    path.write_text("x" * 10)

    CappedLog(str(path), cap=10).cap()

    assert path.read_text() == "x" * 10
    assert os.listdir(path.parent) == ["1.log"]


def test_a_log_past_the_cap_is_moved_aside(path):
    path.write_text("x" * 11)

    CappedLog(str(path), cap=10).cap()

    assert path.read_text() == ""
    assert path.with_name("1.log.1").read_text() == "x" * 11


def test_only_one_older_piece_is_kept(path):
    log = CappedLog(str(path), cap=3)
    for text in ("first", "second", "third"):
        path.write_text(text)
        log.cap()

    assert path.with_name("1.log.1").read_text() == "third"
    assert sorted(os.listdir(path.parent)) == ["1.log", "1.log.1"]


def test_who_has_the_log_open_goes_on_at_its_beginning(path):
    """JVM and Python hold it open for months: a rename would leave them writing into a file that nobody sees."""
    with open(path, "ab", buffering=0) as jvm, open(path, "ab", buffering=0) as python:
        jvm.write(b"x" * 11)
        CappedLog(str(path), cap=10).cap()
        jvm.write(b"jvm\n")
        python.write(b"python\n")

    assert path.read_text() == "jvm\npython\n"


def test_no_path_is_no_log():
    CappedLog("").cap()


def test_a_log_that_is_not_there_troubles_nobody(path):
    CappedLog(str(path)).cap()

    assert os.listdir(path.parent) == []


def test_a_piece_that_cannot_be_written_troubles_nobody(path):
    path.write_text("x" * 11)
    path.with_name("1.log.1").mkdir()

    CappedLog(str(path), cap=10).cap()

    assert path.read_text() == "x" * 11


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_the_older_piece_has_the_mode_of_the_log(path, mode):
    path.write_text("x" * 11)
    path.chmod(mode)

    CappedLog(str(path), cap=10).cap()

    assert path.with_name("1.log.1").stat().st_mode & 0o777 == mode
