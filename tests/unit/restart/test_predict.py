"""The damage matrix, row by row: batches 0 to 4 of a file source are committed, then something is broken.

Each expectation is what a real Spark of that version did, as the matrix's codes (P0 …) name it.
"""

from dataclasses import dataclass

import pytest

from streamops.checkpoint import read_checkpoint
from streamops.errors import SettingsError
from streamops.restart.engines import ENGINES, engine_of
from streamops.restart.predict import predict_start
from support.base_checkpoint import ADDRESS, HEADER, entry, files, stored, without

CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"
ALL = tuple(ENGINES)
OLD, NEW = ("3.5", "4.0", "4.1"), ("4.2", "4.3")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One damage and what it leads to; -1 for "no batch runs"."""

    code: str
    files: dict
    runs: int
    reruns: tuple = ()
    error: str = ""
    repeats: bool = False
    new_id: bool = False
    engines: tuple = ALL


ROWS = [
    Row(code="P0", files=files(), runs=5),
    Row(code="P1", files=files(commits_4=None), runs=4, reruns=(4,)),
    Row(code="P2", files=files(offsets_4=None), runs=3, reruns=(3,), error=CONCURRENT),
    Row(code="P3", files=files(offsets_4=None, commits_4=None), runs=4),
    Row(code="P4", files=files(offsets_3=None), runs=-1, error="batch 3 doesn't exist"),
    Row(
        code="P4b",
        files=files(offsets_3=None, commits_4=None),
        runs=-1,
        error="batch 3 doesn't exist",
        engines=OLD,
    ),
    Row(
        code="P4b",
        files=files(offsets_3=None, commits_4=None),
        runs=-1,
        error="Previous batch 3 not found in offset log",
        engines=NEW,
    ),
    Row(code="P5", files=files(offsets_1=None), runs=5),
    Row(code="P6", files=files(commits_1=None, commits_3=None), runs=5),
    Row(code="P6c", files=files(commits_3=None, commits_4=None), runs=4, reruns=(4,)),
    Row(code="P7a", files=files(offsets_4=b""), runs=-1, error="Incomplete log file"),
    Row(code="P7b", files=files(offsets_4=b"", commits_4=None), runs=-1, error="Incomplete log file"),
    Row(code="P7c", files=files(commits_4=b""), runs=-1, error="Incomplete log file in the offset commit log"),
    Row(code="P7d", files=files(offsets_3=b""), runs=-1, error="Incomplete log file"),
    Row(code="P7e", files=files(offsets_1=b"", commits_1=b""), runs=5),
    Row(code="P8a", files=files(offsets_4=entry(4, header=HEADER[:20])), runs=-1, error="end-of-input"),
    Row(code="P8b", files=files(offsets_4=b"v1"), runs=-1, error="next on empty iterator"),
    Row(
        code="P8c",
        files=files(offsets_4=f"v1\n{HEADER}".encode()),
        runs=-1,
        error="There are [0] sources in the checkpoint offsets",
    ),
    Row(code="P8d", files=files(offsets_4=entry(4, source='{"logOff')), runs=-1, error="end-of-input"),
    Row(code="P8f", files=files(offsets_4=entry(4, header="")), runs=-1, error="WatermarkTracker.currentWatermark()"),
    Row(code="P8g", files=files(offsets_4=entry(4) + b"\n"), runs=5),
    Row(code="P8i", files=files(offsets_4=entry(4, source="-")), runs=5, repeats=True),
    Row(code="P8j", files=files(commits_4=b'v1\n{"nextBatch'), runs=-1, error="end-of-input"),
    Row(code="P8k", files=files(commits_4=b"v1"), runs=5),
    Row(code="P8l", files=files(commits_4=b"v1\n{}"), runs=5),
    Row(
        code="P9",
        files=files() | {f"offsets/{name}": b"x" for name in ("5.tmp", "4.bak", "foo", "_junk", "00003", "-1")},
        runs=5,
    ),
    Row(code="P10", files=files(commits_40=b"v1\n{}"), runs=4, reruns=(4,), error=CONCURRENT),
    Row(code="P11a", files=files(metadata=None), runs=5, new_id=True, engines=OLD),
    Row(
        code="P11a",
        files=files(metadata=None),
        runs=-1,
        error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        engines=NEW,
    ),
    Row(code="P11b", files=files(metadata=b""), runs=-1, error="end-of-input"),
    Row(code="P11c", files=files(metadata=b'{"id":"1111'), runs=-1, error="end-of-input"),
    Row(code="P11d", files=files(metadata=b'{"id":"hello"}'), runs=-1, error="Invalid UUID string"),
    Row(
        code="P11e",
        files=files(metadata=None, **without("offsets")),
        runs=0,
        reruns=(0,),
        error=CONCURRENT,
        repeats=True,
        engines=("3.5", "4.0"),
    ),
    Row(
        code="P11e",
        files=files(metadata=None, **without("offsets")),
        runs=-1,
        error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        engines=("4.1",),
    ),
    Row(
        code="P11e",
        files=files(metadata=None, **without("offsets")),
        runs=-1,
        error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        engines=NEW,
    ),
    Row(code="P15a", files=files(offsets_4=entry(4, version="v99")), runs=-1, error="supported log version"),
    Row(code="P15b", files=files(offsets_4=entry(4, version="vX")), runs=-1, error="malformed"),
    Row(
        code="P15c", files=files(offsets_4=entry(4, version="v2")), runs=-1, error="supported log version", engines=OLD
    ),
    Row(code="P15c", files=files(offsets_4=entry(4, version="v2")), runs=5, repeats=True, engines=NEW),
    Row(code="P15d", files=files(commits_4=b"v2\n{}"), runs=-1, error="supported log version", engines=("3.5",)),
    Row(code="P15d", files=files(commits_4=b"v2\n{}"), runs=5, engines=NEW),
    Row(code="P16a", files=files(**without("commits")), runs=4, reruns=(4,)),
    Row(
        code="P16b",
        files=files(**without("offsets")),
        runs=0,
        reruns=(0,),
        error=CONCURRENT,
        repeats=True,
        engines=("3.5", "4.0"),
    ),
    Row(
        code="P16b",
        files=files(**without("offsets")),
        runs=-1,
        error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        engines=("4.1",),
    ),
    Row(code="P16b", files=files(**without("offsets")), runs=-1, error="assertion failed", engines=NEW),
    Row(code="P16c", files=files(**without("offsets", "commits")), runs=0),
]


def predicted(found, version):
    return predict_start(read_checkpoint(stored(found), ADDRESS), engine_of(version))


@pytest.mark.parametrize(
    ("row", "version"), [pytest.param(row, v, id=f"{row.code} on {v}") for row in ROWS for v in row.engines]
)
def test_a_start_goes_as_it_went_on_real_spark(row, version):
    prediction = predicted(row.files, version)

    assert prediction.next_batch == (None if row.runs < 0 else row.runs)
    assert prediction.reruns == row.reruns
    assert row.error in prediction.expected_error
    assert bool(prediction.expected_error) == bool(row.error)
    assert prediction.repeats is row.repeats
    assert prediction.loses_identity is row.new_id
    assert prediction.summary


def test_a_batch_that_runs_again_has_exactly_the_range_of_the_log():
    (source,) = predicted(files(commits_4=None), "4.2").ranges

    assert (source.start, source.end) == ('{"logOffset":3}', '{"logOffset":4}')


def test_sources_of_v2_pair_up_by_their_names():
    before = entry(3, version="v2", source='a:{"logOffset":3}\nb:{"logOffset":30}')
    now = entry(4, version="v2", source='b:{"logOffset":40}\na:{"logOffset":4}')

    first, second = predicted(files(offsets_3=before, offsets_4=now, commits_4=None), "4.3").ranges

    assert (first.start, first.end) == ('{"logOffset":30}', '{"logOffset":40}')
    assert (second.start, second.end) == ('{"logOffset":3}', '{"logOffset":4}')


def test_batches_that_lost_their_commits_and_will_not_run_are_named():
    assert predicted(files(commits_2=None, commits_3=None, commits_4=None), "4.2").passed_over == range(2, 4)


@pytest.mark.parametrize("version", ["4.2", "4.2.0", "4.2.1"])
def test_a_version_is_found_with_or_without_its_patch(version):
    assert engine_of(version).version == "4.2"


@pytest.mark.parametrize("version", ["2.4", "5.0", "", "four"])
def test_a_version_that_nobody_has_measured_is_refused(version):
    with pytest.raises(SettingsError, match=r"3\.5, 4\.0"):
        engine_of(version)
