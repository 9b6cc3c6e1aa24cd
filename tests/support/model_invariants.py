"""What must be true of a control log and of the drivers beside it, whatever happened. Each says why on failing."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from streamops.control.fold import FAILURES, fold
from streamops.control.records import (
    Adopted,
    Claimed,
    ClaimMode,
    DriverEnded,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
    Submitted,
)
from streamops.control.state import LogState
from streamops.failures.policy import RestartPolicy
from support.driver import SimulatedDriver
from support.specs import PERSON

HOUR = timedelta(hours=1)


def assert_log_is_sound(records: Sequence[Record]) -> None:
    """All of them. Adoptions aside, which begin anew."""
    assert fold(records).contradictions == 0
    assert_epochs_are_dense_and_submitted_once(records)
    assert_nothing_starts_during_a_standstill(records)
    assert_a_submitted_driver_is_never_passed_over(records)
    assert_starts_go_on_where_the_log_left(records)
    assert_unsafe_is_accepted_for_one_start(records)
    assert_nobody_stops_unasked(records)


def assert_epochs_are_dense_and_submitted_once(records: Sequence[Record]) -> None:
    claims = [record.body for record in records if isinstance(record.body, Claimed)]
    submits = Counter(record.body.epoch for record in records if isinstance(record.body, Submitted))
    first = claims[0].epoch if claims else 1
    assert [claim.epoch for claim in claims] == list(range(first, first + len(claims)))
    assert len({claim.token for claim in claims}) == len(claims)
    assert not [epoch for epoch, count in submits.items() if count > 1]


def assert_nothing_starts_during_a_standstill(records: Sequence[Record]) -> None:
    """A stop, a maintenance, a parking: none of them is overtaken by a claim or a submit; but for the drivers of a run that
    was asked for, during that run."""
    standstill: dict[str, int] = {}
    run: ClaimMode | None = None
    modes: dict[int, ClaimMode] = {}
    for record in records:
        match record.body:
            case StopRequested():
                standstill["stop"] = record.number
            case StartRequested():
                standstill.pop("stop", None)
            case MaintenanceBegun():
                standstill["maintenance"] = record.number
                run = record.body.run
            case MaintenanceEnded():
                standstill.pop("maintenance", None)
                run = None
            case Parked():
                standstill["parked"] = record.number
            case Released() | Adopted():
                standstill.pop("parked", None)
            case Claimed() | Submitted():
                if isinstance(record.body, Claimed):
                    modes[record.body.epoch] = record.body.mode
                mode = modes[record.body.epoch]
                reasons = {what for what in standstill if what != "maintenance" or mode is not run}
                assert not reasons, f"{record.body.kind} {record.body.epoch} at {record.number} during {standstill}"


def assert_a_submitted_driver_is_never_passed_over(records: Sequence[Record]) -> None:
    """A claim comes after the proven end of the driver before it, unless nobody has put its submit on record."""
    state = LogState()
    for record in records:
        newest = state.newest
        if isinstance(record.body, Claimed) and newest:
            assert not (newest.is_open and newest.submission), f"epoch {record.body.epoch} passed a driver over"
        state = fold((record,), state)


def assert_starts_go_on_where_the_log_left(records: Sequence[Record]) -> None:
    """Nobody else has moved the checkpoint since our last driver, or a person has accepted that."""
    state = LogState()
    for record in records:
        body, known = record.body, state.position
        if isinstance(body, Claimed) and known and not state.open_epochs and not body.accepts_unsafe:
            assert (body.position.offset, body.position.commit) == (known.offset, known.commit)
        state = fold((record,), state)


def assert_unsafe_is_accepted_for_one_start(records: Sequence[Record]) -> None:
    """A person's word was given while nothing ran, and counts until a driver was there that made use of it."""
    accepted, state, carriers = False, LogState(), set[int]()
    for record in records:
        body, newest = record.body, state.newest
        match body:
            case Released():
                accepted = body.accepts_unsafe
                running = [epoch.number for epoch in state.open_epochs if epoch.submission]
                assert not (accepted and running), f"{record.number} accepts an unsafe start while {running} may run"
            case Claimed():
                # Behind a claim left open a driver may have been seen or not: the log does not tell.
                is_left_behind = newest is not None and newest.is_open
                assert body.accepts_unsafe == accepted or (is_left_behind and not body.accepts_unsafe)
                accepted = body.accepts_unsafe
                carriers |= {body.epoch} if accepted else set()
            case Submitted():
                accepted = False
            case DriverEnded() if newest and newest.number == body.epoch and body.epoch in carriers:
                was_there = body.outcome not in (Outcome.NEVER_STARTED, Outcome.LAUNCH_FAILED)
                accepted = accepted and not was_there
        state = fold((record,), state)


def assert_nobody_stops_unasked(records: Sequence[Record]) -> None:
    """A request is obeyed by the drivers that it was meant for, and by none that came after it."""
    claims = {record.body.epoch: record.number for record in records if isinstance(record.body, Claimed)}
    for record in records:
        if not isinstance(record.body, DriverEnded) or record.body.outcome is not Outcome.STOPPED:
            continue
        behind = records[claims[record.body.epoch] : record.number]
        askers = StopRequested | RestartRequested | MaintenanceBegun | MaintenanceEnded
        asked = [one for one in behind if isinstance(one.body, askers)]
        assert asked, f"epoch {record.body.epoch} stopped, and nobody had asked it to"


def assert_runs_are_drivers_of_runs(records: Sequence[Record], *, declared: ClaimMode | None) -> None:
    """Beside what is declared, which may be nothing, only what somebody has asked for is ever submitted.

    It is claimed where nothing was left open by an older claim: a claim that supersedes one ends unsubmitted.
    """
    run: ClaimMode | None = None
    state, modes = LogState(), dict[int, ClaimMode]()
    for record in records:
        match record.body:
            case MaintenanceBegun():
                run = record.body.run
            case MaintenanceEnded():
                run = None
            case Claimed():
                modes[record.body.epoch] = record.body.mode
                is_wanted = record.body.mode in (run, declared)
                assert is_wanted or state.open_epochs, f"epoch {record.body.epoch} is a {record.body.mode} unasked"
            case Submitted():
                mode = modes[record.body.epoch]
                assert mode in (run, declared), f"epoch {record.body.epoch}, submitted, is a {mode} unasked"
        state = fold((record,), state)


def assert_runs_end_for_a_reason(records: Sequence[Record]) -> None:
    """A run is given up only when its query has ended by itself, when its time is over, or when a person says so.

    By the clock of whoever gave it up: where clocks were set meanwhile this says nothing.
    """
    begun: Record | None = None
    state = LogState()
    for record in records:
        match record.body:
            case MaintenanceBegun():
                begun = record
            case MaintenanceEnded() if begun and isinstance(begun.body, MaintenanceBegun) and begun.body.run:
                newest = state.newest
                is_of_the_run = (
                    newest is not None and newest.record > begun.number and newest.claim.mode is begun.body.run
                )
                end = newest.end if newest and is_of_the_run else None
                has_finished = end is not None and end.outcome is Outcome.FINISHED
                is_over, is_wanted = record.at >= begun.body.until, record.by == PERSON
                assert has_finished or is_over or is_wanted, f"the run of {begun.number} was given up: {record.reason}"
        state = fold((record,), state)


def assert_ends_are_proven(
    state: LogState, drivers: Iterable[SimulatedDriver], *, misreported: Collection[str]
) -> None:
    """No driver may write whose end the log holds, and none that has found its claim even lives: neither a still beat nor a
    process list that could not have shown it ends it by itself. A manager that calls it gone while it does not beat is two
    signs, wrong ones though they may be."""
    ended = [driver for driver in drivers if driver.epoch not in {epoch.number for epoch in state.open_epochs}]
    writers = [driver.epoch for driver in ended if driver.may_write]
    assert not writers, f"epochs {writers} may write, and their end is on record"
    living = [driver for driver in ended if driver.is_alive and driver.has_begun]
    seen = [driver.epoch for driver in living if driver.process.handle.process not in misreported]
    assert not seen, f"epochs {seen} live, and their end is on record"


def assert_policy_allows_a_start(records: Sequence[Record], policy: RestartPolicy, *, now: timedelta) -> None:
    """At a submit: the failures since the last release are within budget and thrash limit. Counted anew, not asked for."""
    failures: list[Record] = []
    claimed_at: dict[int, int] = {}
    fruitless = 0
    for record in records:
        match record.body:
            case Released():
                failures, fruitless = [], 0
            case Claimed():
                claimed_at[record.body.epoch] = record.body.position.commit
            case DriverEnded() if record.body.outcome in FAILURES:
                failures.append(record)
                fruitless = 0 if record.body.position.commit > claimed_at[record.body.epoch] else fruitless + 1
    recent = [record for record in failures if now - timedelta(seconds=record.at.timestamp()) < HOUR]
    assert len(recent) <= policy.budget_per_hour, f"started after {len(recent)} failures within an hour"
    assert fruitless <= policy.thrash_limit, f"started after {fruitless} failures in a row without a committed batch"
