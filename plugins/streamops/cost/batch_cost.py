"""What the last batches of a query cost, by the eight steps of a micro-batch. Pure.

Source: MicroBatchExecution (constructNextBatch, runBatch, markMicroBatchEnd) and ProgressContext, Spark 4.2.0. The names in
`durationMs` are the same in 3.5 to 4.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from statistics import median

from streamops.liveness.pace import percentile_95
from streamops.progress import ProgressEvent, ProgressHistory


class Step(StrEnum):
    """In the order in which Spark takes them; only the real-time trigger writes the offsets at the end."""

    START = "start"
    FETCH_OFFSETS = "fetch offsets"
    WRITE_OFFSETS = "write offsets"
    PLAN = "plan"
    INCREMENTAL_PLAN = "incremental plan"
    TASKS = "tasks"
    SINK_COMMIT = "sink commit"
    COMMIT_LOG = "commit log"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMeaning:
    """What is known of a step beforehand."""

    step: Step
    durations: tuple[str, ...]
    """Its names in `durationMs`; none where progress does not tell."""
    does: str
    after_crash: str
    """What the next start repeats when the driver dies in it."""
    untold: str = ""
    """Why progress does not tell, where it does not."""


MEANINGS = (
    StepMeaning(
        step=Step.START,
        durations=(),
        does="the trigger fires",
        after_crash="nothing: no range is decided yet",
        untold="not measured",
    ),
    StepMeaning(
        step=Step.FETCH_OFFSETS,
        # `getOffset` of sources of the first API without rate limits; a batch over two kinds of sources has both.
        durations=("latestOffset", "getOffset"),
        does="each source is asked how far it goes",
        after_crash="this step; it may find more than before",
    ),
    StepMeaning(
        step=Step.WRITE_OFFSETS,
        durations=("walCommit",),
        does="the range is written to offsets/; old entries are purged",
        after_crash="fetching, if the entry is not there; else the batch from its plan on, with exactly this range",
    ),
    StepMeaning(
        step=Step.PLAN,
        durations=("getBatch",),
        does="each source gives the range as a plan",
        after_crash="the batch from here on, with the same range",
    ),
    StepMeaning(
        step=Step.INCREMENTAL_PLAN,
        durations=("queryPlanning",),
        does="the query is planned for this batch, with its state",
        after_crash="the batch from its plan on, with the same range",
    ),
    StepMeaning(
        step=Step.TASKS,
        durations=("addBatch",),
        does="tasks read, compute, write rows and state; the time includes the sink commit",
        after_crash="the whole batch; its state begins at the version before",
    ),
    StepMeaning(
        step=Step.SINK_COMMIT,
        durations=(),
        does="the sink makes the rows visible",
        after_crash="the whole batch: twice in the sink, unless it knows the batch again",
        untold="within tasks",
    ),
    StepMeaning(
        step=Step.COMMIT_LOG,
        durations=("commitOffsets",),
        does="the batch is marked as done in commits/",
        after_crash="the whole batch, if the entry is not there; else nothing",
    ),
)
"""One for each step, in their order."""

WHOLE = "triggerExecution"
"""The name of the whole in `durationMs`."""


_NOTHING = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How long something took over several batches."""

    median: timedelta
    p95: timedelta
    """95 % took so long or less, by nearest rank."""
    share: float
    """Of the time of all these batches, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """One step."""

    step: Step
    taken: Spread | None
    """None where no batch tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCost:
    """The last batches of one query, as one driver ran them."""

    query_id: str
    query: str
    """Its name; empty where it has none."""
    first: int
    last: int
    batches: int
    whole: Spread
    """From trigger to the end of the commit; of this the shares are."""
    steps: tuple[StepCost, ...]
    rest: Spread
    """What belongs to no step: purges, clean-up of sources, progress itself."""
    others: tuple[str, ...] = ()
    """Names of measured parts that are no step of Spark 4.2; they are within the rest."""
    repeated: tuple[int, ...] = ()
    """Batches whose range was not written by the run that committed them: they had been begun before, and ran again."""


def batch_costs(history: ProgressHistory, *, last: int) -> tuple[BatchCost, ...]:
    """The cost of the last batches of each query of a driver; a query that ran none is left out.

    An idle trigger is no batch, and neither is one of which the whole time is not told.
    """
    queries = dict.fromkeys(event.query_id for event in history.events)
    costs = (_cost(tuple(_batches(history.of_query(query)))[-last:]) for query in queries)
    return tuple(cost for cost in costs if cost)


def _batches(history: ProgressHistory) -> Iterator[ProgressEvent]:
    return (event for event in history.events if event.has_run and event.duration is not None)


def _cost(batches: Sequence[ProgressEvent]) -> BatchCost | None:
    if not batches:
        return None
    taken = [dict(event.durations) for event in batches]
    whole = [one[WHOLE] for one in taken]
    total = sum(whole, _NOTHING)
    known = {name for meaning in MEANINGS for name in meaning.durations}
    within = [sum((time for name, time in one.items() if name in known), _NOTHING) for one in taken]
    names = {name for one in taken for name in one}
    return BatchCost(
        query_id=batches[-1].query_id,
        query=batches[-1].name,
        first=batches[0].batch,
        last=batches[-1].batch,
        batches=len(batches),
        whole=_spread(whole, total),
        steps=tuple(
            StepCost(step=meaning.step, taken=_step_spread(taken, meaning.durations, total)) for meaning in MEANINGS
        ),
        rest=_spread([max(_NOTHING, all_ - part) for all_, part in zip(whole, within, strict=True)], total),
        others=tuple(sorted(names - known - {WHOLE})),
        repeated=tuple(event.batch for event, one in zip(batches, taken, strict=True) if _is_repeated(one)),
    )


def _is_repeated(taken: dict[str, timedelta]) -> bool:
    """Whether the range of a batch was there before it began.

    A run that finds a planned batch takes it up without fetching or writing offsets (populateStartOffsets, Spark 4.2.0).
    """
    return "walCommit" not in taken


def _step_spread(taken: Sequence[dict[str, timedelta]], names: tuple[str, ...], total: timedelta) -> Spread | None:
    """Over the batches that took the step: a repeated one fetches no offsets."""
    told = [
        sum((one[name] for name in names if name in one), _NOTHING)
        for one in taken
        if any(name in one for name in names)
    ]
    return _spread(told, total) if told else None


def _spread(taken: Sequence[timedelta], total: timedelta) -> Spread:
    return Spread(
        median=timedelta(seconds=median(one.total_seconds() for one in taken)),
        p95=percentile_95(taken),
        share=sum(taken, _NOTHING) / total if total else 0.0,
    )
