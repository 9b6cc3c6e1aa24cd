"""From facts to findings: one table, in order. Pure.

A supervisor looks after one stream. The reconciler asks who looks after the supervisors, and finds what belongs to
nobody: drivers that the log disowns, streams that no task watches.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from streamops.backfill.status import BackfillStatus, is_left_alone, standing_of
from streamops.control.attendance import UNATTENDED_AFTER
from streamops.operations.act_effects import unsafe_start_text
from streamops.reconcile.attendance import DriverFault, fault_of, named, supervision
from streamops.reconcile.facts import DeclarationState, FleetFacts, StreamFacts
from streamops.reconcile.finding import FindingKind, ReconcileFinding, ReconcileRemedy, ReconcileSeverity, finding_of
from streamops.supervision.cli_hints import resume_command
from streamops.supervision.decision import Action
from streamops.verdict import Verdict

log = logging.getLogger(__name__)

LEFT_BACKFILL_GRACE = timedelta(minutes=5)
"""Longer than whoever supervises one takes between a driver's end and the next one's start."""
NEW_STREAM_GRACE = timedelta(minutes=5)
"""After a change of the settings: Airflow parses a DAG file every 30 s or less often, and then begins a run."""


def reconcile(facts: FleetFacts, now: datetime) -> tuple[ReconcileFinding, ...]:
    """All findings, the worst first, then by stream."""
    found = [_unread(trouble) for trouble in facts.troubles]
    found += [_broken_settings(facts)] if facts.settings_faults else []
    found += [_stray(facts)] if facts.strays else []
    first_seen = dict(facts.first_seen)
    for stream in facts.streams:
        ages = (facts.settings_age, now - first_seen[stream.stream] if stream.stream in first_seen else None)
        found += _judged(stream, now, is_new=_is_new(stream, ages))
    return tuple(sorted(found, key=lambda finding: (-finding.severity, finding.stream, finding.kind)))


def _judged(facts: StreamFacts, now: datetime, *, is_new: bool) -> tuple[ReconcileFinding, ...]:
    """A mistake of ours about one stream leaves the judgement of the others alone, and is told."""
    try:
        return tuple(_judge(facts, now, is_new=is_new))
    except Exception as error:
        log.exception("stream=%s can't be judged", facts.stream)
        return (_untold(facts, f"it can't be judged: {type(error).__name__}: {error}"),)


def _judge(facts: StreamFacts, now: datetime, *, is_new: bool) -> Iterator[ReconcileFinding]:
    """The findings of one stream.

    Nothing is said about a log that can't be read, nor by a stream about another one's. Then what endangers data,
    whatever is declared: a second driver, and one that the log disowns. What remains depends on the declaration. A
    standstill that waits for a person is told once: nobody need watch it, so nobody is missed there.
    """
    if facts.trouble:
        yield _untold(facts, facts.trouble)
        return
    if _belongs_elsewhere(facts):
        yield _blocked(facts, f"the control log of {facts.checkpoint} belongs to stream {facts.state.stream}")
        return
    yield from _second_drivers(facts, now)
    yield from _left_backfills(facts, now)
    if facts.declaration is DeclarationState.GONE:
        yield from _left_settings(facts, now)
        return
    if facts.declaration is DeclarationState.WRONG:
        yield from _wrong_settings(facts, now)
        return
    if facts.problems:
        yield _goes_on_as_before(facts)
    yield from _verdicts(facts)
    yield from _unsafe_starts(facts)
    if facts.state.parked:
        yield _parked(facts, facts.state.parked.reason)
    elif facts.decision and facts.decision.action is Action.BLOCKED:
        yield _blocked(facts, facts.decision.reason)
    else:
        yield from supervision(facts, now, is_new=is_new)


# Drivers


def _second_drivers(facts: StreamFacts, now: datetime) -> Iterator[ReconcileFinding]:
    """Two live epochs are told at once and as one finding; a single driver that the log disowns as an orphan.

    Never is the second a passing state: an epoch is submitted only when every older driver is proven gone. A single
    superseded one may be, while its supervisor is at it.
    """
    disowned = tuple((driver, fault) for driver in facts.living if (fault := fault_of(driver, facts.state)))
    killable = tuple(driver for driver, fault in disowned if fault.is_killable)
    remedy = ReconcileRemedy.KILL_ORPHANS if killable else ReconcileRemedy.NONE
    evidence = "; ".join(f"{named(driver)} {fault.value}" for driver, fault in disowned)
    if len(facts.live_epochs) > 1:
        epochs = ", ".join(map(str, facts.live_epochs))
        yield finding_of(
            facts,
            FindingKind.TWO_LIVE_EPOCHS,
            ReconcileSeverity.CRITICAL,
            evidence=f"drivers of epochs {epochs} live" + (f": {evidence}" if evidence else ""),
            meaning=f"two drivers on checkpoint {facts.checkpoint}: rows may be lost or doubled until one is gone",
            repair="kill every driver but the newest epoch's, then compare source and sink from the older one's last batch",
            remedy=remedy,
            drivers=killable,
        )
    elif disowned and not _is_being_replaced(facts, now):
        yield finding_of(
            facts,
            FindingKind.ORPHAN_DRIVER,
            ReconcileSeverity.CRITICAL,
            evidence=evidence,
            meaning=f"a driver runs on checkpoint {facts.checkpoint} that may not, and nobody looks after it",
            repair=_repair_of_orphans(facts, {fault for _, fault in disowned}),
            remedy=remedy,
            drivers=killable,
        )


def _is_being_replaced(facts: StreamFacts, now: datetime) -> bool:
    """Whether a supervisor has claimed the next epoch a moment ago and is about to kill the driver before."""
    newest = facts.newest
    faults = {fault_of(driver, facts.state) for driver in facts.living}
    if newest is None or not facts.is_attended(now) or faults != {DriverFault.SUPERSEDED}:
        return False
    return now - newest.claimed.at <= UNATTENDED_AFTER


def _repair_of_orphans(facts: StreamFacts, faults: set[DriverFault]) -> str:
    if all(fault.is_killable for fault in faults):
        return "kill it: `streamops reconcile --act` does, after it has read the log again"
    if DriverFault.NO_LOG in faults or DriverFault.AHEAD in faults:
        return (
            f"the log of {facts.checkpoint} was deleted or an older copy was put back: restore it; where that can't be"
            f" done, kill the driver, then `streamops adopt {facts.stream} --reason …`"
        )
    return "find out who started it; kill it by hand when it is nobody's"


def _stray(facts: FleetFacts) -> ReconcileFinding:
    return ReconcileFinding(
        kind=FindingKind.ORPHAN_DRIVER,
        severity=ReconcileSeverity.WARNING,
        stream="",
        evidence="; ".join(f"{named(driver)} with {driver.control}, which holds no log" for driver in facts.strays),
        meaning="a driver should have halted by itself when its control log went, and no stream of these settings owns it",
        repair="find out whose it is; kill it by hand when it is nobody's",
    )


def _is_new(facts: StreamFacts, ages: Iterable[timedelta | None]) -> bool:
    """Declared or seen first a moment ago, and not begun: nobody can be expected there yet."""
    return not facts.is_begun and any(age is not None and age <= NEW_STREAM_GRACE for age in ages)


# Backfills


def _left_backfills(facts: StreamFacts, now: datetime) -> Iterator[ReconcileFinding]:
    """One finding for all of a stream: each is to run, has no living driver for a while, and nobody signs for it."""
    left = [
        standing_of(one, now=now)
        for one in facts.backfills
        if is_left_alone(one, now=now, patience=LEFT_BACKFILL_GRACE)
    ]
    if not left:
        return
    commands = " or ".join(f"`{resume_command(one.stream, one.id)}`" for one in left)
    yield finding_of(
        facts,
        FindingKind.LEFT_BACKFILL,
        ReconcileSeverity.WARNING,
        evidence="; ".join(one.line for one in left),
        meaning=f"nobody carries on {_named(left)} of {facts.stream}",
        repair=f"{commands}; one that is not wanted any more is ended by `streamops backfill {facts.stream} --stop ID`",
    )


def _named(left: Sequence[BackfillStatus]) -> str:
    """`backfill march`, `backfills april and march`"""
    return f"backfill{'s' if len(left) > 1 else ''} {' and '.join(one.id for one in left)}"


# Declarations


def _broken_settings(facts: FleetFacts) -> ReconcileFinding:
    return ReconcileFinding(
        kind=FindingKind.WRONG_SETTINGS,
        severity=ReconcileSeverity.WARNING,
        stream="",
        evidence="; ".join(facts.settings_faults),
        meaning="all streams go on as they were declared last, and no change of the file counts",
        repair="mend the file",
    )


def _goes_on_as_before(facts: StreamFacts) -> ReconcileFinding:
    """Its last good declaration counts. To leave the settings without a stop is a mistake or half of an act: a person says
    which."""
    return finding_of(
        facts,
        FindingKind.LEFT_SETTINGS if facts.has_left else FindingKind.WRONG_SETTINGS,
        ReconcileSeverity.CRITICAL if facts.has_left else ReconcileSeverity.WARNING,
        evidence="; ".join(facts.problems),
        meaning="it is supervised as it was declared last",
        repair=f"put it back into the file, or `streamops stop {facts.stream} --reason …`"
        if facts.has_left
        else "mend its declaration",
    )


def _left_settings(facts: StreamFacts, now: datetime) -> Iterator[ReconcileFinding]:
    """It runs as it was declared once. One that has ended is nobody's business any more."""
    if not facts.live_epochs and not facts.is_unseen:
        return
    is_attended = facts.is_attended(now)
    severity = ReconcileSeverity.WARNING if is_attended else ReconcileSeverity.CRITICAL
    runs = f"epoch {facts.live_epochs[-1]} runs" if facts.live_epochs else "its driver may run elsewhere"
    yield finding_of(
        facts,
        FindingKind.LEFT_SETTINGS,
        severity if facts.live_epochs else ReconcileSeverity.UNKNOWN,
        evidence=f"no declaration names {facts.checkpoint} any more, and {runs}",
        meaning="somebody still watches it, but will not go on"
        if is_attended
        else "nobody restarts, stops or watches it",
        repair=f"declare it again; when it is to end, `streamops stop {facts.stream} --reason … --wait` before it leaves",
    )


def _wrong_settings(facts: StreamFacts, now: datetime) -> Iterator[ReconcileFinding]:
    """A mistake in the settings must not disarm what runs: whoever watches it already goes on, and starts it again as it
    was declared before. Who has not done so for a while won't."""
    was_started = facts.newest is not None
    is_restarted = facts.is_attended(now) and not facts.has_fallen(now)
    needs_eyes = was_started and (facts.is_meant_to_run or bool(facts.live_epochs))
    if facts.live_epochs:
        meaning = "it runs as it was declared before" + (
            " and is watched" if is_restarted else "; when it ends, nobody restarts it"
        )
    else:
        meaning = "nobody can start it" if facts.is_meant_to_run else "it stands still, and could not be started"
    yield finding_of(
        facts,
        FindingKind.WRONG_SETTINGS,
        ReconcileSeverity.CRITICAL if needs_eyes and not is_restarted else ReconcileSeverity.WARNING,
        evidence="; ".join(facts.problems),
        meaning=meaning,
        repair="mend its declaration",
    )


def _belongs_elsewhere(facts: StreamFacts) -> bool:
    owner = facts.state.stream
    return facts.declaration is DeclarationState.VALID and bool(owner) and owner != facts.stream


def _verdicts(facts: StreamFacts) -> Iterator[ReconcileFinding]:
    """What `status` tells as well: a checkpoint or a topic that is not well, whatever the driver does for now."""
    judged = (
        (FindingKind.CHECKPOINT, facts.verdicts.checkpoint, "check", "a start of it may fail, lose or repeat"),
        (FindingKind.RETENTION, facts.verdicts.retention, "lag", "what it has yet to read is deleted, or soon will be"),
    )
    for kind, verdict, command, meaning in judged:
        if verdict is None or verdict.verdict is Verdict.OK:
            continue
        is_critical = verdict.verdict is Verdict.CRITICAL
        yield finding_of(
            facts,
            kind,
            ReconcileSeverity.CRITICAL if is_critical else ReconcileSeverity.WARNING,
            evidence=f"{verdict.reason} ({verdict.verdict} at {verdict.at:%Y-%m-%d %H:%M:%S} UTC)",
            meaning="it can't be told" if verdict.verdict is Verdict.UNKNOWN else meaning,
            repair=f"`streamops {command} {facts.stream}` tells the rest, and what to do",
        )


def _unsafe_starts(facts: StreamFacts) -> Iterator[ReconcileFinding]:
    unsafe = facts.state.unsafe_starts
    if not unsafe:
        return
    yield finding_of(
        facts,
        FindingKind.UNSAFE_START,
        ReconcileSeverity.WARNING,
        evidence="; ".join(map(unsafe_start_text, unsafe)),
        meaning="records were lost or repeated by a person's word",
        repair=f"once whoever needs the data knows, `streamops acknowledge {facts.stream} --reason …`",
    )


def _parked(facts: StreamFacts, reason: str) -> ReconcileFinding:
    return finding_of(
        facts,
        FindingKind.PARKED,
        ReconcileSeverity.CRITICAL,
        evidence=reason,
        meaning="it stands still until a person releases it",
        repair=f"mend the cause, then `streamops release {facts.stream} --reason …`",
    )


def _blocked(facts: StreamFacts, reason: str) -> ReconcileFinding:
    return finding_of(
        facts,
        FindingKind.BLOCKED,
        ReconcileSeverity.CRITICAL,
        evidence=reason,
        meaning="it may not start on this checkpoint",
        repair="do what the evidence says",
    )


def _untold(facts: StreamFacts, trouble: str) -> ReconcileFinding:
    return finding_of(
        facts,
        FindingKind.UNREADABLE,
        ReconcileSeverity.UNKNOWN,
        evidence=trouble,
        meaning="what becomes of it can't be told from here",
        repair=f"mend the cause, then `streamops status {facts.stream}`",
    )


def _unread(trouble: str) -> ReconcileFinding:
    return ReconcileFinding(
        kind=FindingKind.UNREADABLE,
        severity=ReconcileSeverity.UNKNOWN,
        stream="",
        evidence=trouble,
        meaning="what depends on it is missing from this report",
        repair="mend the cause",
    )
