"""The driver's hold on its claim, over files in memory."""

import json
import os
import socket

import pytest

from streamops.control import codec
from streamops.control.drivers import DriverPhase, ExitRecord, Heartbeat, QueryStep, read_traces
from streamops.control.layout import (
    EXIT,
    HEARTBEAT,
    PROGRESS,
    control_folder,
    driver_folder,
    log_folder,
    record_address,
)
from streamops.control.records import MaintenanceBegun, Outcome, StartRequested, StopRequested
from streamops.errors import ObjectNotFoundError, StorageError
from streamops.launch.processes import this_host
from streamops.spark.failure import exit_record
from streamops.spark.lease import DriverIdentity, Lease
from streamops.spark.query_watch import QueryView
from streamops.spark.report import DriverReport
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.clock import START, FakeClock
from support.records import a_claim, a_record, a_submit, token_of, write_log
from support.specs import CHECKPOINT, seconds
from support.storage import InterruptibleStorage, SwitchableStorage

CONTROL = control_folder(CHECKPOINT)
INSTANCE = "0123456789abcdef"
OTHER_INSTANCE = "fedcba9876543210"
FOLDER = driver_folder(CONTROL, 1, INSTANCE)


class Files:
    """A control folder with the claim of epoch 1, and what happens to it."""

    def __init__(self) -> None:
        self.storage = SwitchableStorage(MemoryStorage())
        self.calls: list[str] = []
        self.next = 0
        self.append(a_claim(1))

    def append(self, *bodies) -> None:
        for body in bodies:
            write_log(self.storage, CONTROL, (a_record(body, self.next),))
            self.next += 1

    def read(self, name: str) -> bytes:
        return self.storage.read(join(FOLDER, name))

    @property
    def heartbeat(self) -> Heartbeat:
        return codec.decode(Heartbeat, self.read(HEARTBEAT), address=HEARTBEAT)


@pytest.fixture
def files():
    return Files()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def report():
    return DriverReport()


def a_lease(files, clock, report, *, on_call=None, **changes) -> Lease:
    fields = {"control": CONTROL, "record": 0, "epoch": 1, "token": token_of(1), "instance": INSTANCE}
    identity = DriverIdentity(**{**fields, "application_id": "local-1", **changes})
    return Lease(InterruptibleStorage(files.storage, on_call or files.calls.append), identity, report, clock=clock)


@pytest.fixture
def lease(files, clock, report):
    return a_lease(files, clock, report)


# The beat


def test_the_first_beat_is_written_before_the_log_is_read(files, lease):
    """A supervisor claims first and reads beats then: whoever comes second sees the other."""
    lease.first_beat()

    written = files.calls.index(f"after write {join(FOLDER, HEARTBEAT)}")
    read = min(index for index, call in enumerate(files.calls) if log_folder(CONTROL) in call)
    assert written < read


def test_every_beat_is_written_before_the_log_is_read(files, lease):
    lease.first_beat()
    files.calls.clear()

    lease.beat()

    assert files.calls[0] == f"before write {join(FOLDER, HEARTBEAT)}"
    assert any(log_folder(CONTROL) in call for call in files.calls)


def test_a_beat_says_who_where_and_what(files, clock, report, lease):
    report.query_started("q-1")
    report.add_progress(['{"batchId": 4}'])

    lease.beat()

    beat = files.heartbeat
    assert (beat.epoch, beat.instance, beat.token) == (1, INSTANCE, token_of(1))
    assert (beat.phase, beat.query_id, beat.batch) == (DriverPhase.RUNNING, "q-1", 4)
    assert (beat.at, beat.application_id) == (START.isoformat(), "local-1")
    assert (beat.host, beat.pid, beat.uid) == (socket.gethostname(), os.getpid(), os.geteuid())
    here = this_host()
    assert (beat.boot_id, beat.pid_namespace) == (here.boot_id, here.pid_namespace), "as the launcher compares them"


def test_a_beat_says_how_the_queries_get_on(files, clock):
    """What tells idle from stuck goes with each beat: the supervisor has no JVM to ask."""
    report = DriverReport(clock=clock)
    lease = a_lease(files, clock, report)
    report.query_started("q-1")
    report.saw(
        [QueryView(query_id="q-1", name="orders", step=QueryStep.BATCH, message="Processing new data")], executors=2
    )
    clock.advance(seconds(90))

    lease.beat()

    beat = files.heartbeat
    (query,) = beat.queries
    assert (query.query_id, query.name, query.step) == ("q-1", "orders", QueryStep.BATCH)
    assert (query.step_seconds, query.progress_seconds, query.message) == (90, 90, "Processing new data")
    assert (beat.phase_seconds, beat.report_age_seconds, beat.executors) == (90, 90, 2)


def test_a_beat_of_an_older_driver_is_read(files, lease):
    """It says nothing of its queries, and it lives all the same."""
    lease.beat()
    fields = json.loads(files.read(HEARTBEAT))
    for name in ("phase_seconds", "report_age_seconds", "executors", "queries"):
        del fields[name]
    files.storage.write(join(FOLDER, HEARTBEAT), json.dumps(fields).encode())

    (traces,) = read_traces(files.storage, CONTROL, 1)
    assert traces.heartbeat.queries == ()


def test_each_beat_has_the_next_number(files, lease):
    numbers = []
    for _ in range(3):
        lease.beat()
        numbers.append(files.heartbeat.sequence)

    assert numbers == [1, 2, 3]


def test_a_beat_that_cannot_be_written_does_not_count(files, lease):
    lease.first_beat()
    files.storage.unreachable = HEARTBEAT

    with pytest.raises(StorageError):
        lease.beat()
    files.storage.unreachable = ""
    assert files.heartbeat.sequence == 1


def test_a_log_that_cannot_be_read_is_no_answer(files, lease):
    files.storage.unreachable = log_folder(CONTROL)

    with pytest.raises(StorageError):
        lease.beat()


# Where the driver stands


def test_the_newest_claim_is_held(lease):
    standing = lease.first_beat()

    assert standing.holds_claim
    assert standing.stop == ""


def test_a_newer_claim_is_seen_even_when_it_comes_between_beat_and_look(files, clock, report):
    def claim_meanwhile(moment):
        if moment == f"after write {join(FOLDER, HEARTBEAT)}":
            files.append(a_claim(2))

    lease = a_lease(files, clock, report, on_call=claim_meanwhile)

    assert "epoch 2 was claimed" in lease.first_beat().lost


def test_a_claim_once_lost_stays_lost(files, lease):
    files.append(a_claim(2))
    lease.first_beat()

    assert not lease.beat().holds_claim


def test_a_claim_of_another_driver_is_lost(files, clock, report):
    lease = a_lease(files, clock, report, token="another")

    assert "is not the claim of this driver" in lease.first_beat().lost


def test_a_log_that_is_gone_is_a_lost_claim(files, lease):
    lease.first_beat()
    for number in range(files.next):
        files.storage.delete(record_address(CONTROL, number))

    assert "the control log is gone" in lease.beat().lost


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(StopRequested(epoch=1), "supervise: reason 1", id="asked by somebody"),
        pytest.param(MaintenanceBegun(until=START + seconds(60)), "supervise: reason 1", id="the checkpoint is needed"),
    ],
)
def test_a_stop_that_came_before_the_first_beat_is_seen_at_it(files, lease, body, reason):
    files.append(body)

    standing = lease.first_beat()

    assert standing.holds_claim
    assert standing.stop == reason


def test_a_stop_that_was_withdrawn_in_time_is_none(files, lease):
    files.append(StopRequested(epoch=1), StartRequested(), a_submit(1))

    assert lease.first_beat().stop == ""


# A second instance


def test_a_second_instance_of_an_epoch_stands_back(files, clock, report, lease):
    """A manager that restarts drivers behind our back starts it with the very same arguments."""
    lease.first_beat()
    second = a_lease(files, clock, DriverReport(), instance=OTHER_INSTANCE)

    lost = second.first_beat().lost

    assert "epoch 1 was already run by instance" in lost
    assert INSTANCE in lost


def test_the_first_instance_goes_on_beside_a_second(files, clock, lease):
    lease.first_beat()
    a_lease(files, clock, DriverReport(), instance=OTHER_INSTANCE).first_beat()

    assert lease.beat().holds_claim


def test_instances_of_other_epochs_do_not_matter(files, clock, report, lease):
    lease.first_beat()
    files.append(a_claim(2))
    newer = a_lease(files, clock, report, record=1, epoch=2, token=token_of(2), instance=OTHER_INSTANCE)

    assert newer.first_beat().holds_claim


# Progress and the end


def test_progress_is_written_with_the_beat(files, report, lease):
    report.add_progress(['{"batchId": 0}', '{"batchId": 1}'])

    lease.beat()

    assert files.read(PROGRESS) == b'{"batchId": 0}\n{"batchId": 1}\n'


def test_progress_is_not_written_again_without_news(files, report, lease):
    report.add_progress(['{"batchId": 0}'])
    lease.beat()
    files.calls.clear()

    lease.beat()

    assert not any(PROGRESS in call for call in files.calls)


def test_progress_that_cannot_be_written_does_not_spoil_the_beat(files, report, lease):
    report.add_progress(['{"batchId": 0}'])
    files.storage.unreachable = PROGRESS

    assert lease.beat().holds_claim
    files.storage.unreachable = ""
    with pytest.raises(ObjectNotFoundError):
        files.read(PROGRESS)


@pytest.mark.fault("B96")
def test_progress_that_could_not_be_written_comes_with_the_next_beat(files, report, lease):
    """Else it waits for a batch that may not come for hours."""
    report.add_progress(['{"batchId": 0}'])
    files.storage.unreachable = PROGRESS
    lease.beat()
    files.storage.unreachable = ""

    lease.beat()

    assert json.loads(files.read(PROGRESS)) == {"batchId": 0}


def test_a_driver_leaves_its_last_progress_and_its_exit_record(files, report, lease):
    lease.first_beat()
    report.add_progress(['{"batchId": 9}'])
    record = exit_record(epoch=1, instance=INSTANCE, outcome=Outcome.STOPPED, at="now", text="asked", batch=9)

    lease.leave(record)

    assert codec.decode(ExitRecord, files.read(EXIT), address=EXIT) == record
    assert files.read(PROGRESS) == b'{"batchId": 9}\n'
    (traces,) = read_traces(files.storage, CONTROL, 1)
    assert traces.exit == record
    assert traces.heartbeat.sequence == 1


def test_an_exit_record_that_cannot_be_written_is_told(files, lease):
    files.storage.unreachable = EXIT
    record = exit_record(epoch=1, instance=INSTANCE, outcome=Outcome.STOPPED, at="now", text="", batch=-1)

    with pytest.raises(StorageError):
        lease.leave(record)


def test_a_driver_writes_nowhere_but_in_its_own_folder(files, report, lease):
    report.add_progress(['{"batchId": 0}'])
    lease.first_beat()
    lease.beat()
    lease.leave(exit_record(epoch=1, instance=INSTANCE, outcome=Outcome.STOPPED, at="now", text="", batch=0))

    changes = [call.split() for call in files.calls if call.split()[1] in ("write", "create", "delete")]
    assert {verb for _, verb, _ in changes} == {"write"}
    assert all(address.startswith(FOLDER + "/") for _, _, address in changes)
