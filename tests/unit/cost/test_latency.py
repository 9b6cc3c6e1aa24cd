"""Latency by trigger interval and processing time."""

import pytest

from streamops.cost.estimates import latency
from streamops.cost.figure import Origin, lasting
from support.specs import seconds


@pytest.mark.parametrize(
    ("interval", "processing", "soonest", "minimum", "maximum"),
    [
        pytest.param(10, 3, 3, 10, 13, id="a batch fits into the interval"),
        pytest.param(10, 10, 10, 10, 20, id="just so"),
        pytest.param(10, 25, 25, 25, 50, id="it does not: what comes waits for the batch that runs"),
        pytest.param(0, 4, 4, 4, 8, id="without an interval a batch follows the other"),
    ],
)
def test_a_record_waits_for_its_trigger_and_goes_with_its_batch(interval, processing, soonest, minimum, maximum):
    estimate = latency(
        lasting("interval", seconds(interval), Origin.GIVEN), lasting("processing", seconds(processing), Origin.GIVEN)
    )

    assert [figure.duration for figure in estimate.results] == [seconds(soonest), seconds(minimum), seconds(maximum)]


def test_the_inputs_stay_with_the_result():
    interval, processing = lasting("i", seconds(1), Origin.DECLARED), lasting("p", seconds(2), Origin.MEASURED)

    estimate = latency(interval, processing)

    assert estimate.inputs == (interval, processing)
    assert "batches take longer than the interval: each begins when the one before has ended" in estimate.notes
