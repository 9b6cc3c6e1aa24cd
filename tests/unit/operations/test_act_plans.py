"""What a request will do, before it is made."""

from dataclasses import replace
from datetime import datetime

import pytest

from streamops.checkpoint.facts import BrokenFile, CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.attendance import Attendance
from streamops.control.records import (
    Body,
    MaintenanceBegun,
    Outcome,
    Parked,
    Position,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.control.state import LogState
from streamops.errors import ControlLogError, SettingsError
from streamops.launch import DriverState
from streamops.operations.act_plan import Act, ActPlan, ActTerms, AwaitedStart
from streamops.operations.act_plans import plan_release, plan_replacement, plan_start, plan_stop
from streamops.operations.snapshot import ActContext, Declaration, StreamSnapshot
from streamops.spec import StreamSpec
from streamops.spec.sinks import SinkGuarantee
from streamops.spec.wire import spec_text
from streamops.supervision.decide import decide
from streamops.supervision.preflight import StartFacts
from streamops.supervision.supervisor import Look
from support.checkpoints import QUERY_ID
from support.observations import NOW, a_beat, a_checkpoint, observed, planned, seen
from support.records import a_claim, a_record, a_state, a_submit, an_end
from support.specs import SUPERVISOR, a_stream

SPEC = a_stream()
RUNNING: tuple[Body, ...] = (a_claim(), a_submit())
AT_THREE = Position(query_id=QUERY_ID, offset=3, commit=3)


def a_sight(
    *bodies: Body,
    spec: StreamSpec = SPEC,
    driver: DriverState = DriverState.RUNNING,
    checkpoint: CheckpointFacts | None = None,
    conflicts: tuple[str, ...] = (),
    signed: bool = True,
    trouble: str = "",
    now: datetime = NOW,
) -> StreamSnapshot:
    """Everything that a plan of this moment rests on."""
    state = a_state(*bodies)
    facts = [_seen(state, epoch.number, driver) for epoch in state.open_epochs]
    found = checkpoint or a_checkpoint(query_id=None)
    observation = observed(state, *facts, checkpoint=found, conflicts=conflicts, now=now)
    attendance = Attendance(stream=spec.name, at=NOW, by=SUPERVISOR) if signed else None
    declaration = Declaration(
        spec=spec_text(spec), job_sha256="" if trouble else "0" * 64, library_version="0", trouble=trouble
    )
    return StreamSnapshot(
        look=Look(observation=observation, decision=decide(observation, spec, mine=frozenset())),
        around=ActContext(attendance=attendance, declaration=declaration),
        seen=planned(replace(observation, checkpoint=found), spec),
        start=StartFacts(checkpoints=(CheckpointSnapshot(facts=found),)),
    )


def _seen(state: LogState, epoch: int, driver: DriverState):  # type: ignore[no-untyped-def]
    submission = next(known for known in state.open_epochs if known.number == epoch).submission
    return seen(state, epoch, status=driver if submission else None, traces=(a_beat(epoch),) if submission else ())


def replacement(*bodies: Body, force: bool = False, spec: StreamSpec = SPEC, **changes: object) -> ActPlan:
    return plan_replacement(a_sight(*bodies, spec=spec, **changes), spec, reason="why", force=force)  # type: ignore[arg-type]


# Restart


@pytest.mark.parametrize(
    ("bodies", "force", "records", "epoch"),
    [
        pytest.param(RUNNING, False, ("restart_requested",), 2, id="a driver lives"),
        pytest.param((a_claim(),), False, ("restart_requested",), 2, id="one is about to be submitted"),
        pytest.param((*RUNNING, RestartRequested(epoch=1)), False, (), 2, id="asked for already"),
        pytest.param(
            (*RUNNING, RestartRequested(epoch=1)), True, ("restart_requested",), 2, id="asked for, and now by force"
        ),
        pytest.param((*RUNNING, RestartRequested(epoch=1, force=True)), True, (), 2, id="by force already"),
        pytest.param((*RUNNING, an_end(1)), False, (), 2, id="no driver lives: one comes by itself"),
        pytest.param((), False, (), 1, id="never started: one comes by itself"),
        pytest.param((*RUNNING, an_end(1), Parked()), False, ("released",), 2, id="parked: it is released"),
    ],
)
def test_a_restart_asks_for_what_is_missing(
    bodies: tuple[Body, ...], force: bool, records: tuple[str, ...], epoch: int
) -> None:
    plan = replacement(*bodies, force=force)

    assert (plan.act, plan.records, plan.is_needed) == (Act.RESTART, records, bool(records))
    assert plan.awaits == AwaitedStart(epoch=epoch)


@pytest.mark.parametrize(
    ("since_then", "records"),
    [
        pytest.param((), ("restart_requested",), id="it is skipped"),
        pytest.param((RestartRequested(epoch=1),), (), id="it is skipped already"),
        pytest.param((MaintenanceBegun(until=NOW),), (), id="during a maintenance nobody starts a driver"),
    ],
)
def test_a_restart_skips_the_wait_that_policy_sets(since_then: tuple[Body, ...], records: tuple[str, ...]) -> None:
    bodies = (*RUNNING, an_end(1, Outcome.FAILED), *since_then)

    plan = replacement(*bodies, now=a_record(Parked(), len(bodies)).at)

    assert (plan.records, plan.awaits) == (records, AwaitedStart(epoch=2))


def test_a_stopped_stream_is_for_start() -> None:
    with pytest.raises(ControlLogError, match="streamops start orders"):
        replacement(*RUNNING, StopRequested(epoch=1))


def test_a_blocked_stream_is_not_stopped_for_a_start_that_can_not_come() -> None:
    with pytest.raises(ControlLogError, match="is blocked, no driver can be started: orders: belongs to returns"):
        replacement(conflicts=("orders: belongs to returns",))


def test_a_job_that_can_not_be_read_refuses_a_restart() -> None:
    with pytest.raises(SettingsError, match="the job is gone"):
        replacement(*RUNNING, trouble="the job is gone")


@pytest.mark.parametrize(
    ("checkpoint", "why"),
    [
        pytest.param(
            CheckpointFacts(
                address="c",
                query_id="q",
                last_offset=4,
                last_commit=3,
                broken=(BrokenFile(file="offsets/3", reason="empty"),),
            ),
            "would be futile: offsets/3 can't be read",
            id="a file that Spark reads at the start",
        ),
        pytest.param(a_checkpoint(1), "would be unsafe: the control log has seen batch 3", id="put back from a backup"),
    ],
)
def test_the_last_driver_that_can_run_is_not_stopped_by_a_restart(checkpoint: CheckpointFacts, why: str) -> None:
    with pytest.raises(ControlLogError, match=why):
        replacement(a_claim(position=AT_THREE), a_submit(), checkpoint=checkpoint)


def test_a_batch_in_flight_holds_no_restart_up() -> None:
    plan = replacement(a_claim(position=AT_THREE), a_submit(), checkpoint=a_checkpoint(4, 3))

    assert plan.is_needed


@pytest.mark.parametrize(
    ("guarantee", "force", "warns"),
    [
        pytest.param(SinkGuarantee.IDEMPOTENT, True, False, id="a repeat does no harm"),
        pytest.param(SinkGuarantee.AT_LEAST_ONCE, True, False, id="a repeat is allowed"),
        pytest.param(SinkGuarantee.EXACTLY_ONCE_OR_NOTHING, True, True, id="a repeat would park it"),
        pytest.param(SinkGuarantee.EXACTLY_ONCE_OR_NOTHING, False, False, id="a graceful stop repeats nothing"),
    ],
)
def test_force_is_warned_of_where_a_repeat_parks_the_stream(guarantee: SinkGuarantee, force: bool, warns: bool) -> None:
    plan = replacement(*RUNNING, force=force, spec=a_stream(guarantee=guarantee))

    assert any("--accept-unsafe" in warning for warning in plan.warnings) == warns


# Nobody around


@pytest.mark.parametrize(
    ("plan", "consequence"),
    [
        pytest.param(replacement(*RUNNING, signed=False), "nothing starts another one", id="restart"),
        pytest.param(
            replacement(*RUNNING, an_end(1), Parked(), signed=False), "nothing starts it", id="of a parked one"
        ),
        pytest.param(plan_stop(a_sight(*RUNNING, signed=False), SPEC, reason="why"), "is not killed", id="stop"),
        pytest.param(
            plan_start(a_sight(StopRequested(epoch=0), signed=False), SPEC, reason="why"),
            "nothing starts it",
            id="start",
        ),
        pytest.param(
            plan_release(a_sight(*RUNNING, an_end(1), Parked(), signed=False), SPEC, reason="why"),
            "nothing starts it",
            id="release",
        ),
    ],
)
def test_where_nobody_supervises_every_plan_says_what_will_not_happen(plan: ActPlan, consequence: str) -> None:
    (warning,) = plan.warnings

    assert warning.startswith("nobody attends to it, nobody ever has: ")
    assert f"{consequence} until `streamops supervise` runs, or the DAG stream__orders" in warning


def test_a_stop_of_what_stands_still_needs_nobody() -> None:
    assert plan_stop(a_sight(*RUNNING, an_end(1), signed=False), SPEC, reason="why").warnings == ()


# Stop


@pytest.mark.parametrize(
    ("bodies", "force", "is_needed"),
    [
        pytest.param(RUNNING, False, True, id="it runs"),
        pytest.param((*RUNNING, StopRequested(epoch=1)), False, False, id="it is stopping"),
        pytest.param((*RUNNING, StopRequested(epoch=1)), True, True, id="it is stopping too slowly"),
        pytest.param((*RUNNING, StopRequested(epoch=1, force=True)), True, False, id="it is being killed"),
        pytest.param(
            (*RUNNING, StopRequested(epoch=1), an_end(1, Outcome.STOPPED)), True, False, id="nothing is left to force"
        ),
        pytest.param((*RUNNING, StopRequested(epoch=1), StartRequested()), False, True, id="it was started again"),
    ],
)
def test_a_stop_is_asked_for_once(bodies: tuple[Body, ...], force: bool, is_needed: bool) -> None:
    assert plan_stop(a_sight(*bodies), SPEC, reason="why", force=force).is_needed == is_needed


# What shows that it has come about


@pytest.mark.parametrize(
    ("plan", "awaits"),
    [
        pytest.param(
            plan_start(
                a_sight(*RUNNING, StopRequested(epoch=1), an_end(1, commit=3), checkpoint=a_checkpoint(3)),
                SPEC,
                reason="why",
            ),
            AwaitedStart(epoch=2, commit=3),
            id="a start: the next driver",
        ),
        pytest.param(
            plan_start(a_sight(*RUNNING, StopRequested(epoch=1), checkpoint=a_checkpoint(3)), SPEC, reason="why"),
            AwaitedStart(epoch=1, commit=3),
            id="a start while the driver has not stopped: it may go on, and only a newer batch counts",
        ),
        pytest.param(
            plan_release(a_sight(*RUNNING, an_end(1), Parked()), SPEC, reason="why"),
            AwaitedStart(epoch=2),
            id="a release",
        ),
        pytest.param(
            plan_release(a_sight(*RUNNING, an_end(1), Parked(), StopRequested(epoch=1)), SPEC, reason="why"),
            None,
            id="a release of what is stopped as well: no start follows",
        ),
        pytest.param(plan_stop(a_sight(*RUNNING), SPEC, reason="why"), None, id="a stop"),
    ],
)
def test_a_plan_knows_what_to_wait_for(plan: ActPlan, awaits: AwaitedStart | None) -> None:
    assert plan.awaits == awaits


def test_a_release_is_not_needed_twice() -> None:
    plan = plan_release(a_sight(*RUNNING, an_end(1), Parked(), Released()), SPEC, reason="why")

    assert not plan.is_needed


def test_a_release_after_which_the_supervisor_would_park_again_says_so_beforehand() -> None:
    """The checkpoint has moved since our driver ended: the supervisor takes that for a foreign writer, and so does the plan."""
    moved = a_checkpoint(5, 5)

    plain = plan_release(a_sight(*RUNNING, an_end(1, commit=3), Parked(), checkpoint=moved), SPEC, reason="why")
    accepted = plan_release(
        a_sight(*RUNNING, an_end(1, commit=3), Parked(), checkpoint=moved),
        SPEC,
        reason="why",
        terms=ActTerms(accepts_unsafe=True),
    )

    assert plain.effects[-1] == "a supervisor parks it again"
    assert "a foreign writer was here" in plain.effects[-2]
    assert "--accept-unsafe" in plain.effects[-2]
    assert accepted.effects[-1] == "a supervisor claims epoch 2 at its next look"


def test_a_driver_of_which_nothing_is_seen_is_not_promised_to_stop() -> None:
    (effect, *_) = plan_stop(a_sight(*RUNNING, driver=DriverState.UNKNOWN), SPEC, reason="why").effects

    assert "epoch 1 can't be seen from here" in effect
    assert "finishes its batch" not in effect


def test_the_plan_in_lines() -> None:
    plan = plan_stop(a_sight(*RUNNING, signed=False), SPEC, reason="why", force=True)
    lines = replace(plan, terms=ActTerms(force=True)).lines

    assert lines[:3] == ("stop orders, forced", "  because  why", "  records  stop_requested")
    assert [line.split()[0] for line in lines[3:]] == ["then", "then", "WARNING"]
