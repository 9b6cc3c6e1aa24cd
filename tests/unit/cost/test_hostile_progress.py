"""Whatever a progress file says, nothing that is worked out from it breaks."""

import json

from hypothesis import given
from hypothesis import strategies as st

from streamops.cost.batch_cost import batch_costs
from streamops.cost.state import bytes_per_row, dropped_late, input_rate, operator_states, processing_time
from streamops.progress import parse_progress

NUMBERS = st.integers(-(2**70), 2**70) | st.integers(0, 5000) | st.floats() | st.none() | st.text(max_size=3)
STEPS = st.sampled_from(["addBatch", "walCommit", "getBatch", "latestOffset", "triggerExecution", "\x1b[2J"])
OPERATORS = st.fixed_dictionaries(
    {},
    optional={
        "operatorName": st.text(max_size=3),
        "numRowsTotal": NUMBERS,
        "commitTimeMs": NUMBERS,
        "numShufflePartitions": NUMBERS,
        "numRowsDroppedByWatermark": NUMBERS,
        "customMetrics": st.dictionaries(
            st.sampled_from(["rocksdbSstFileSize", "stateOnCurrentVersionSizeBytes"]), NUMBERS
        ),
    },
)
EVENTS = st.fixed_dictionaries(
    {
        "batchId": st.integers(-5, 5),
        "timestamp": st.datetimes().map(str),
        "durationMs": st.dictionaries(STEPS, st.integers(-5, 10**9)) | NUMBERS,
    },
    optional={
        "id": st.sampled_from("ab"),
        "numInputRows": NUMBERS,
        "stateOperators": st.lists(OPERATORS, max_size=2),
    },
)


@given(st.lists(EVENTS, max_size=6), st.integers(1, 5))
def test_nothing_that_is_worked_out_breaks(events, last):
    history = parse_progress("\n".join(map(json.dumps, events)).encode())

    for cost in batch_costs(history, last=last):
        assert 0 <= cost.rest.share <= 1
        assert 1 <= cost.batches <= last
    for state in operator_states(history, last=last):
        assert state.share >= 0
    assert all(figure is None or figure.number >= 0 for figure in (input_rate(history), bytes_per_row(history)))
    longest = processing_time(history)
    assert longest is None or longest.duration in {event.duration for event in history.events}
    assert dropped_late(history) is None or len(history.events) > 0
