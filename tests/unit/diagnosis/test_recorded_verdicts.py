"""No false alarm on checkpoints that real Spark wrote, and each start foretold as that Spark then made it.

What each resumption did stands in `expected.json` beside the recording, see `tests/data/checkpoints/README.md`.
"""

import json

import pytest

from streamops.diagnosis.checkup import check
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import engine_of
from streamops.storage.local import LocalStorage
from streamops.verdict import Severity, Verdict
from support.recordings import recordings

ALL = recordings()
REFUSED_FOR_THEIR_SCHEMA = {"3.5.9/joined-hdfs", "3.5.9/joined-hdfs-killed", "3.5.9/joined-changelog"}
"""3.5 writes the key of a join down as never null, 4.2 plans it as nullable. Only the query tells, no checkpoint does."""


def each(chosen):
    return pytest.mark.parametrize("recording", [pytest.param(recording, id=str(recording)) for recording in chosen])


def checked(recording, **told):
    return check(LocalStorage(), recording.address, engine=recording.engine, **told)


def declared(recording):
    return {"is_sink_idempotent": True, "tracks_progress_async": recording.is_async}


@each(ALL)
def test_nothing_is_wrong_with_what_spark_left(recording):
    checkup = checked(recording, **declared(recording))

    assert [finding for finding in checkup.findings if finding.severity > Severity.NOTE] == []
    assert checkup.verdict is Verdict.OK


@each([recording for recording in ALL if not recording.is_async])
def test_nothing_is_wrong_where_nobody_has_declared_anything(recording):
    assert checked(recording).verdict is Verdict.OK


@each(ALL)
def test_the_start_goes_as_it_was_foretold(recording):
    resumed = recording.expected["resumed"]

    plan = checked(recording, **declared(recording)).restart

    assert plan.next_batch == resumed["batches"][0]["batch"]
    assert (plan.expected_error, resumed["error"]) == ("", "")
    assert resumed["id"] == recording.expected["id"]


@each([recording for recording in ALL if recording.pending_batch is not None])
def test_the_batch_in_flight_runs_again_with_the_range_that_was_foretold(recording):
    first = recording.expected["resumed"]["batches"][0]

    plan = checked(recording, **declared(recording)).restart

    assert plan.safety is Safety.SAFE_IF_IDEMPOTENT
    assert plan.reruns == (recording.pending_batch,) == (first["batch"],)
    foretold = [{"start": value(part.start), "end": value(part.end)} for part in plan.ranges]
    assert foretold == [{"start": source["start"], "end": source["end"]} for source in first["sources"]]


@each([recording for recording in ALL if recording.pending_batch is None and not recording.is_async])
def test_after_a_clean_end_nothing_runs_again(recording):
    plan = checked(recording, **declared(recording)).restart

    assert (plan.safety, plan.reruns) == (Safety.SAFE, ())
    assert plan.next_batch not in recording.expected["ran"]


@each([recording for recording in ALL if recording.is_async])
def test_holes_of_async_tracking_are_unknown_until_somebody_declares_it(recording):
    """Without async tracking a start on them fails, and a checkpoint does not tell how the next one is made."""
    checkup = checked(recording)

    has_hole = recording.expected["offsets"][-2] + 1 != recording.expected["offsets"][-1]
    assert (checkup.restart.safety is Safety.UNKNOWN) == has_hole
    assert (checkup.verdict is Verdict.UNKNOWN) == has_hole


@each(
    [
        recording
        for recording in ALL
        if "upgraded" in recording.expected and str(recording) not in REFUSED_FOR_THEIR_SCHEMA
    ]
)
def test_a_start_on_the_pinned_spark_goes_as_it_was_foretold(recording):
    """What an upgrade does to the checkpoint of an older Spark."""
    upgraded = recording.expected["upgraded"]
    ran = [batch["batch"] for batch in upgraded["batches"]]

    plan = check(LocalStorage(), recording.address, engine=engine_of(upgraded["spark"]), **declared(recording)).restart

    assert plan.next_batch == (ran[0] if ran else None)
    assert plan.expected_error in upgraded["error"]
    assert bool(plan.expected_error) == bool(upgraded["error"])


@each([recording for recording in ALL if str(recording) in REFUSED_FOR_THEIR_SCHEMA])
def test_that_an_upgrade_changes_the_schema_of_a_joins_state_is_not_foretold(recording):
    """A limit, held here so that it is known: the plan says that the start goes on, and 4.2.0 refuses the state."""
    upgraded = recording.expected["upgraded"]

    plan = check(LocalStorage(), recording.address, engine=engine_of(upgraded["spark"]), **declared(recording)).restart

    assert upgraded["error"].startswith("[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE]")
    assert upgraded["batches"] == []
    assert plan.expected_error == ""


def value(text):
    return None if text is None else json.loads(text)
