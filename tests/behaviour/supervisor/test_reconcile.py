"""The reconciler over memory, beside real supervisors and drivers that keep the real lease."""

import threading
from dataclasses import replace

import pytest

from streamops.control.attendance import read_attendance
from streamops.control.layout import log_folder, record_address
from streamops.control.records import ActEnded, Outcome
from streamops.control.registry import RegistryEntry, entry_address, register
from streamops.errors import LaunchError
from streamops.launch import FoundDriver
from streamops.reconcile import FindingKind, ReconcileSeverity
from streamops.storage import join
from support.fencing import a_submit_without_a_record
from support.reconciling import AUTHOR, DAG, LONG, Place, append, lost, orphan
from support.specs import SUPERVISOR, a_stream, seconds
from support.storage import InterruptibleStorage, SwitchableStorage
from support.world import World


@pytest.fixture
def place(tmp_path):
    place = Place(World(tmp_path))
    place.world.supervisor().settle()
    place.world.run(seconds(20))
    return place


# Looking


def test_a_stream_that_is_looked_after_is_as_declared(place):
    report = place.reconcile()

    assert (report.streams, report.findings, report.severity) == (1, (), ReconcileSeverity.OK)


def test_a_driver_that_beats_where_it_would_not_be_found_is_not_taken_for_none(tmp_path):
    """Its submit is on no record, and it runs on another host: nobody can say from here that the stream stands still."""
    world = World(tmp_path)
    driver = a_submit_without_a_record(world, host="host-2")
    world.run(seconds(20))
    place = Place(world)
    place.leave_alone()

    (finding,) = place.reconcile().findings

    assert driver.is_alive
    assert finding.kind is FindingKind.UNATTENDED
    assert finding.meaning == "its driver can't be seen from here; when it ends, nobody restarts it"


def test_looking_changes_nothing(place):
    place.leave_alone()
    place.world.kill(place.world.driver)
    calls: list[str] = []
    place.storage = InterruptibleStorage(place.storage, calls.append)

    assert place.kinds() == [FindingKind.LOST_DRIVER, FindingKind.UNATTENDED]

    assert {call.split()[1] for call in calls} == {"list", "read"}


def test_airflow_is_asked_little_about_a_stream_that_is_attended(place):
    place.reconcile()
    place.leave_alone()
    place.reconcile()

    assert place.airflow.asked == [("orders", False), ("orders", True)]


def test_airflow_is_not_asked_about_a_stopped_stream(place):
    place.world.person().stop("upgrade")

    place.reconcile()

    assert place.airflow.asked == []


def test_a_slow_reading_makes_nobody_absent(place):
    """Thousands of questions take a minute; who had signed when it began is there."""
    place.specs = (place.world.spec, a_stream("clicks", checkpoint="file:///data/checkpoints/clicks"))
    place.airflow.task_of = lambda stream, *, in_detail: place.world.clock.advance(LONG)

    assert {finding.stream for finding in place.reconcile().findings} == {"clicks"}


def test_a_broken_log_hides_no_other_stream(place):
    clicks = a_stream("clicks", checkpoint="file:///data/checkpoints/clicks")
    place.specs = (place.world.spec, clicks)
    place.storage.write(record_address(place.world.control, 0), b"{half")

    found = {finding.stream: finding.kind for finding in place.reconcile().findings}

    assert found == {"orders": FindingKind.UNREADABLE, "clicks": FindingKind.UNATTENDED}


def test_a_place_that_hangs_is_unknown_and_keeps_nobody_waiting(place):
    released = threading.Event()
    poll = place.launcher.poll
    place.launcher.poll = lambda handle: released.wait(10) and poll(handle)
    place.patience = seconds(0.2)
    clicks = a_stream("clicks", checkpoint="file:///data/checkpoints/clicks")
    place.specs = (place.world.spec, clicks)

    try:
        found = {finding.stream: finding.severity for finding in place.reconcile().findings}
    finally:
        released.set()

    assert found == {"orders": ReconcileSeverity.UNKNOWN, "clicks": ReconcileSeverity.CRITICAL}


def test_a_process_table_that_can_not_be_read_is_told(place):
    def refuse():
        raise LaunchError("no /proc here")

    place.launcher.living = refuse

    found = place.the_finding()

    assert (found.kind, found.severity) == (FindingKind.UNREADABLE, ReconcileSeverity.UNKNOWN)
    assert "no /proc here" in found.evidence


def test_a_registry_entry_that_can_not_be_read_is_told_and_hides_no_other(place):
    address = entry_address(place.world.state_root, "broken")
    place.storage.write(address, b"{half")
    place.specs = ()

    found = place.reconcile().findings

    assert [(finding.kind, finding.stream) for finding in found] == [
        (FindingKind.UNREADABLE, ""),
        (FindingKind.LEFT_SETTINGS, "orders"),
    ]
    assert address in found[0].evidence


# Declarations


def test_a_stream_that_left_the_settings_is_found_through_the_registry(place):
    place.specs = ()

    found = place.the_finding()

    assert (found.kind, found.severity) == (FindingKind.LEFT_SETTINGS, ReconcileSeverity.WARNING)
    place.leave_alone()
    assert place.the_finding().severity is ReconcileSeverity.CRITICAL


def test_a_stream_that_left_the_settings_and_ended_is_nobodys_business(place):
    place.specs = ()
    place.world.kill(place.world.driver)

    assert place.kinds() == []


def test_a_checkpoint_that_its_stream_has_left_is_watched_too(place):
    """Declared with another checkpoint, while the driver on the old one runs on."""
    place.specs = (a_stream(checkpoint="file:///data/elsewhere"),)

    kinds = place.kinds()

    assert FindingKind.LEFT_SETTINGS in kinds
    assert FindingKind.BLOCKED in kinds


def test_a_wrong_declaration_is_told_with_the_driver_that_runs(place):
    place.specs, place.wrong = (), (("orders", "job: found nothing"), ("orders", "sink: found nothing"))

    found = place.the_finding()

    assert (found.kind, found.severity) == (FindingKind.WRONG_SETTINGS, ReconcileSeverity.WARNING)
    assert found.evidence == "job: found nothing; sink: found nothing"


def test_a_blocked_stream_is_told(place):
    """Another stream of the same state root has the checkpoint."""
    place.specs = (a_stream("clicks"),)

    assert {finding.kind for finding in place.reconcile().findings} == {
        FindingKind.BLOCKED,
        FindingKind.LEFT_SETTINGS,
    }


# Orphans


@pytest.mark.fault("B80")
def test_an_orphan_is_killed_and_the_log_tells_it(place):
    old = orphan(place)
    place.leave_alone()
    place.sign(SUPERVISOR)

    found = place.the_finding(act=True)

    assert (found.kind, found.is_repaired) == (FindingKind.ORPHAN_DRIVER, True)
    assert "was killed and is gone" in found.done
    assert not old.is_alive
    assert place.record_kinds[-2:] == ["act_begun", "act_ended"]
    assert place.world.records[-1].by == AUTHOR
    assert place.world.state.contradictions == 0


def test_looking_kills_no_orphan(place):
    old = orphan(place)
    place.leave_alone()

    place.reconcile(act=False)

    assert old.is_alive


def test_a_driver_that_is_replaced_while_the_reconciler_reads_is_no_orphan(place):
    """It was in the process table, and when the log was read its end was on record."""
    seen = place.launcher.living()

    def living():
        place.world.kill(place.world.driver)
        place.world.supervisor().settle()
        return seen

    place.launcher.living = living

    assert place.kinds() == []
    assert place.record_kinds == ["claimed", "submitted", "driver_ended", "claimed", "submitted"]


def test_a_driver_of_another_log_is_never_killed(place):
    """Its number is superseded, its token was never claimed here: a restored backup, or another place's stream."""
    process = orphan(place)
    found = FoundDriver(handle=process.handle, control=place.world.control, epoch=1, token="foreign")
    place.launcher.living = lambda: (found,)
    place.leave_alone()

    kinds = {finding.kind: finding for finding in place.reconcile(act=True).findings}

    assert kinds[FindingKind.ORPHAN_DRIVER].is_repaired is False
    assert process.signals == []


def test_an_ended_epoch_that_only_seems_known_is_left_alone_after_the_second_reading(place):
    """The fold has forgotten the tokens of older epochs; the whole log, read before the kill, has not."""
    world = place.world
    world.kill(world.driver)
    supervisor = world.supervisor()
    world.run(seconds(60), supervisor)
    driver = world.driver.process
    found = FoundDriver(handle=driver.handle, control=world.control, epoch=1, token="foreign")
    place.launcher.living = lambda: (found,)

    reports = place.reconcile(act=True)

    assert all(not finding.is_repaired for finding in reports.findings)
    assert "left alone" in reports.findings[0].done
    assert driver.signals == []


@pytest.mark.fault("B75")
def test_a_kill_that_does_not_work_is_told(place):
    orphan(place)
    place.leave_alone()
    place.sign(SUPERVISOR)
    place.world.processes.kill_works = False

    found = place.the_finding(act=True)

    assert found.is_repaired is False
    assert "still lives" in found.done
    assert isinstance(place.world.records[-1].body, ActEnded)
    assert "still lives" in place.world.records[-1].body.outcome


@pytest.mark.fault("B69")
@pytest.mark.fault("B80")
def test_of_two_live_epochs_the_superseded_one_is_killed_at_once(place):
    """However they came about: the newest may write, the other may not."""
    old = place.world.driver
    append(place, replace(place.world.records[0].body, epoch=2, token="second"))
    younger = place.world.processes.add("second", request=replace(old.process.request, token="second"))
    found = [
        FoundDriver(handle=old.process.handle, control=place.world.control, epoch=1, token=old.process.token),
        FoundDriver(handle=younger.handle, control=place.world.control, epoch=2, token="second"),
    ]
    place.launcher.living = lambda: tuple(found)

    finding = place.the_finding(act=True)

    assert (finding.kind, finding.is_repaired) == (FindingKind.TWO_LIVE_EPOCHS, True)
    assert not old.is_alive
    assert younger.is_alive


def test_a_driver_whose_log_is_gone_is_told_and_left_alone(place):
    driver = place.world.driver
    for name in place.storage.list(log_folder(place.world.control)):
        place.storage.delete(join(log_folder(place.world.control), name))

    found = place.reconcile(act=True).findings[0]

    assert (found.kind, found.severity, found.is_repaired) == (
        FindingKind.ORPHAN_DRIVER,
        ReconcileSeverity.CRITICAL,
        False,
    )
    assert "restore it" in found.repair
    assert driver.process.signals == []


def test_drivers_of_other_settings_are_none_of_our_business(place):
    """Another project on this host, with a log of its own."""
    place.specs = ()
    place.storage.delete(entry_address(place.world.state_root, "orders"))

    assert place.kinds() == []


def test_a_driver_without_any_log_is_told_as_a_stray(place):
    place.specs = ()
    place.storage.delete(entry_address(place.world.state_root, "orders"))
    for name in place.storage.list(log_folder(place.world.control)):
        place.storage.delete(join(log_folder(place.world.control), name))

    assert (place.the_finding().stream, place.the_finding().severity) == ("", ReconcileSeverity.WARNING)


# A stream that nobody supervises


def test_a_lost_stream_is_started_where_its_dag_could_run_and_does_not(place):
    lost(place, replace(DAG, living_runs=0))

    report = place.reconcile(act=True)

    found = {finding.kind: finding for finding in report.findings}
    assert found[FindingKind.LOST_DRIVER].is_repaired
    assert found[FindingKind.LOST_DRIVER].done == "record-end, then claim, then submit"
    assert not found[FindingKind.UNATTENDED].is_repaired, "who helps once does not look after it"
    assert place.record_kinds[-3:] == ["driver_ended", "claimed", "submitted"]
    assert len(place.world.alive) == 1


@pytest.mark.parametrize(
    ("task", "recorded"),
    [
        pytest.param(replace(DAG, is_paused=True, living_runs=0), ["driver_ended"], id="paused is not restarted"),
        pytest.param(replace(DAG, is_present=False), ["driver_ended"], id="no DAG"),
        pytest.param(None, ["driver_ended"], id="Airflow does not answer"),
        pytest.param(replace(DAG, living_runs=1), [], id="a run lives: hands off"),
    ],
)
def test_a_lost_stream_is_not_started_elsewhere(place, task, recorded):
    lost(place, task)
    before = len(place.record_kinds)

    report = place.reconcile(act=True)

    assert place.record_kinds[before:] == recorded
    assert place.world.alive == []
    assert report.severity is ReconcileSeverity.CRITICAL
    assert not any(finding.is_repaired for finding in report.findings)


def test_an_end_is_recorded_once(place):
    lost(place, None)
    place.reconcile(act=True)
    before = place.record_kinds

    place.reconcile(act=True)

    assert place.record_kinds == before
    assert place.world.records[-1].body.outcome is Outcome.DIED


def test_helping_leaves_no_sign_of_attendance(place):
    lost(place, replace(DAG, living_runs=0))
    before = read_attendance(place.storage, place.world.state_root, "orders")

    place.reconcile(act=True)

    assert read_attendance(place.storage, place.world.state_root, "orders") == before
    assert place.kinds() == [FindingKind.UNATTENDED]


def test_a_supervisor_that_comes_back_meanwhile_is_not_disturbed(place):
    lost(place, replace(DAG, living_runs=0))
    before = len(place.record_kinds)
    looks = place.world.supervisor

    def supervisor(**options):
        place.sign()
        return looks(**options)

    place.world.supervisor = supervisor
    place.reconcile(act=True)

    assert len(place.record_kinds) == before


def test_the_restart_policy_holds_for_the_reconciler_too(place):
    """Its back-off is the supervisor's own."""
    lost(place, replace(DAG, living_runs=0))
    place.reconcile(act=True)
    place.world.run(seconds(5))
    place.world.kill(place.world.driver)

    place.reconcile(act=True)

    assert place.record_kinds[-1] == "driver_ended"
    assert "a supervisor would wait: back-off" in place.reconcile().findings[0].evidence


# What is known


def test_the_same_finding_is_news_only_once(place):
    place.leave_alone()

    first = place.the_finding(act=True)
    place.world.run(seconds(60))
    second = place.the_finding(act=True)

    assert first.is_new
    assert second.since == place.world.clock.now() - seconds(60)


def test_a_report_is_told_although_the_book_can_not_be_kept(place):
    place.leave_alone()
    place.storage = SwitchableStorage(place.storage)
    place.storage.unreachable = "reconcile.json"

    assert place.the_finding(act=True).is_new


def test_many_streams_are_compared_with_one_look_at_the_process_table(place):
    calls = []
    living = place.launcher.living
    place.launcher.living = lambda: calls.append("living") or living()
    place.specs = (
        place.world.spec,
        *(a_stream(f"s{number}", checkpoint=f"file:///data/checkpoints/s{number}") for number in range(50)),
    )

    assert len(place.reconcile().findings) == 50
    assert calls == ["living"]


def test_a_second_registry_entry_of_a_stream_that_never_ran_is_nothing(place):
    entry = RegistryEntry(stream="old", checkpoint="file:///data/checkpoints/old", sink="file:///data/old", query_id="")
    register(place.storage, place.world.state_root, entry)

    assert place.kinds() == []
