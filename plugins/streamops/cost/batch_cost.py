"""What the last batches of a query cost, step by step. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from streamops.cost.steps import MEANINGS, WHOLE, Step
from streamops.liveness.pace import percentile_95
from streamops.progress import ProgressEvent, ProgressHistory

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
