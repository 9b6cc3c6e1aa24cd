"""Is a driver that beats also getting on? Idle, at work, slow, and stuck, told apart by its beat and its progress.

A beat shows that a process lives. A query inside it may hang all the same: in a sink that never answers, in the planning of
a batch while the broker is gone (SPARK-28367, SPARK-32032), in a stop that waits for either. Durations come from the driver's
own clock, and they are never compared with another.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from streamops.control.drivers import DriverPhase, Heartbeat, QueryBeat, QueryStep
from streamops.liveness.pace import ENOUGH, RECENT, StallAction, StallPolicy, Window, in_words, window_of
from streamops.progress import ProgressHistory

QUICK = timedelta(minutes=1)
"""Shorter than this nothing is slow, nobody waits for executors, and no look at the queries is old."""


class LivenessKind(StrEnum):
    """What a driver's queries are at, in order: of several queries the last one counts."""

    IDLE = "idle"
    """Nothing to do, or nothing to do yet."""
    WORKING = "working"
    SLOW = "slow"
    """At a batch for longer than at any of the last ones; not long enough to call it stuck."""
    STARTING = "starting"
    UNKNOWN = "unknown"
    """The driver does not say, or what it says is old."""
    WAITING_FOR_EXECUTORS = "waiting-for-executors"
    """A batch can't run: the cluster gives the driver no executor. A restart would only put it at the end of the queue."""
    STUCK_IN_BATCH = "stuck-in-batch"
    STUCK_IN_PLANNING = "stuck-in-planning"
    """Before a batch: the job, the sources, or the offset log do not answer."""
    STUCK_IN_STOP = "stuck-in-stop"


_ORDER = tuple(LivenessKind)
_ADVICE_ORDER = (None, StallAction.REPORT, StallAction.RESTART)


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """One judgement."""

    kind: LivenessKind
    since: timedelta
    """How long it has been so, by the driver's own clock."""
    reason: str
    window: timedelta | None = None
    """After how long a person is told; None where time alone makes nothing worse."""
    advice: StallAction | None = None
    """What the policy asks for now; None for nothing. A driver stuck in its stop is only killed: what comes next was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPace:
    """What the declaration says of a stream's pace."""

    trigger_interval: timedelta
    """Zero where a batch follows the other at once: default trigger, available-now."""
    stop_grace: timedelta
    takeover: timedelta
    """A beat that stood still for so long tells of the past."""
    epoch_interval: timedelta | None = None
    """Of a continuous query: an epoch is due at each, with data or without. None for one of batches."""


def is_history_needed(heartbeat: Heartbeat, *, policy: StallPolicy) -> bool:
    """Whether progress can change the advice. Until then no window is over, and a supervisor of thousands saves the read."""
    floor = policy.window_floor.total_seconds()
    return heartbeat.phase is DriverPhase.RUNNING and any(query.step_seconds >= floor for query in heartbeat.queries)


def judge_liveness(
    heartbeat: Heartbeat,
    history: ProgressHistory,
    *,
    rhythm: StreamPace,
    policy: StallPolicy,
    stood_still: timedelta = timedelta(0),
) -> Liveness:
    """How a driver gets on. `stood_still`: how long the observer has seen this very beat.

    What was stuck when it beat last is stuck; anything better is not known of a beat that stands still: the rules for
    dead drivers are for that, and no duration is added to the driver's own.
    """
    judged = _judge_phase(heartbeat, history, rhythm=rhythm, policy=policy)
    if judged.advice or stood_still < rhythm.takeover:
        return judged
    reason = f"its beat has stood still for {in_words(stood_still)}; in it: {judged.reason}"
    return Liveness(kind=LivenessKind.UNKNOWN, since=stood_still, reason=reason)


def _judge_phase(beat: Heartbeat, history: ProgressHistory, *, rhythm: StreamPace, policy: StallPolicy) -> Liveness:
    since = timedelta(seconds=beat.phase_seconds)
    if beat.phase is DriverPhase.STARTING:
        return _starting(since, policy, "the driver has not started its query yet")
    if beat.phase in (DriverPhase.STOPPING, DriverPhase.ENDED):
        return _stopping(since, rhythm)
    if not beat.queries:
        reason = "its driver does not tell of its queries: it has just started them, or has an older streamops"
        return Liveness(kind=LivenessKind.UNKNOWN, since=since, reason=reason)
    judged = [_judge_query(_Sight.of(query, beat, history, rhythm, policy)) for query in beat.queries]
    looked_ago = timedelta(seconds=beat.report_age_seconds)
    if looked_ago >= QUICK:
        judged.append(_unanswered(looked_ago, beat, policy))
    return max(judged, key=lambda one: (_ADVICE_ORDER.index(one.advice), _ORDER.index(one.kind)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """One query with what it is judged by."""

    query: QueryBeat
    still: timedelta
    history: ProgressHistory
    has_executors: bool
    interval: timedelta
    epoch_interval: timedelta | None
    policy: StallPolicy

    @classmethod
    def of(
        cls, query: QueryBeat, beat: Heartbeat, history: ProgressHistory, rhythm: StreamPace, policy: StallPolicy
    ) -> "_Sight":
        return cls(
            query=query,
            still=query.still,
            history=history.of_query(query.query_id),
            has_executors=beat.executors != 0,
            interval=rhythm.trigger_interval,
            epoch_interval=rhythm.epoch_interval,
            policy=policy,
        )

    @property
    def name(self) -> str:
        return f"query {self.query.name or self.query.query_id}"

    def planning_window(self) -> Window:
        """Idle or not, a query plans in the same way, so idle triggers give the pace as well."""
        durations = self.history.planning_durations(last=RECENT)
        return window_of(durations, policy=self.policy, trigger_interval=self.interval)

    def batch_window(self) -> Window:
        """The first batch of a driver catches up, or runs one again that was interrupted: nothing before it compares."""
        durations = () if self.query.batch < 0 else self.history.batch_durations(last=RECENT)
        if self.epoch_interval is not None and not durations and self.query.batches >= ENOUGH:
            # It tells no progress, and needs none: its pace is declared.
            due = (self.epoch_interval,) * ENOUGH
            window = window_of(due, policy=self.policy, trigger_interval=self.epoch_interval)
            return replace(window, basis=f"an epoch is due every {in_words(self.epoch_interval)}")
        return window_of(durations, policy=self.policy, trigger_interval=self.interval)


def _judge_query(sight: _Sight) -> Liveness:
    match sight.query.step:
        case QueryStep.ENDED:
            return Liveness(kind=LivenessKind.IDLE, since=sight.still, reason=f"{sight.name} has ended by itself")
        case QueryStep.STARTING:
            return _starting(sight.still, sight.policy, f"{sight.name}: {sight.query.message}")
        case QueryStep.WAITING:
            return _waiting(sight)
        case QueryStep.PLANNING:
            return _planning(sight)
        case QueryStep.BATCH:
            return _in_batch(sight)


def _starting(since: timedelta, policy: StallPolicy, reason: str) -> Liveness:
    """A start may read tables and state of any size: it is reported when it takes very long, and goes on."""
    is_over = since >= policy.first_batch
    return Liveness(
        kind=LivenessKind.STUCK_IN_PLANNING if is_over else LivenessKind.STARTING,
        since=since,
        reason=f"{reason}, for {in_words(since)}",
        window=policy.first_batch,
        advice=StallAction.REPORT if is_over else None,
    )


def _stopping(since: timedelta, rhythm: StreamPace) -> Liveness:
    """A stop has its grace, whoever asked for it; what is over it is ended by force, whatever the policy on stalls says."""
    is_over = since >= rhythm.stop_grace
    return Liveness(
        kind=LivenessKind.STUCK_IN_STOP if is_over else LivenessKind.WORKING,
        since=since,
        reason=f"it has been stopping for {in_words(since)}, its grace is {in_words(rhythm.stop_grace)}",
        window=rhythm.stop_grace,
        advice=StallAction.RESTART if is_over else None,
    )


def _unanswered(looked_ago: timedelta, beat: Heartbeat, policy: StallPolicy) -> Liveness:
    """The driver asks its queries twice a second: where they do not answer, the JVM hangs, and a stop would not be heard."""
    is_over = looked_ago >= policy.window_floor
    in_batch = any(query.step is QueryStep.BATCH for query in beat.queries)
    stuck = LivenessKind.STUCK_IN_BATCH if in_batch else LivenessKind.STUCK_IN_PLANNING
    window = Window(report=policy.window_floor, restart=policy.restart_floor, basis="it is asked twice a second")
    return Liveness(
        kind=stuck if is_over else LivenessKind.UNKNOWN,
        since=looked_ago,
        reason=f"Spark has not answered its driver for {in_words(looked_ago)} ({window.basis})",
        window=window.report,
        advice=_advice(looked_ago, window, policy),
    )


def _waiting(sight: _Sight) -> Liveness:
    """Between two triggers a query may wait for ever, unless it left records behind and its next trigger does not come."""
    newest, overdue, window = sight.history.newest, sight.still - sight.interval, sight.planning_window()
    if newest is None or not newest.has_backlog or overdue < window.report:
        reason = f"{sight.name} waits: {sight.query.message}"
        return Liveness(kind=LivenessKind.IDLE, since=sight.still, reason=reason)
    return Liveness(
        kind=LivenessKind.STUCK_IN_PLANNING,
        since=overdue,
        reason=f"{sight.name} left records behind, and its next trigger is {in_words(overdue)} late",
        window=window.report,
        advice=_advice(overdue, window, sight.policy),
    )


def _planning(sight: _Sight) -> Liveness:
    window = sight.planning_window()
    reason = f"{sight.name} has been planning for {in_words(sight.still)}: {sight.query.message}"
    if not sight.has_executors:
        # Some sources plan by jobs of Spark's, so that it may be executors that it waits for: no restart brings them.
        window = replace(window, restart=None)
        reason += ", without any executor"
    return Liveness(
        kind=LivenessKind.STUCK_IN_PLANNING if sight.still >= window.report else LivenessKind.WORKING,
        since=sight.still,
        reason=f"{reason} ({window.basis})",
        window=window.report,
        advice=_advice(sight.still, window, sight.policy),
    )


def _in_batch(sight: _Sight) -> Liveness:
    batch, window = sight.query.batch, sight.batch_window()
    which = f"the batch after {batch}" if batch >= 0 else "its first batch"
    reason = f"{sight.name} has been at {which} for {in_words(sight.still)}"
    if not sight.has_executors and sight.still >= QUICK:
        return Liveness(
            kind=LivenessKind.WAITING_FOR_EXECUTORS,
            since=sight.still,
            reason=f"{reason}, without any executor",
            window=sight.policy.window_floor,
            advice=StallAction.REPORT if sight.still >= sight.policy.window_floor else None,
        )
    return Liveness(
        kind=_kind_of_batch(sight, window),
        since=sight.still,
        reason=f"{reason} ({window.basis})",
        window=window.report,
        advice=_advice(sight.still, window, sight.policy),
    )


def _kind_of_batch(sight: _Sight, window: Window) -> LivenessKind:
    if sight.still >= window.report:
        return LivenessKind.STUCK_IN_BATCH
    lately = sight.history.batch_durations(last=RECENT)
    is_slow = window.is_from_pace and sight.still > max(QUICK, sight.interval, *lately)
    return LivenessKind.SLOW if is_slow else LivenessKind.WORKING


def _advice(still: timedelta, window: Window, policy: StallPolicy) -> StallAction | None:
    """A person is told before anything is done."""
    if still < window.report:
        return None
    is_due = window.restart is not None and still >= window.restart
    return StallAction.RESTART if is_due and policy.action is StallAction.RESTART else StallAction.REPORT
