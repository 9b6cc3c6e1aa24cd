"""The damage matrix, row by row, on the files of a checkpoint whose batches 0 to 4 are committed."""

import pytest

from streamops.checkpoint import read_checkpoint
from streamops.errors import SettingsError
from streamops.restart.engines import engine_of
from streamops.restart.predict import predict_start
from support.base_checkpoint import ADDRESS, entry, files, stored
from support.damage_matrix import ROWS


def predicted(found, version):
    return predict_start(read_checkpoint(stored(found), ADDRESS), engine_of(version))


@pytest.mark.parametrize(
    ("row", "version"), [pytest.param(row, v, id=f"{row.code} on {v}") for row in ROWS for v in row.engines]
)
def test_a_start_goes_as_it_went_on_real_spark(row, version):
    prediction = predicted(row.applied(files()), version)

    assert prediction.next_batch == row.runs
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
