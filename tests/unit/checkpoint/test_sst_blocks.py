"""Blocks of SST files that real Spark wrote: whole, and with one bit turned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.sst_blocks import sst_number, sst_trouble
from support.recordings import RECORDINGS
from support.rocksdb import EMPTY_SST

RECORDED = {file.name: file for file in sorted(RECORDINGS.rglob("*.sst"))}
"""SST files that real Spark wrote, in the recorded checkpoints."""
FOOTER = 53
UNPACKED = sorted(name for name, file in RECORDED.items() if "3.5.9" not in file.parts)
"""Those whose index is not packed with Snappy."""


@pytest.mark.parametrize("name", RECORDED)
def test_what_spark_wrote_is_whole(name: str) -> None:
    assert sst_trouble(RECORDED[name].read_bytes()) is None


@pytest.mark.parametrize("name", RECORDED)
def test_a_file_tells_under_which_number_it_was_made(name: str) -> None:
    assert sst_number(RECORDED[name].read_bytes()) == int(name.partition("-")[0])


@given(name=st.sampled_from(UNPACKED), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_was_turned_in_a_block_is_noticed(name: str, place: float, bit: int) -> None:
    content = bytearray(RECORDED[name].read_bytes())
    content[int(place * (len(content) - FOOTER))] ^= 1 << bit

    assert sst_trouble(bytes(content)) is not None


def test_rows_are_told_from_what_each_start_reads() -> None:
    content = RECORDED[UNPACKED[0]].read_bytes()
    first, last = sst_trouble(b"x" + content[1:]), sst_trouble(content[: -FOOTER - 6] + b"x" + content[-FOOTER - 5 :])

    assert first is not None
    assert first.is_data
    assert last is not None
    assert not last.is_data


@pytest.mark.parametrize("content", [b"", b"short", EMPTY_SST[:-1] + b"?"], ids=["empty", "short", "another end"])
def test_what_is_no_sst_file_is_told(content: bytes) -> None:
    assert sst_trouble(content) is not None


@given(st.binary(max_size=300))
def test_no_bytes_in_front_of_a_footer_raise(content: bytes) -> None:
    sst_trouble(content + EMPTY_SST[-FOOTER:])
    sst_number(content + EMPTY_SST[-FOOTER:])
