"""Whether what is said of a stream in five places fits together: `status`, `reconcile`, `plan`, the list of DAGs, the next step.

Pure. A sample taken while something changes proves nothing, so a contradiction counts only once it has stood in two neighbouring
samples, and for longer than its rule allows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from streamops.status import AS_WANTED, ATTENTION, GETTING_ON, Phase
from streamops.supervision.decision import Action

A_MINUTE = timedelta(seconds=60)
"""What the list of DAGs may be late by."""
ONE_ROUND = timedelta(minutes=8)
"""What a verdict on a living stream may be old: one and a half rounds of five minutes."""


class Word(IntEnum):
    """An answer as its exit code tells it."""

    FINE = 0
    WARNING = 3
    ILL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSample:
    """What was said of one stream at one moment."""

    stream: str
    at: datetime
    status: Word
    phase: Phase
    reconcile: Word
    """The worst finding about this stream."""
    plan: Word
    """FINE where a supervisor would start it, ILL where it would refuse."""
    next_step: Action
    """What a supervisor would do now, by a look of its own."""
    planned_step: Action
    """The same as `plan` tells it."""
    list_state: str
    """State of the newest run of its DAG; empty where there is none."""
    is_paused: bool = False
    waits_for: str = ""
    """What does not answer the stream, by that look; empty where nothing is waited for."""


Contradicts = Callable[[StreamSample], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRule:
    """Two answers that can't both be true for longer than `allowed`."""

    name: str
    allowed: timedelta
    contradicts: Contradicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """One that stood for too long."""

    rule: str
    stream: str
    first: StreamSample
    last: StreamSample

    @property
    def lasted(self) -> timedelta:
        return self.last.at - self.first.at


_REFUSING = frozenset({Action.PARK, Action.PARKED, Action.BLOCKED})
_STARTING = frozenset({Action.CLAIM, Action.SUBMIT})
_LIVING_RUN = frozenset({"queued", "running"})
_AT_ONCE = timedelta(0)


def _is_started_against_the_plan(sample: StreamSample) -> bool:
    """The plan says that a supervisor refuses, and its next step is a start."""
    return sample.plan is Word.ILL and sample.next_step in _STARTING


def _is_refused_against_the_plan(sample: StreamSample) -> bool:
    """The plan says that a supervisor starts it, and its next step is to park it."""
    return sample.plan is Word.FINE and sample.next_step in _REFUSING


def _plan_tells_another_step(sample: StreamSample) -> bool:
    """The plan's own word on the next step is not what a supervisor sees."""
    return sample.planned_step is not sample.next_step


def _is_healthy_and_refused(sample: StreamSample) -> bool:
    """Status says that all is well, and the next step is to park it."""
    return sample.status is Word.FINE and sample.next_step in _REFUSING


def _is_healthy_and_waits(sample: StreamSample) -> bool:
    """Status says that all is well, and what the stream reads or writes does not answer."""
    return sample.status is Word.FINE and bool(sample.waits_for)


def _is_healthy_and_cannot_start(sample: StreamSample) -> bool:
    """No driver lives and a start would be refused, and status says that all is well."""
    return sample.status is Word.FINE and sample.plan is Word.ILL and sample.phase not in GETTING_ON


def _runs_on_what_could_not_be_started(sample: StreamSample) -> bool:
    """A driver lives whose checkpoint no start would accept, and status knows nothing of it after a round."""
    return sample.status is Word.FINE and sample.plan is Word.ILL and sample.phase in GETTING_ON


def _is_ill_in_status_alone(sample: StreamSample) -> bool:
    """One judgement, read twice: what needs a person in status is a finding."""
    return sample.status is Word.ILL and sample.reconcile is Word.FINE


def _is_ill_in_reconcile_alone(sample: StreamSample) -> bool:
    """One judgement, read twice: a critical finding is no stream that does well."""
    return sample.status is Word.FINE and sample.reconcile is Word.ILL


def _runs_in_the_list_alone(sample: StreamSample) -> bool:
    """The list shows it at work, and it stands still until somebody acts."""
    stands = sample.phase in ATTENTION or sample.phase is Phase.STOPPED
    return sample.list_state in _LIVING_RUN and stands


def _waits_behind_a_running_list(sample: StreamSample) -> bool:
    """The list shows it at work, and no driver lives."""
    return sample.list_state in _LIVING_RUN and sample.phase is Phase.WAITING


def _is_red_in_the_list_alone(sample: StreamSample) -> bool:
    """The list shows a failure, and all is as it should be."""
    return sample.list_state == "failed" and sample.status is Word.FINE and sample.phase in AS_WANTED


def _has_ended_in_the_list_alone(sample: StreamSample) -> bool:
    """The list shows that it was stopped, and its driver runs."""
    return sample.list_state == "success" and sample.phase is Phase.RUNNING


RULES = (
    AgreementRule(name="started-against-the-plan", allowed=_AT_ONCE, contradicts=_is_started_against_the_plan),
    AgreementRule(name="refused-against-the-plan", allowed=_AT_ONCE, contradicts=_is_refused_against_the_plan),
    AgreementRule(name="plan-tells-another-step", allowed=_AT_ONCE, contradicts=_plan_tells_another_step),
    AgreementRule(name="healthy-and-refused", allowed=_AT_ONCE, contradicts=_is_healthy_and_refused),
    AgreementRule(name="healthy-and-waits", allowed=_AT_ONCE, contradicts=_is_healthy_and_waits),
    AgreementRule(name="healthy-and-cannot-start", allowed=_AT_ONCE, contradicts=_is_healthy_and_cannot_start),
    AgreementRule(name="runs-on-a-ruin", allowed=ONE_ROUND, contradicts=_runs_on_what_could_not_be_started),
    AgreementRule(name="ill-in-status-alone", allowed=_AT_ONCE, contradicts=_is_ill_in_status_alone),
    AgreementRule(name="ill-in-reconcile-alone", allowed=_AT_ONCE, contradicts=_is_ill_in_reconcile_alone),
    AgreementRule(name="runs-in-the-list-alone", allowed=A_MINUTE, contradicts=_runs_in_the_list_alone),
    AgreementRule(name="waits-behind-a-running-list", allowed=A_MINUTE, contradicts=_waits_behind_a_running_list),
    AgreementRule(name="red-in-the-list-alone", allowed=A_MINUTE, contradicts=_is_red_in_the_list_alone),
    AgreementRule(name="ended-in-the-list-alone", allowed=A_MINUTE, contradicts=_has_ended_in_the_list_alone),
)
"""A place that is read at once is allowed nothing; the list is a minute late at most, a verdict on a living stream a round."""


def contradictions(samples: Sequence[StreamSample]) -> tuple[Contradiction, ...]:
    """What stood for longer than its rule allows, each run of neighbouring samples once; samples of all streams, oldest first."""
    found: list[Contradiction] = []
    for stream in dict.fromkeys(sample.stream for sample in samples):
        own = [sample for sample in samples if sample.stream == stream]
        for rule in RULES:
            found += (
                Contradiction(rule=rule.name, stream=stream, first=run[0], last=run[-1])
                for run in _runs(own, rule.contradicts)
                if len(run) > 1 and run[-1].at - run[0].at > rule.allowed
            )
    return tuple(found)


def _runs(samples: Sequence[StreamSample], contradicts: Contradicts) -> list[list[StreamSample]]:
    """Neighbouring samples that contradict themselves."""
    runs: list[list[StreamSample]] = [[]]
    for sample in samples:
        if contradicts(sample):
            runs[-1].append(sample)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
