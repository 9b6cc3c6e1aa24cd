"""Judging a declared stream: its declaration and its control log tell what the checkpoint alone does not."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.control.layout import control_folder, log_folder
from streamops.control.records import Position
from streamops.diagnosis.checkup import check_stream
from streamops.diagnosis.restart_plan import Safety
from streamops.errors import CorruptRecordError, StorageError
from streamops.liveness import StallPolicy
from streamops.spec import LaunchSpec, StateSpec
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import join
from streamops.verdict import Verdict
from support.base_checkpoint import ADDRESS, BASE_ID, SOURCE, entry, files, stored
from support.records import a_claim, a_log, a_submit, write_log
from support.specs import a_stream
from support.state_files import CHANGES
from support.storage import SwitchableStorage

NOW = datetime(2026, 3, 1, 12, 2, tzinfo=UTC)


def checked(storage, *, guarantee=SinkGuarantee.IDEMPOTENT, now=NOW, before=(), **changes):
    spec = a_stream(checkpoint=ADDRESS, guarantee=guarantee, **{"source": SOURCE} | changes)
    return check_stream(spec, storage_for=lambda _: storage, now=now, before=before)


def rules(checkup):
    return [finding.rule for finding in checkup.findings]


def test_the_declared_sink_decides_what_a_batch_in_flight_means():
    in_flight = stored(files(commits_4=None))

    recognised = checked(in_flight)
    not_recognised = checked(in_flight, guarantee=SinkGuarantee.EXACTLY_ONCE_OR_NOTHING)

    assert (recognised.verdict, rules(recognised)) == (Verdict.OK, ["pending-batch"])
    assert (not_recognised.verdict, rules(not_recognised)) == (Verdict.WARNING, ["pending-batch"])


def test_a_batch_in_flight_under_a_living_driver_is_no_warning_whatever_the_sink_is():
    """Each batch of a healthy query is in flight for a while."""
    storage = stored(files(commits_4=None))
    write_log(storage, control_folder(ADDRESS), a_log(a_claim(1), a_submit(1)))

    running = checked(storage, guarantee=SinkGuarantee.EXACTLY_ONCE_OR_NOTHING, now=NOW + timedelta(seconds=5))

    assert (running.verdict, rules(running)) == (Verdict.OK, ["pending-batch"])


def test_a_checkpoint_behind_what_the_log_has_seen_is_critical_although_it_looks_whole():
    storage = stored(files())
    seen = Position(query_id=BASE_ID, offset=9, commit=9)
    write_log(storage, control_folder(ADDRESS), a_log(a_claim(1, position=seen), a_submit(1)))

    checkup = checked(storage)

    assert (checkup.verdict, checkup.restart.safety) == (Verdict.CRITICAL, Safety.UNSAFE)
    assert "has seen batch 9, the checkpoint ends at 4" in checkup.restart.summary


def test_the_same_checkpoint_is_well_where_the_log_has_seen_no_more():
    storage = stored(files())
    seen = Position(query_id=BASE_ID, offset=4, commit=4)
    write_log(storage, control_folder(ADDRESS), a_log(a_claim(1, position=seen), a_submit(1)))

    assert checked(storage).verdict is Verdict.OK


def test_a_source_that_does_not_answer_makes_the_verdict_unknown_and_the_start_too():
    storage = SwitchableStorage(stored(files()))
    storage.unreachable = "sources/0"

    checkup = checked(storage)

    assert (checkup.verdict, checkup.restart.safety) == (Verdict.UNKNOWN, Safety.UNKNOWN)
    assert checkup.restart.summary == f"sources/0 can't be asked: {ADDRESS}/sources/0 can't be reached"


def test_damage_elsewhere_outweighs_a_source_that_does_not_answer():
    storage = SwitchableStorage(stored(files(commits_4=b"")))
    storage.unreachable = "sources/0"

    assert (checked(storage).verdict, checked(storage).restart.safety) == (Verdict.CRITICAL, Safety.FUTILE)


def test_a_checkpoint_that_cannot_be_asked_is_an_error_and_no_verdict():
    storage = SwitchableStorage(stored(files()))
    storage.unreachable = f"{ADDRESS}/offsets"

    with pytest.raises(StorageError, match="can't be reached"):
        checked(storage)


def test_a_control_log_that_cannot_be_read_is_an_error_and_no_verdict():
    storage = stored(files())
    storage.write(join(log_folder(control_folder(ADDRESS)), f"{0:020d}.json"), b"{")

    with pytest.raises(CorruptRecordError):
        checked(storage)


def test_a_batch_that_hangs_under_a_living_driver_is_a_warning():
    storage = stored(files(commits_4=None))
    write_log(storage, control_folder(ADDRESS), a_log(a_claim(1), a_submit(1)))

    assert checked(storage).verdict is Verdict.OK
    assert rules(checked(storage, now=NOW + timedelta(hours=2))) == ["stuck-batch", "pending-batch"]


def test_the_declared_windows_say_what_hangs():
    storage = stored(files(commits_4=None))
    write_log(storage, control_folder(ADDRESS), a_log(a_claim(1), a_submit(1)))
    patient = StallPolicy(
        first_batch=timedelta(hours=3), window_floor=timedelta(hours=3), restart_floor=timedelta(hours=9)
    )

    assert rules(checked(storage, now=NOW + timedelta(hours=2), stall=patient)) == ["pending-batch"]


def test_checks_that_saw_the_same_batch_tell_where_no_log_does():
    storage = stored(files(commits_4=None))
    before = [checked(storage, now=NOW + timedelta(hours=n)).sample(NOW + timedelta(hours=n)) for n in range(3)]

    assert rules(checked(storage, now=NOW + timedelta(hours=3), before=before)) == ["stuck-batch", "pending-batch"]


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        pytest.param("1000", [], id="more are meant to be kept"),
        pytest.param("10", ["unpurged-logs", "unpurged-logs"], id="fewer are"),
        pytest.param("ten", [], id="no number: Spark would refuse it, and its own default counts"),
    ],
)
def test_the_declared_number_of_batches_to_keep_counts(conf, told):
    found = files()
    for batch in range(5, 200):
        found |= {
            f"offsets/{batch}": entry(batch, source='{"logOffset":4}'),
            f"commits/{batch}": b'v1\n{"nextBatchWatermarkMs":0}',
        }
    launch = LaunchSpec(conf=(("spark.sql.streaming.minBatchesToRetain", conf),))

    assert rules(checked(stored(found), launch=launch)) == told


def test_a_sample_keeps_the_figures_and_the_rules_that_count():
    found = files(commits_4=b"") | {f"sources/0/{n}": b"v1" for n in range(5, 9)}
    found |= {"sources/0/9.compact": b"v1" + b" " * 98, "state/0/0/1.delta": CHANGES, "state/0/0/2.delta": CHANGES}

    sample = checked(stored(found)).sample(NOW)

    assert (sample.at, sample.verdict, sample.safety) == (NOW, Verdict.CRITICAL, "futile")
    assert (sample.last_offset, sample.last_commit, sample.offset_entries, sample.commit_entries) == (4, 4, 5, 5)
    assert (sample.compact_bytes, sample.state_files) == (100, 2)
    assert "unreadable-last-commit" in sample.rules
    assert "pending-batch" not in checked(stored(files(commits_4=None))).sample(NOW).rules


def test_a_query_without_state_and_without_compact_files_has_no_figures_for_them():
    sample = checked(stored(files())).sample(NOW)

    assert (sample.verdict, sample.rules, sample.compact_bytes, sample.state_files) == (Verdict.OK, (), None, None)


def test_a_declared_setting_that_the_checkpoint_pins_otherwise_is_a_note():
    header = '{"batchWatermarkMs":0,"batchTimestampMs":1772366400000,"conf":{"spark.sql.shuffle.partitions":"200"}}'
    storage = stored(files(offsets_4=entry(4, header=header)))

    checkup = checked(storage, launch=LaunchSpec(conf=(("spark.sql.shuffle.partitions", "400"),)))

    assert (checkup.verdict, rules(checkup)) == (Verdict.OK, ["ignored-confs"])
    assert checkup.findings[0].evidence == "spark.sql.shuffle.partitions is '200' here, '400' is asked for"


def test_state_that_is_declared_otherwise_than_the_checkpoint_pins_it_is_a_warning():
    header = '{"batchWatermarkMs":0,"batchTimestampMs":1772366400000,"conf":{"spark.sql.shuffle.partitions":"200"}}'
    storage = stored(files(offsets_4=entry(4, header=header)))

    checkup = checked(storage, state=StateSpec(shuffle_partitions=4))

    assert (checkup.verdict, rules(checkup)) == (Verdict.WARNING, ["ignored-confs"])
    assert checkup.findings[0].evidence == "spark.sql.shuffle.partitions is '200' here, '4' is asked for"
