"""The operators, slice by slice, as a worker runs them: real control log, real processes, no Airflow database."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, TaskDeferred

from streamops.airflow.operators import StreamOperator
from streamops.airflow.triggers import StreamTrigger
from streamops.control import codec
from streamops.control.drivers import DriverPhase, Heartbeat
from streamops.control.layout import HEARTBEAT, driver_folder, log_folder
from streamops.control.records import Outcome
from streamops.launch.local import LocalLauncher
from streamops.storage import join
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops.supervision.supervisor import Supervisor
from support.clock import FakeClock
from support.dags import only_dag
from support.records import a_claim, a_log, write_log
from support.specs import SUPERVISOR

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be called outside of the Task Runner")


class Task:
    """The task of the stream's DAG, run slice by slice."""

    def __init__(self, place) -> None:
        self._place = place

    @property
    def supervise(self) -> StreamOperator:
        return self._task("supervise")

    def execute(self) -> TaskDeferred:
        """The first slice of a try; how it was deferred."""
        return deferral(self.supervise.execute, {})

    def resume(self, wake: str = "record-end", **event: str) -> TaskDeferred:
        """A further slice; how it was deferred."""
        return deferral(self.supervise.resume, {}, {"wake": wake, "reason": "epoch 1 has ended", "end_at": "", **event})

    def _task(self, task_id: str):
        return only_dag(self._place.config, "streams.py").get_task(task_id)


def deferral(act, *arguments) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as deferred:
        act(*arguments)
    return deferred.value


@pytest.fixture
def task(place):
    return Task(place)


def beat(place, *, sequence: int = 1) -> None:
    """The newest driver beats."""
    newest = place.state.newest
    heartbeat = Heartbeat(
        epoch=newest.number,
        instance="0a0a0a0a",
        token=newest.claim.token,
        sequence=sequence,
        phase=DriverPhase.RUNNING,
        at=datetime.now(UTC).isoformat(),
        host="host-1",
        pid=9,
    )
    folder = driver_folder(place.control, newest.number, "0a0a0a0a")
    LocalStorage().write(join(folder, HEARTBEAT), codec.encode(heartbeat))


# The first slice


@pytest.mark.fault("B73")
def test_the_first_slice_starts_the_stream_and_sleeps(place, task):
    deferred = task.execute()

    assert place.kinds == ["claimed", "submitted"]
    assert place.is_alive(place.handles[0])
    assert isinstance(deferred.trigger, StreamTrigger)
    assert deferred.method_name == "resume"


@pytest.mark.fault("B76")
@pytest.mark.fault("B78")
def test_a_task_that_sleeps_has_no_time_out(task):
    """At its end Airflow would cancel the trigger and fail the task: that looks like the end of a stream."""
    assert task.execute().timeout is None


def test_the_trigger_watches_the_same_stream_in_the_same_settings(place, task):
    trigger = task.execute().trigger

    assert (trigger.stream, trigger.config) == ("orders", place.config)


@pytest.mark.fault("B30")
@pytest.mark.fault("B76")
def test_a_new_try_attaches_to_the_living_driver(place, task):
    """Cleared, retried, or a new run: the driver does not notice."""
    task.execute()

    task.execute()

    assert place.kinds == ["claimed", "submitted"]
    assert place.is_alive(place.handles[0])


def test_a_run_lasts_about_as_long_as_it_should(place):
    operator = StreamOperator(task_id="supervise", stream="orders", config=place.config, run_for=timedelta(hours=10))
    before = datetime.now(UTC)

    end_at = datetime.fromisoformat(deferral(operator.execute, {}).trigger.end_at)

    assert timedelta(hours=8.9) < end_at - before < timedelta(hours=11.1)


@pytest.mark.fault("B75")
def test_killing_a_task_never_stops_a_stream():
    assert StreamOperator.on_kill is BaseOperator.on_kill


# After a driver's death


def test_a_dead_driver_is_replaced_within_the_same_try(place, task):
    task.execute()
    place.kill(place.handles[0])

    task.resume()

    assert place.kinds == ["claimed", "submitted", "driver_ended", "claimed", "submitted"]
    assert place.state.newest.number == 2
    assert place.is_alive(place.handles[1])


def test_the_end_of_a_dead_driver_is_on_record(place, task):
    task.execute()
    beat(place)
    place.kill(place.handles[0])

    task.resume()

    assert place.state.failures[0].outcome is Outcome.DIED
    assert place.state.failures[0].epoch == 1


def test_the_task_log_shows_the_last_lines_of_the_dead_drivers_log(place, task, task_log):
    task.execute()
    place.wait_for_log()
    place.kill(place.handles[0])

    task.resume()

    lines = task_log.text.splitlines()
    assert [line for line in lines if line.startswith("line ")] == [f"line {number}" for number in range(11, 61)]
    assert place.handles[0].log in task_log.text


def test_a_log_that_is_not_there_does_not_hold_up_the_restart(place, task):
    """It may have been removed, or the driver had its host elsewhere."""
    task.execute()
    place.wait_for_log()
    place.kill(place.handles[0])
    Path(place.handles[0].log).unlink()

    task.resume()

    assert place.state.newest.number == 2


def test_a_back_off_is_slept_not_waited_for(place, task):
    place.declare(restart={"initial_delay": "1h", "max_delay": "1h"})
    task.execute()
    place.kill(place.handles[0])

    task.resume()

    assert place.kinds == ["claimed", "submitted", "driver_ended"]


def test_the_task_log_shows_what_the_restart_policy_makes_of_a_failure(place, task, task_log):
    place.declare(restart={"initial_delay": "1h", "max_delay": "1h"})
    task.execute()
    place.kill(place.handles[0])

    task.resume()

    shown = task_log.text
    assert "failures within the hour: 1, restarts left: 9, in a row without a batch: 1" in shown
    assert "next attempt: 20" in shown


def test_the_end_of_the_run_stays_the_same_through_all_slices(place, task):
    end_at = task.execute().trigger.end_at
    place.kill(place.handles[0])

    assert task.resume(end_at=end_at).trigger.end_at == end_at


def test_a_run_ends_green_and_the_driver_lives_on(place, task):
    task.execute()

    task.supervise.resume({}, {"wake": "end-of-run", "reason": "the run has lasted its time", "end_at": ""})

    assert place.kinds == ["claimed", "submitted"]
    assert place.is_alive(place.handles[0])


def test_a_wake_up_for_what_another_has_done_meanwhile_does_nothing(place, task):
    task.execute()
    place.kill(place.handles[0])
    place.supervisor().settle()

    task.resume()

    assert place.kinds.count("submitted") == 2


def test_the_task_of_a_stopped_stream_ends_well(place, task):
    place.start()
    place.person().stop("maintenance")
    place.kill(place.handles[0])

    assert task.supervise.resume({}, {"wake": "record-end", "reason": "epoch 1 has ended"}) is None
    assert place.kinds[-1] == "driver_ended"


def test_a_stream_that_does_not_get_on_fails_its_task_once_it_is_late(place, task):
    place.declare(restart={"initial_delay": "1h", "max_delay": "2h"})
    task.execute()
    place.kill(place.handles[0])
    task.resume()

    with pytest.raises(AirflowFailException, match="does not get on: back-off") as failure:
        task.supervise.resume({}, {"wake": "standstill", "reason": "back-off"})

    assert "The next run begins when it does" in str(failure.value)


def test_waits_that_only_the_task_sees_count_from_slice_to_slice(place, task):
    """Its trigger may see less: no connection, for example."""
    place.declare(restart={"initial_delay": "1h", "max_delay": "2h"})
    task.execute()
    place.kill(place.handles[0])

    first = task.resume(wake="record-end")
    again = task.resume(wake="claim", still_since=first.trigger.still_since)

    assert again.trigger.still_since == first.trigger.still_since != ""
    long_ago = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    with pytest.raises(AirflowFailException, match="does not get on"):
        task.supervise.resume({}, {"wake": "claim", "reason": "start is safe", "still_since": long_ago})


def test_what_whoever_found_the_run_due_has_watched_counts(place, task):
    """A claim that was left behind is superseded after 30 s, and of this one nobody knows here how long it is."""
    write_log(LocalStorage(), place.control, a_log(a_claim(1)))
    supervisor = place.supervisor()
    supervisor.look()
    seen = json.loads(supervisor.hand_over())
    memory = json.dumps({subject: [mark, 3600.0] for subject, (mark, _) in seen.items()})
    event = SimpleNamespace(extra={"from_trigger": True, "payload": {"memory": memory}})

    deferral(task.supervise.execute, {"triggering_asset_events": {"asset": [event]}})

    assert place.kinds[:2] == ["claimed", "claimed"]


def test_a_stream_that_gets_on_by_now_is_slept_on(place, task):
    task.execute()

    assert task.resume(wake="standstill").method_name == "resume"


def test_files_that_can_not_be_read_fail_the_task_once_it_is_late(place, task, eyes):
    task.execute()
    eyes.storage.unreachable = "/"

    assert task.resume(wake="record-end").method_name == "resume"
    with pytest.raises(AirflowFailException, match="can't be supervised"):
        task.supervise.resume({}, {"wake": "standstill", "reason": "no answer"})


# Parked


def test_a_parked_stream_fails_its_task_with_the_reason_and_the_way_out(place, task):
    place.declare(restart={"thrash_limit": 0})
    task.execute()
    place.kill(place.handles[0])

    with pytest.raises(AirflowFailException) as failure:
        task.supervise.resume({}, {"wake": "record-end", "reason": "epoch 1 has ended"})

    told = " ".join(str(failure.value).split())
    assert "1 failures in a row without a committed batch, allowed: 0" in told
    assert "streamops release orders --reason" in told
    assert place.kinds[-1] == "parked"


def test_a_parked_stream_fails_the_next_try_too_and_starts_nothing(place, task):
    place.declare(restart={"thrash_limit": 0})
    task.execute()
    place.kill(place.handles[0])
    place.supervisor().settle()
    before = place.kinds

    with pytest.raises(AirflowFailException):
        task.supervise.execute({})

    assert place.kinds == before


# Trouble is a wait


def test_settings_that_are_wrong_are_slept_on(place, task, task_log):
    """No good version of them is kept, as where the state root is not there."""
    operator = task.supervise
    shutil.rmtree(place.project.root / "data" / "state")
    place.project.file.write_text("streams: [")

    assert deferral(operator.execute, {}).method_name == "resume"
    assert "can't be supervised now" in task_log.warnings
    assert "streams.yaml" in task_log.warnings


def test_a_stream_that_has_left_the_settings_is_slept_on(place, task):
    operator = task.supervise
    place.project.load(streams={})

    assert deferral(operator.execute, {}).method_name == "resume"


def test_a_control_log_that_cannot_be_read_is_slept_on(place, task):
    log = Path(local_path(log_folder(place.control)))
    log.parent.mkdir(parents=True)
    log.write_text("a file where the log belongs")

    assert task.execute().method_name == "resume"
    log.unlink()


def test_trouble_in_a_later_slice_keeps_the_end_of_the_run(place, task):
    operator = task.supervise
    place.project.file.unlink()
    event = {"wake": "record-end", "reason": "epoch 1 has ended", "end_at": "2999-01-01T00:00:00+00:00"}

    assert deferral(operator.resume, {}, event).trigger.end_at == "2999-01-01T00:00:00+00:00"


def test_a_spark_submit_that_is_not_there_is_a_failure_of_the_stream_not_of_the_task(place, task):
    place.declare(launch={"spark_submit": "bin/gone"}, restart={"initial_delay": "1h", "max_delay": "1h"})

    task.execute()

    assert place.kinds == ["claimed", "driver_ended"]
    assert place.state.failures[0].outcome is Outcome.LAUNCH_FAILED


def test_a_fault_of_our_own_is_slept_on_and_shown_in_full(place, task, eyes, task_log):
    def fail(checkpoint):
        raise KeyError("a fault of our own")

    eyes.on_look = fail

    assert task.execute().method_name == "resume"
    assert "can't be supervised now" in task_log.text


# What the trigger has seen


def memory_of_a_hang(place, *, still: timedelta) -> str:
    """What a trigger hands over that has watched the beat stand still for so long."""
    clock = FakeClock()
    eyes = Supervisor(
        place.spec,
        storage=LocalStorage(),
        launcher=LocalLauncher(),
        clock=clock,
        state_root=place.project.address("data/state"),
        author=SUPERVISOR,
    )
    eyes.look()
    clock.advance(still)
    return eyes.hand_over()


def test_a_driver_that_hangs_is_killed_and_replaced_on_the_triggers_word(place, task):
    task.execute()
    beat(place)
    memory = memory_of_a_hang(place, still=place.spec.timings.takeover + timedelta(seconds=1))

    task.resume(wake="kill", memory=memory)

    assert not place.is_alive(place.handles[0])
    assert place.kinds == ["claimed", "submitted", "kill_begun", "driver_ended", "claimed", "submitted"]
    assert place.state.failures[0].outcome is Outcome.KILLED


def test_without_that_word_the_wait_begins_anew(place, task):
    task.execute()
    beat(place)

    task.resume(wake="kill")

    assert place.is_alive(place.handles[0])
    assert place.kinds == ["claimed", "submitted"]


def test_a_driver_that_beats_again_meanwhile_is_kept(place, task):
    task.execute()
    beat(place)
    memory = memory_of_a_hang(place, still=place.spec.timings.takeover + timedelta(seconds=1))
    beat(place, sequence=2)

    task.resume(wake="kill", memory=memory)

    assert place.is_alive(place.handles[0])
    assert place.kinds == ["claimed", "submitted"]


@pytest.mark.parametrize(
    "memory", ["", "{", "[]", '{"beat 1 submitted": 7}'], ids=["none", "torn", "list", "other shape"]
)
def test_a_memory_that_makes_no_sense_is_forgotten(place, task, memory):
    """It comes out of a database row that another release may have written."""
    task.execute()

    assert task.resume(wake="record-end", memory=memory).method_name == "resume"
