"""Any schedule of crashes, delays, outages, wrong clocks and people: never two writers, and it comes to what is declared.

`make chaos-model` draws 10 000 schedules; a plain test run draws a few, always the same ones.
"""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from support.model import TALLY, DamagedLogModel, StreamModel
from support.model_stage import FLEETS, Fleet

SHARE = len(FLEETS)

pytestmark = pytest.mark.timeout(
    0
)  # Ten thousand schedules take a quarter of an hour; a task that hangs ends by itself.


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.name)
def test_any_schedule_keeps_one_writer_and_ends_in_what_is_declared(fleet, record_property):
    run_state_machine_as_test(_model_of(fleet), settings=settings(max_examples=settings.default.max_examples // SHARE))

    record_property("figure", _tally(fleet.name))


def test_after_any_schedule_a_log_that_was_deleted_or_put_back_is_left_alone(record_property):
    """A tenth of the schedules; the persons' part is in `test_fencing_log`."""
    examples = max(settings.default.max_examples // 10, 10)

    run_state_machine_as_test(DamagedLogModel, settings=settings(max_examples=examples))

    record_property("figure", _tally(DamagedLogModel.title))


def _model_of(fleet: Fleet) -> type[StreamModel]:
    return type("StreamModelOf" + fleet.name.title().replace("-", ""), (StreamModel,), {"fleet": fleet})


def _tally(title: str) -> str:
    return f"{title}: {TALLY[f'{title} schedules']} schedules, {TALLY[f'{title} steps']} steps"
