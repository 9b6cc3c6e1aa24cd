"""What is unsupervised is critical, whatever the cause, and whether the reconciler can ask Airflow itself or not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.reconcile import FindingKind, ReconcileSeverity
from streamops.reconcile.finding import TOLD_FOR
from support.reconciling import DAG, LONG, Place
from support.specs import a_stream, seconds
from support.world import World

PAUSED = replace(DAG, is_paused=True)
MISSING = replace(DAG, is_present=False)

WAYS = [
    pytest.param(PAUSED, True, FindingKind.PAUSED_DAG, id="its DAG is paused, and its trigger watches"),
    pytest.param(MISSING, True, FindingKind.MISSING_DAG, id="its DAG is gone, and its trigger watches"),
    pytest.param(PAUSED, False, FindingKind.UNATTENDED, id="its DAG is paused, and nobody watches"),
    pytest.param(MISSING, False, FindingKind.UNATTENDED, id="its DAG is gone, and nobody watches"),
    pytest.param(
        replace(DAG, living_runs=1, is_deferred=True), False, FindingKind.UNATTENDED, id="B78 the triggerer is dead"
    ),
    pytest.param(replace(DAG, living_runs=0), False, FindingKind.UNATTENDED, id="its runs were deleted"),
    pytest.param(None, False, FindingKind.UNATTENDED, id="Airflow does not answer"),
]


@pytest.fixture
def place(tmp_path):
    place = Place(World(tmp_path))
    place.world.supervisor().settle()
    place.world.run(seconds(20))
    return place


def left_by_supervisors(place: Place, *, is_watched: bool) -> None:
    """The driver runs on."""
    place.world.run(LONG)
    if is_watched:
        place.sign()


@pytest.mark.parametrize(("task", "is_watched", "kind"), WAYS)
def test_an_unsupervised_stream_is_critical(place, task, is_watched, kind):
    place.airflow.task = task
    left_by_supervisors(place, is_watched=is_watched)

    found = place.the_finding(act=True)

    assert (found.kind, found.severity, found.is_repaired) == (kind, ReconcileSeverity.CRITICAL, False)


@pytest.mark.parametrize(("task", "is_watched", "kind"), WAYS)
def test_a_reconciler_that_can_not_ask_airflow_finds_it_too(place, task, is_watched, kind):
    """Somebody at a terminal, while the DAG of the reconciler runs every minute."""
    place.airflow.task = task
    left_by_supervisors(place, is_watched=is_watched)
    place.reconcile(act=True)
    place.airflow = None

    for act in (False, True, True):
        found = place.the_finding(act=act)
        assert (found.kind, found.severity) == (kind, ReconcileSeverity.CRITICAL)
        assert not found.is_new, "it has been told before"


def test_the_word_of_airflow_is_not_believed_for_long(place):
    place.airflow.task = PAUSED
    left_by_supervisors(place, is_watched=True)
    place.reconcile(act=True)
    place.airflow = None
    place.world.run(TOLD_FOR + seconds(5))
    place.sign()

    assert place.kinds() == []


def test_a_dag_that_runs_again_is_no_finding_any_more(place):
    place.airflow.task = PAUSED
    left_by_supervisors(place, is_watched=True)
    place.reconcile(act=True)
    place.airflow.task = DAG
    place.reconcile(act=True)
    place.airflow = None

    assert place.kinds() == []


def test_nothing_is_started_on_a_word_that_was_given_before(place):
    """It tells of DAGs that keep nothing running; that one could run is for Airflow to say now."""
    place.airflow.task = replace(DAG, living_runs=0)
    left_by_supervisors(place, is_watched=True)
    place.world.run(LONG)
    place.reconcile(act=True)
    place.airflow = None
    place.world.kill(place.world.driver)

    place.reconcile(act=True)

    assert place.world.alive == []
    assert place.record_kinds[-1] == "driver_ended"


def test_one_bad_declaration_hides_no_other_stream(place):
    """The bad one runs, is shown, and is critical, as nobody could start it again."""
    place.specs = (a_stream("clicks", checkpoint="file:///data/checkpoints/clicks"),)
    place.wrong = (("orders", "job: found nothing"),)
    place.world.run(LONG)

    found = {finding.stream: (finding.kind, finding.severity) for finding in place.reconcile().findings}

    assert found == {
        "orders": (FindingKind.WRONG_SETTINGS, ReconcileSeverity.CRITICAL),
        "clicks": (FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL),
    }


def test_the_first_reports_of_a_fresh_installation_leave_its_streams_the_time_to_begin(place):
    """Its settings file may be as old as the clone."""
    place.specs = (a_stream("clicks", checkpoint="file:///data/checkpoints/clicks"),)
    place.changed_at = place.world.clock.now() - timedelta(days=30)

    def of_clicks() -> list[ReconcileSeverity]:
        return [finding.severity for finding in place.reconcile(act=True).findings if finding.stream == "clicks"]

    assert of_clicks() == []
    place.world.clock.advance(timedelta(minutes=4))
    assert of_clicks() == []
    place.world.clock.advance(timedelta(minutes=2))
    assert of_clicks() == [ReconcileSeverity.CRITICAL]
