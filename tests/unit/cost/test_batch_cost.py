"""What batches cost, from events as Spark 4.2.0 writes them."""

import json
from datetime import timedelta
from typing import Any

import pytest

from streamops.cost.batch_cost import MEANINGS, BatchCost, Step, batch_costs
from streamops.progress import parse_progress
from support.specs import seconds

USUAL = {
    "latestOffset": 24,
    "walCommit": 88,
    "getBatch": 0,
    "queryPlanning": 84,
    "addBatch": 7491,
    "commitOffsets": 200,
    "triggerExecution": 7894,
}
"""A batch from Kafka to Delta."""


def event(batch: int, taken: dict[str, int], *, query: str = "q", name: str = "orders") -> dict[str, Any]:
    moment = "2026-03-01T12:00:40.049Z"
    return {"id": query, "name": name, "batchId": batch, "timestamp": moment, "durationMs": taken}


def costs(*events: dict[str, Any], last: int = 50) -> tuple[BatchCost, ...]:
    return batch_costs(parse_progress("\n".join(map(json.dumps, events)).encode()), last=last)


def median(cost: BatchCost, step: Step) -> timedelta | None:
    (taken,) = [one.taken for one in cost.steps if one.step is step]
    return taken.median if taken else None


def test_each_step_has_its_time_and_what_is_left_is_told():
    (cost,) = costs(event(37, USUAL))

    assert {step.step: step.taken and step.taken.median for step in cost.steps} == {
        Step.START: None,
        Step.FETCH_OFFSETS: seconds(0.024),
        Step.WRITE_OFFSETS: seconds(0.088),
        Step.PLAN: seconds(0),
        Step.INCREMENTAL_PLAN: seconds(0.084),
        Step.TASKS: seconds(7.491),
        Step.SINK_COMMIT: None,
        Step.COMMIT_LOG: seconds(0.2),
    }
    assert (cost.rest.median, cost.whole.median, cost.whole.share) == (seconds(0.007), seconds(7.894), 1.0)


def test_shares_are_of_the_time_of_all_batches():
    (cost,) = costs(
        event(1, {"addBatch": 900, "triggerExecution": 1000}), event(2, {"addBatch": 0, "triggerExecution": 200})
    )

    (tasks,) = [one.taken.share for one in cost.steps if one.step is Step.TASKS and one.taken]
    assert (tasks, cost.rest.share) == (0.75, 0.25)


def test_median_and_percentile_are_over_the_last_batches_only():
    slow, quick = {**USUAL, "walCommit": 9_000}, {**USUAL, "walCommit": 10}

    (cost,) = costs(event(1, slow), event(2, slow), event(3, quick), event(4, quick), last=2)

    assert (cost.first, cost.last, cost.batches) == (3, 4, 2)
    assert median(cost, Step.WRITE_OFFSETS) == seconds(0.01)


def test_a_source_of_the_first_api_is_asked_by_another_name():
    """A batch over two kinds of sources has both names, and they follow each other (constructNextBatch, 4.2.0)."""
    (cost,) = costs(event(1, {**USUAL, "getOffset": 6}))

    assert median(cost, Step.FETCH_OFFSETS) == seconds(0.03)


def test_an_idle_trigger_is_no_batch():
    assert costs(event(38, {"latestOffset": 58, "triggerExecution": 60})) == ()


def test_a_batch_that_runs_again_fetches_and_writes_no_offsets():
    """As the first batch of a driver did whose predecessor was killed in the middle of it (Spark 4.2.0)."""
    again = {name: taken for name, taken in USUAL.items() if name not in ("latestOffset", "walCommit")}

    (cost,) = costs(event(3, again), event(4, USUAL))

    assert cost.repeated == (3,)
    assert median(cost, Step.WRITE_OFFSETS) == seconds(0.088)


def test_what_another_version_measures_is_named_and_stays_in_the_rest():
    (cost,) = costs(event(1, {"addBatch": 50, "walCommit": 10, "commitBatch": 30, "triggerExecution": 100}))

    assert (cost.others, cost.rest.median) == (("commitBatch",), seconds(0.04))


def test_companions_are_told_apart():
    found = costs(event(1, USUAL), event(1, USUAL, query="r", name="orders-0"), event(2, USUAL))

    assert [(cost.query, cost.batches) for cost in found] == [("orders", 2), ("orders-0", 1)]


@pytest.mark.parametrize(
    "taken", [{"addBatch": 5}, {"addBatch": 0, "triggerExecution": 0}], ids=["no whole", "no time"]
)
def test_a_batch_without_time_divides_nothing_by_nothing(taken):
    assert [cost.whole.share for cost in costs(event(1, taken))] in ([], [0.0])


def test_the_steps_are_the_eight_in_their_order():
    assert [meaning.step for meaning in MEANINGS] == list(Step)
    assert [name for meaning in MEANINGS for name in meaning.durations] == [
        "latestOffset",
        "getOffset",
        "walCommit",
        "getBatch",
        "queryPlanning",
        "addBatch",
        "commitOffsets",
    ]
