"""What users met who had two owners on one checkpoint. Each test names the report that it answers."""

import pytest

from streamops.control.records import DriverEnded, Outcome
from streamops.failures.failure_class import FailureClass
from streamops.failures.policy import RestartPolicy
from streamops.storage import join
from streamops.supervision.decision import Action
from support.checkpoints import commit
from support.fencing import a_running_stream, a_stopped_stream, last_batch, outcomes, write_batch
from support.specs import seconds

LONG = seconds(900)
OTHER_OWNER = "Caused by (JVM): org.apache.spark.SparkConcurrentModificationException: "
NEW_WORDS = OTHER_OWNER + (
    "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 3."
)


def failure_classes(world):
    return {record.body.failure_class for record in world.records if isinstance(record.body, DriverEnded)}


@pytest.mark.fault("B27")
@pytest.mark.fault("B28")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(NEW_WORDS, id="SPARK-43542, apache/spark#41205"),
        pytest.param("Concurrent update to the commit log. Multiple streaming jobs detected for 3", id="SPARK-26425"),
        pytest.param(
            OTHER_OWNER
            + "Multiple streaming queries are concurrently using file:/data/checkpoints/orders/offsets/3952",
            id="dotnet/spark#676",
        ),
        pytest.param(
            OTHER_OWNER + "Multiple streaming queries are concurrently using file:/data/checkpoints/orders/metadata",
            id="databrickslabs/overwatch#1106: a race on an empty folder",
        ),
    ],
)
def test_a_driver_that_met_another_owner_is_not_started_again(world, text):
    """The loser of the race is what the scheduler watches: its retry delivers the next batch a second time."""
    supervisor = a_running_stream(world)
    world.driver.leave(Outcome.FAILED, text)

    decision = world.run(LONG, supervisor)

    assert (decision.action, decision.needs_attention) == (Action.PARKED, True)
    assert failure_classes(world) == {FailureClass.CONCURRENT_WRITER}
    assert len(world.drivers) == 1


@pytest.mark.fault("B27")
def test_a_damaged_checkpoint_is_not_taken_for_another_owner(world):
    """SPARK-26425 (apache/spark#25965): commits ahead of offsets raise the very same error, and nobody else is there."""
    supervisor = a_running_stream(world)
    planned = last_batch(world)
    world.storage.write(join(world.spec.checkpoint, "commits", str(planned + 1)), commit())
    world.driver.leave(Outcome.FAILED, NEW_WORDS)

    decision = world.run(LONG, supervisor)

    assert decision.action is Action.PARKED
    assert f"commits reach batch {planned + 1}, offsets only {planned}" in decision.reason


@pytest.mark.fault("B27")
@pytest.mark.parametrize("host", ["host-1", "host-2"])
def test_schedules_that_overlap_share_one_driver(world, host):
    """databrickslabs/overwatch#515: the run before is not over when the next begins, here or on another worker."""
    supervisors = [world.supervisor(), world.supervisor(host=host)]

    world.run(LONG, *supervisors)

    assert [driver.epoch for driver in world.drivers] == [1]
    batches = [batch for _, batch in world.writes]
    assert batches == sorted(set(batches))


@pytest.mark.fault("B27")
def test_a_job_that_was_started_past_streamops_keeps_the_stream_still(world):
    """apache/hudi#6308: the other owner is somebody's spark-submit, which asks nobody and whose batches just appear."""
    supervisor = a_stopped_stream(world)
    for batch in (1, 2, 3):
        write_batch(world, last_batch(world) + batch)

    decision = world.run(LONG, supervisor)

    assert decision.action is Action.PARKED
    assert "foreign writer" in decision.reason
    assert "Stop it, then" in decision.reason
    assert world.alive == []


@pytest.mark.fault("B29")
def test_a_query_that_is_stopped_again_and_again_without_an_error_ends_parked(world):
    """SPARK-29568 (apache/spark#26225), SPARK-30143 (apache/spark#26771).

    A second start in the same application stops the query that runs: it ends without an exception, and for whoever
    starts it again on each tick this goes on for ever.
    """
    supervisor = world.supervisor()
    for _ in range(100):
        world.run(seconds(20), supervisor)
        for driver in world.alive:
            driver.leave(Outcome.FINISHED)

    assert supervisor.settle().action is Action.PARKED
    assert set(outcomes(world)) == {Outcome.FINISHED}
    assert failure_classes(world) == {FailureClass.ENDED_BY_ITSELF}
    assert len(world.drivers) == RestartPolicy().budget_per_hour + 1
