"""Judging a declared stream: its declaration and its control log tell what the checkpoint alone does not."""

from datetime import UTC, datetime

import pytest

from streamops.control.layout import control_folder, log_folder
from streamops.control.records import Position
from streamops.errors import CorruptRecordError, StorageError
from streamops.health.verdict import Verdict
from streamops.restart import Safety, SinkGuarantee
from streamops.storage import join
from streamops.supervisor.checkup import check_stream
from support.base_checkpoint import ADDRESS, BASE_ID, files, stored
from support.records import a_claim, a_log, a_submit, write_log
from support.specs import a_stream
from support.storage import SwitchableStorage

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def checked(storage, *, guarantee=SinkGuarantee.IDEMPOTENT):
    spec = a_stream(checkpoint=ADDRESS, guarantee=guarantee)
    return check_stream(spec, storage_for=lambda _: storage, now=NOW)


def rules(checkup):
    return [finding.rule for finding in checkup.findings]


def test_the_declared_sink_decides_what_a_batch_in_flight_means():
    in_flight = stored(files(commits_4=None))

    recognised = checked(in_flight)
    not_recognised = checked(in_flight, guarantee=SinkGuarantee.EXACTLY_ONCE_OR_NOTHING)

    assert (recognised.verdict, rules(recognised)) == (Verdict.OK, ["pending-batch"])
    assert (not_recognised.verdict, rules(not_recognised)) == (Verdict.WARNING, ["pending-batch"])


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


def test_a_sample_keeps_the_figures_and_the_rules_that_count():
    found = files(commits_4=b"") | {f"sources/0/{n}": b"v1" for n in range(5, 9)}
    found |= {"sources/0/9.compact": b"v1" + b" " * 98, "state/0/0/1.delta": b"x", "state/0/0/2.delta": b"x"}

    sample = checked(stored(found)).sample(NOW)

    assert (sample.at, sample.verdict, sample.safety) == (NOW, Verdict.CRITICAL, "futile")
    assert (sample.last_offset, sample.last_commit, sample.offset_entries, sample.commit_entries) == (4, 4, 5, 5)
    assert (sample.compact_bytes, sample.state_files) == (100, 2)
    assert "unreadable-last-commit" in sample.rules
    assert "pending-batch" not in checked(stored(files(commits_4=None))).sample(NOW).rules


def test_a_query_without_state_and_without_compact_files_has_no_figures_for_them():
    sample = checked(stored(files())).sample(NOW)

    assert (sample.verdict, sample.rules, sample.compact_bytes, sample.state_files) == (Verdict.OK, (), None, None)
