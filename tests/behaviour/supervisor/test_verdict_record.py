"""A changed verdict goes into the control log of its stream, and only where that is ours and whole."""

import pytest

from streamops.control.layout import control_folder, record_address
from streamops.control.log import ControlLog, LogReader
from streamops.control.records import StopRequested, VerdictChanged
from streamops.control.snapshot import load_state
from streamops.errors import CorruptRecordError, StorageError
from streamops.fleet.verdict_change import record_verdict
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.clock import FakeClock
from support.records import a_claim, a_log, a_record, a_submit, write_log
from support.specs import CHECKPOINT, SUPERVISOR, a_stream
from support.storage import InterruptibleStorage, SwitchableStorage

CONTROL = control_folder(CHECKPOINT)


@pytest.fixture
def storage():
    """Our stream `orders` has been started."""
    storage = MemoryStorage()
    write_log(storage, CONTROL, a_log(a_claim(1), a_submit(1)))
    return storage


def record(storage, verdict=Verdict.CRITICAL, *rules):
    return record_verdict(a_stream(), verdict, rules, storage=storage, clock=FakeClock(), author=SUPERVISOR)


def verdicts(storage):
    records = LogReader(storage, CONTROL).read()
    return [(found.number, found.body) for found in records if isinstance(found.body, VerdictChanged)]


def test_a_verdict_is_one_record_with_the_one_before(storage):
    assert record(storage, Verdict.CRITICAL, "missing-offsets")
    assert record(storage, Verdict.OK)

    assert verdicts(storage) == [
        (2, VerdictChanged(after="critical", before="", rules=("missing-offsets",))),
        (3, VerdictChanged(after="ok", before="critical", rules=())),
    ]


def test_who_runs_and_who_may_write_stay_as_they_were(storage):
    before = load_state(storage, CONTROL)

    record(storage)

    after = load_state(storage, CONTROL)
    assert (after.newest, after.desire, after.next_epoch, after.position) == (
        before.newest,
        before.desire,
        before.next_epoch,
        before.position,
    )


@pytest.mark.parametrize("verdict", [Verdict.OK, Verdict.CRITICAL])
def test_a_verdict_that_is_there_is_not_recorded_twice(storage, verdict):
    """`ok` is there from the beginning: a log without verdicts is one of a checkpoint that was always fine."""
    if verdict is Verdict.CRITICAL:
        record(storage, verdict)
    count = len(verdicts(storage))

    assert record(storage, verdict)

    assert len(verdicts(storage)) == count


def test_where_there_is_no_log_none_is_begun():
    """It would make a checkpoint that others have written look like ours."""
    storage = MemoryStorage()

    assert record(storage) is False
    assert storage.list(CONTROL) == ()


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([a_claim(1, stream="clicks")], id="of another stream"),
        pytest.param([StopRequested(epoch=0)], id="of a stream that nobody has started"),
    ],
)
def test_a_log_that_is_not_ours_is_left_alone(bodies):
    storage = MemoryStorage()
    write_log(storage, CONTROL, a_log(*bodies))

    assert record(storage) is False
    assert verdicts(storage) == []


def test_a_submit_that_is_under_way_keeps_its_number():
    """A record in its place would be refused, and the driver that was just launched be killed."""
    storage = MemoryStorage()
    write_log(storage, CONTROL, a_log(a_claim(1)))

    assert record(storage, Verdict.CRITICAL, "missing-offsets") is False
    assert verdicts(storage) == []


def test_a_log_that_is_behind_its_drivers_is_left_alone(storage):
    """The missing records may come back, and their numbers must be free."""
    storage.write(f"{CONTROL}/drivers/2-0a0a0a0a/heartbeat.json", b"{}")

    assert record(storage) is False
    assert verdicts(storage) == []


def test_a_log_that_does_not_fold_is_an_error_and_stays_as_it_is(storage):
    storage.write(record_address(CONTROL, 1), b"{half")

    with pytest.raises(CorruptRecordError, match=r"00000000000000000001\.json"):
        record(storage)

    assert storage.list(f"{CONTROL}/log") == ("00000000000000000000.json", "00000000000000000001.json")


def test_a_log_out_of_reach_is_an_error(storage):
    away = SwitchableStorage(storage)
    away.unreachable = "/log"

    with pytest.raises(StorageError, match="can't be reached"):
        record(away)


def meddling(storage, *bodies):
    """Others append these, each just before one of our appends."""
    waiting = list(bodies)

    def tick(moment):
        if moment.startswith("before create") and waiting:
            number = load_state(storage, CONTROL).next_number
            ControlLog(storage, CONTROL).append(a_record(waiting.pop(0), number))

    return InterruptibleStorage(storage, tick)


def test_a_number_that_another_took_makes_it_look_anew(storage):
    assert record(meddling(storage, StopRequested(epoch=1)))

    assert [number for number, _ in verdicts(storage)] == [3]
    assert load_state(storage, CONTROL).contradictions == 0


def test_of_two_rounds_at_once_one_records(storage):
    assert record(meddling(storage, VerdictChanged(after="critical")))

    assert [number for number, _ in verdicts(storage)] == [2]


def test_a_log_that_is_busy_gets_it_another_time(storage):
    assert record(meddling(storage, *[StopRequested(epoch=1)] * 2)) is False

    assert verdicts(storage) == []


def test_a_snapshot_is_written_when_it_is_due(storage):
    for number in range(2, 49):
        ControlLog(storage, CONTROL).append(a_record(StopRequested(epoch=1), number))
    assert "snapshot.json" not in storage.list(CONTROL)

    record(storage, Verdict.WARNING)

    assert "snapshot.json" in storage.list(CONTROL)
    assert load_state(storage, CONTROL).verdict == "warning"
