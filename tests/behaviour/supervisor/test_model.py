"""Any schedule of crashes, delays, outages, wrong clocks and people: never two writers, and it comes to what is declared.

`make chaos-model` draws 10 000 schedules; a plain test run draws a few, always the same ones.
"""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from streamops.spec.sinks import SinkGuarantee
from support.model import TALLY, DamagedLogModel, StreamModel
from support.model_runs import RunsModel
from support.model_stage import FLEETS, TWO_HOSTS, Fleet

SHARE = len(FLEETS)

# Ten thousand schedules take a quarter of an hour; a task that hangs ends by itself.
pytestmark = pytest.mark.timeout(0)


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.name)
def test_any_schedule_keeps_one_writer_and_ends_in_what_is_declared(fleet, record_property):
    run_state_machine_as_test(_model_of(fleet), settings=settings(max_examples=settings.default.max_examples // SHARE))

    record_property("figure", _tally(fleet.name))


@pytest.mark.parametrize("is_scheduled", [False, True], ids=["live", "scheduled"])
@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.name)
def test_any_schedule_of_runs_keeps_one_writer_and_ends_each_run(fleet, is_scheduled, record_property):
    """Half as many schedules again; each run has read all, was ended by a person, or its time was over."""
    examples = max(settings.default.max_examples // (4 * SHARE), 5)
    model = _model_with_runs(fleet, is_scheduled=is_scheduled)

    run_state_machine_as_test(model, settings=settings(max_examples=examples))

    record_property("figure", f"{_tally(model.title)}, {TALLY[f'{model.title} runs']} runs")


def test_the_schedule_by_which_one_sign_ended_a_driver_of_another_host():
    """Drawn schedules seldom come to it: no submit on record, all threads stand still, and only the other host looks."""
    model = _model_of(TWO_HOSTS)()
    model.begin(guarantee=SinkGuarantee.IDEMPOTENT, length=0)
    model.settle_up_to_an_act(who=0, moment="after submit", dies=True)
    model.drive(which=0, step="beat", calls=0)
    model.strike(which=0, what="pause")
    for _ in range(3):
        model.pass_time(span=120, supervised=True, only=1)

    model.an_end_on_record_is_one()
    assert [driver.epoch for driver in model.world.drivers] == [1]
    model.teardown()


def test_after_any_schedule_a_log_that_was_deleted_or_put_back_is_left_alone(record_property):
    """A tenth of the schedules; the persons' part is in `test_fencing_log`."""
    examples = max(settings.default.max_examples // 10, 10)

    run_state_machine_as_test(DamagedLogModel, settings=settings(max_examples=examples))

    record_property("figure", _tally(DamagedLogModel.title))


def _model_of(fleet: Fleet) -> type[StreamModel]:
    return type("StreamModelOf" + fleet.name.title().replace("-", ""), (StreamModel,), {"fleet": fleet})


def _model_with_runs(fleet: Fleet, *, is_scheduled: bool) -> type[RunsModel]:
    title = f"{fleet.name} with runs{', scheduled' if is_scheduled else ''}"
    given = {"fleet": fleet, "is_scheduled": is_scheduled, "title": title}
    return type("RunsModelOf" + fleet.name.title().replace("-", ""), (RunsModel,), given)


def _tally(title: str) -> str:
    return f"{title}: {TALLY[f'{title} schedules']} schedules, {TALLY[f'{title} steps']} steps"
