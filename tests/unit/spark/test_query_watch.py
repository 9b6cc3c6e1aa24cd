"""Spark's words for what a query is at, translated. The messages are those of Spark 4.2, seen in runs."""

from types import SimpleNamespace

import pytest

from streamops.control.drivers import QueryStep
from streamops.spark.query_watch import MESSAGE_LENGTH, QueryWatch


def watched(message: str, *, trigger: bool = True, active: bool = True) -> QueryWatch:
    status = {"message": message, "isTriggerActive": trigger, "isDataAvailable": True}
    return QueryWatch(SimpleNamespace(id="q-1", name=None, isActive=active, status=status, lastProgress=None))


@pytest.mark.parametrize(
    ("message", "trigger", "step"),
    [
        pytest.param("Initializing StreamExecution", False, QueryStep.STARTING, id="before its thread runs"),
        pytest.param("Initializing sources", False, QueryStep.STARTING, id="reading its position"),
        pytest.param("Waiting for next trigger", False, QueryStep.WAITING, id="the interval is not over"),
        pytest.param("Waiting for data to arrive", False, QueryStep.WAITING, id="an idle default trigger"),
        pytest.param("Processing new data", False, QueryStep.WAITING, id="a batch has just ended, its message is left"),
        pytest.param("Waiting for next trigger", True, QueryStep.PLANNING, id="a trigger begins, the message is left"),
        pytest.param("Getting offsets from KafkaV2[Subscribe[orders]]", True, QueryStep.PLANNING, id="asks the broker"),
        pytest.param("Writing offsets to log", True, QueryStep.PLANNING, id="writes the plan"),
        pytest.param("Processing new data", True, QueryStep.BATCH, id="a batch"),
        pytest.param("No new data but cleaning up state", True, QueryStep.BATCH, id="a batch for the state alone"),
        pytest.param("Running", False, QueryStep.BATCH, id="a continuous query before its first epoch"),
        pytest.param("Committing epoch 7", False, QueryStep.BATCH, id="a continuous query, which has no triggers"),
        pytest.param("Resolving sources anew", True, QueryStep.PLANNING, id="a message of a later Spark"),
    ],
)
def test_a_step_is_told_by_trigger_and_message(message, trigger, step):
    sight = watched(message, trigger=trigger).look()

    assert (sight.step, sight.message) == (step, message)


@pytest.mark.parametrize(
    ("message", "epoch"), [("Committing epoch 7", 7), ("Running", None), ("Processing new data", None)]
)
def test_a_continuous_query_tells_its_epoch(message, epoch):
    assert watched(message, trigger=False).look().epoch == epoch


def test_a_query_that_is_not_active_has_ended_whatever_its_message_says():
    assert watched("Processing new data", active=False).look().step is QueryStep.ENDED


def test_a_message_is_cut():
    """The text of a failure may be pages long, and a beat is written every few seconds."""
    message = watched("Terminated with exception: " + "x" * 5000, trigger=False).look().message

    assert len(message) == MESSAGE_LENGTH


def test_a_query_without_progress_has_no_new_one():
    assert watched("Initializing sources").new_progress() == []
