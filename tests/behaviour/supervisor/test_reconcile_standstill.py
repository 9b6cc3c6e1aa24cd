"""A stream that somebody signs for and that stands still all the same: what a reconciler makes of it."""

from datetime import timedelta
from pathlib import Path

import pytest

from streamops.control.records import Author, MaintenanceBegun, VerdictChanged
from streamops.failures.policy import RestartPolicy
from streamops.launch import DriverState
from streamops.reconcile import FindingKind, ReconcileSeverity
from streamops.reconcile.facts import GRACE
from support.model_tasks import Gone
from support.reconciling import Place, append
from support.specs import SUPERVISOR, a_stream, seconds
from support.world import HostLauncher, World

DAY = timedelta(days=1)
OTHER = Author(actor="supervise", host="host-2", pid=11)


@pytest.fixture
def place(tmp_path):
    """Its job file can be deleted; nobody has started it yet."""
    job = tmp_path / "orders.py"
    job.touch()
    return Place(World(tmp_path, spec=a_stream(job=str(job))))


@pytest.fixture
def running(place):
    place.world.supervisor().settle()
    place.world.run(seconds(60))
    return place


def lose_the_job_file(place: Place) -> None:
    """Every claim fails from now on."""
    Path(place.world.spec.job).unlink()


def sign_through(place: Place, duration: timedelta, by: Author = SUPERVISOR) -> None:
    """Somebody signs all the time and does nothing."""
    place.world.run(duration)
    place.sign(by)


def found(place: Place) -> list[tuple[FindingKind, ReconcileSeverity]]:
    return [(finding.kind, finding.severity) for finding in place.reconcile().findings]


OVERDUE = [(FindingKind.OVERDUE, ReconcileSeverity.CRITICAL)]
WAITING = [(FindingKind.WAITING, ReconcileSeverity.WARNING)]


def test_a_supervisor_that_can_not_claim_is_found_after_five_minutes(running):
    """Its driver died, and the job file is gone: each look signs, and each claim fails."""
    supervisor = running.world.supervisor()
    lose_the_job_file(running)
    running.world.kill(running.world.driver)

    running.world.run_through_trouble(GRACE - seconds(5), supervisor)
    assert found(running) == []

    running.world.run_through_trouble(seconds(30), supervisor)
    assert found(running) == OVERDUE
    finding = running.the_finding()
    assert "claim is due: start is safe" in finding.evidence
    assert "supervise on host-1, who looks after it, gets no further" in finding.meaning


def test_a_verdict_that_comes_and_goes_is_nobody_at_work(running):
    """Each change of it is a record, but not one of whoever looks after the stream."""
    supervisor = running.world.supervisor()
    lose_the_job_file(running)
    running.world.kill(running.world.driver)
    for verdict in ("critical", "ok") * 3:
        running.world.run_through_trouble(seconds(60), supervisor)
        append(running, VerdictChanged(after=verdict))

    assert found(running) == OVERDUE


def test_a_stream_that_could_never_be_started_is_found(place):
    lose_the_job_file(place)
    place.changed_at = place.world.clock.now()
    supervisor = place.world.supervisor()

    place.world.run_through_trouble(GRACE - seconds(5), supervisor)
    assert found(place) == []

    place.world.run_through_trouble(seconds(10), supervisor)
    assert found(place) == OVERDUE


def test_looking_after_does_not_help_where_nobody_acts(running):
    """The reconciler leaves it to whoever signs: it neither records nor starts anything."""
    running.world.kill(running.world.driver)
    sign_through(running, GRACE + seconds(5))
    before = running.record_kinds

    assert FindingKind.OVERDUE in running.kinds(act=True)

    assert running.record_kinds == before


def test_an_end_that_nobody_records_is_found_by_the_drivers_last_sign(running):
    """The log has been silent for an hour, but the driver died a moment ago."""
    running.world.run(timedelta(hours=1))
    running.world.kill(running.world.driver)

    sign_through(running, GRACE - seconds(5))
    assert found(running) == []

    sign_through(running, seconds(10))
    assert found(running) == OVERDUE
    assert "record-end is due" in running.the_finding().evidence


def test_a_claim_without_a_submit_is_found(running):
    """Who claimed was ended before its submit, and nobody claims the next epoch."""

    def die(moment):
        if moment == "before submit":
            raise Gone

    running.world.kill(running.world.driver)
    with pytest.raises(Gone):
        running.world.supervisor(tick=die).settle()

    sign_through(running, GRACE - seconds(5))
    assert found(running) == []

    sign_through(running, seconds(10))
    assert found(running) == OVERDUE
    assert "epoch 2 was claimed and never submitted" in running.the_finding().evidence


@pytest.fixture
def patient(tmp_path):
    """A stream with a long back-off, which has begun."""
    policy = RestartPolicy(jitter=0, initial_delay=2 * GRACE, max_delay=2 * GRACE)
    place = Place(World(tmp_path, spec=a_stream(restart=policy)))
    place.world.supervisor().settle()
    place.world.kill(place.world.driver)
    place.world.supervisor().settle()
    return place


def test_a_back_off_is_no_standstill_nor_is_the_moment_after_it(patient):
    """However long it was: whoever waited for its end needs a moment."""
    sign_through(patient, GRACE + seconds(30))
    assert found(patient) == []

    sign_through(patient, GRACE)
    assert found(patient) == []

    sign_through(patient, GRACE)
    assert found(patient) == OVERDUE


def test_maintenance_is_no_standstill_until_it_has_been_over_for_a_while(running):
    until = running.world.clock.now() + 2 * GRACE
    append(running, MaintenanceBegun(until=until))
    running.world.run(seconds(30), running.world.supervisor())
    assert running.world.alive == []

    sign_through(running, 2 * GRACE)
    assert found(running) == []

    sign_through(running, GRACE)
    assert found(running) == OVERDUE
    assert "end-maintenance is due" in running.the_finding().evidence


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        pytest.param(DAY, [FindingKind.OVERDUE], id="ahead: its signs are as wrong as the log"),
        pytest.param(-DAY, [FindingKind.LOST_DRIVER, FindingKind.UNATTENDED], id="behind: its signs are old"),
    ],
)
def test_a_wrong_clock_of_the_supervisor_hides_nothing(running, error, kinds):
    """The reconciler's own clock is right."""
    supervisor = running.world.supervisor()
    running.world.hosts["host-1"].clock.error = error
    running.supervise_from = "host-2"
    running.world.kill(running.world.driver)
    lose_the_job_file(running)

    running.world.run_through_trouble(GRACE + seconds(30), supervisor)

    assert running.kinds() == kinds
    assert running.reconcile().severity is ReconcileSeverity.CRITICAL


def test_a_record_from_a_clock_that_is_ahead_hides_nothing(running):
    """A person whose clock is a day ahead asked for a start, and nobody obeys."""
    supervisor = running.world.supervisor()
    running.world.person().stop("upgrade")
    running.world.run(seconds(60), supervisor)
    running.world.hosts["desk"].clock.error = DAY
    running.world.person().start("done")
    lose_the_job_file(running)

    running.world.run_through_trouble(GRACE + seconds(30), supervisor)

    assert found(running) == OVERDUE


def test_settings_from_the_future_hide_nothing(place):
    """An archive with a wrong date: it was declared long ago, as far as anybody can tell."""
    place.changed_at = place.world.clock.now() + DAY

    assert found(place) == [(FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL)]


def test_a_driver_that_can_not_be_seen_and_whose_beat_stands_still_is_told(running):
    """Its host was booted again: no process table tells its end, and a person must."""
    running.launcher = HostLauncher(running.world, "host-2", lambda _: None)
    running.supervise_from = "host-2"
    sign_through(running, GRACE + seconds(5), by=OTHER)
    assert found(running) == []

    running.world.kill(running.world.driver)
    sign_through(running, 2 * GRACE, by=OTHER)

    assert found(running) == WAITING
    assert "epoch 1" in running.the_finding().evidence


def test_a_second_sign_that_is_due_is_found(tmp_path):
    """A manager calls the driver gone, its beat stands still, and nobody draws the conclusion."""
    place = Place(World(tmp_path, is_managed=True))
    place.world.supervisor().settle()
    place.world.run(seconds(60))
    driver = place.world.driver
    place.world.misreport(driver, DriverState.GONE)
    sign_through(place, GRACE + seconds(5))
    assert found(place) == []

    place.world.kill(driver)
    sign_through(place, 2 * GRACE)

    assert found(place) == OVERDUE


def test_a_wrong_declaration_of_a_stream_that_stands_still_is_critical_although_somebody_signs(running):
    running.specs, running.wrong = (), (("orders", "job: found nothing"),)
    running.world.kill(running.world.driver)

    sign_through(running, seconds(30))
    assert found(running) == [(FindingKind.WRONG_SETTINGS, ReconcileSeverity.WARNING)]

    sign_through(running, GRACE)
    assert found(running) == [(FindingKind.WRONG_SETTINGS, ReconcileSeverity.CRITICAL)]
