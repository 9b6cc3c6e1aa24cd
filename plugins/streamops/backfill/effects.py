"""How long a backfill takes, how far it has come, and what the sink makes of rows that it has already. Pure.

A backfill has a query id of its own, so a sink that knows batches (Delta's own) takes its rows for new ones. Only a sink that
knows rows by their key may get them twice. Dead letters are only ever added, so those of a backfill have a table of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from streamops.control.backfill_plan import BackfillPlan, amount_between
from streamops.control.layout import own_places_around
from streamops.progress import ProgressHistory
from streamops.retention.growth import throughput_of
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import is_inside

START = timedelta(seconds=40)
"""From the submit of a driver until its first step has begun to write: 30 to 45 s on two busy cores, with Delta (measured)."""
STEP = timedelta(seconds=2)
"""What a step costs beside its records: 0.5 s around its batch, and a Delta append of a few records takes 2 s (measured)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillEstimate:
    """How long it takes from the submit on."""

    seconds: float | None
    """None where nobody can tell."""
    is_ceiling: bool = False
    """Whether it may be much less: the query was never seen with more to read than it could."""
    reason: str = ""


def estimate_backfill(records: int, steps: int, history: ProgressHistory) -> BackfillEstimate:
    """The estimate for so many records in so many steps, by a driver that reads as fast as the one of the history.

    Where that was given less to read than it could, a batch costs nearly as much time as a larger one: the estimate is a ceiling.
    """
    throughput = throughput_of(history)
    if throughput is None:
        return BackfillEstimate(seconds=None, reason="how fast the job reads is not known: no batch of it was seen")
    seconds = records / max(throughput.records_per_second, 0.001) + steps * STEP.total_seconds() + START.total_seconds()
    told = f"{throughput.records_per_second:.0f} records a second"
    return BackfillEstimate(
        seconds=round(seconds, 1),
        is_ceiling=not throughput.is_loaded,
        reason=f"by {told} of its last batches" if throughput.is_loaded else f"it was seen to read {told} at least",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress:
    """What is done, in steps and in records. A step counts when every query has committed it."""

    steps_done: int
    steps: int
    records_done: int
    """In what the plan counts, as `records`."""
    records: int

    @property
    def percent(self) -> int:
        """Of the records, rounded down: 100 only when all is done."""
        return 100 * self.records_done // self.records

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self.steps_done == self.steps


def progress_of(plan: BackfillPlan, commits: Sequence[int]) -> BackfillProgress:
    """The progress by the newest committed batch of each query, -1 for none; a query of which nothing is known is left out."""
    done = min(len(plan.chunks), max(0, min(commits, default=-1) + 1))
    reached = plan.chunks[done - 1] if done else plan.start
    return BackfillProgress(
        steps_done=done,
        steps=len(plan.chunks),
        records_done=amount_between(plan.start, reached),
        records=plan.records,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSink:
    """Where the stream itself writes. Addresses are canonical."""

    stream: str
    table: str
    dead_letters: str
    """Empty where none are declared."""
    guarantee: SinkGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkChosen:
    """Where the backfill writes."""

    table: str
    dead_letters: str
    is_redirected: bool
    """Whether the table is not the stream's own."""
    notes: tuple[str, ...]
    """What becomes of the rows, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRefused:
    """Why it must not write there."""

    reason: str
    way_out: str


def choose_sink(
    own: OwnSink, *, backfill: str, table: str = "", dead_letters: str = "", others: Mapping[str, str] | None = None
) -> SinkChosen | SinkRefused:
    """The sink of a backfill with that id; `table` and `dead_letters` are canonical addresses, empty where nothing was asked.

    `others` are the addresses that declared streams write, each with who writes it, this stream's own among them or not.
    """
    is_redirected = bool(table) and table != own.table
    if not is_redirected and own.guarantee is not SinkGuarantee.IDEMPOTENT_BY_KEY:
        return SinkRefused(
            reason=f"the sink of {own.stream} is {own.guarantee}: what {own.table} has of the range would be there twice",
            way_out="write to another table (--table OTHER), or declare the sink idempotent-by-key if it knows rows by key",
        )
    target = table if is_redirected else own.table
    own_letters = own.dead_letters or f"{own.table}_dead_letters"
    letters = dead_letters or (f"{table}_dead_letters" if is_redirected else f"{own_letters}_{backfill}")
    taken = {**(others or {}), own_letters: f"the dead letters of {own.stream}"}
    if is_redirected and own.table:
        taken[own.table] = f"the table of {own.stream}"
    elif not is_redirected:
        taken.pop(own.table, None)
    for what, address in (("table", target), ("dead letters", letters)):
        for other, whose in taken.items():
            is_beside = any(place.checkpoint == other for place in own_places_around(address))
            if is_beside or is_inside(other, address):
                return SinkRefused(
                    reason=f"{what} {address} and {whose}, {other}, would get into each other's way",
                    way_out="name a folder that no declared stream writes",
                )
    if is_inside(letters, target) or is_inside(target, letters):
        return SinkRefused(
            reason=f"table {target} and dead letters {letters} lie in each other", way_out="name two folders apart"
        )
    return SinkChosen(
        table=target, dead_letters=letters, is_redirected=is_redirected, notes=_notes(target, letters, is_redirected)
    )


def _notes(table: str, letters: str, is_redirected: bool) -> tuple[str, ...]:
    rows = (
        f"Rows are added to {table}; if it has some of the range already, they are there twice afterwards."
        if is_redirected
        else f"Rows that {table} has are written over by their key; those that it lacks are added."
    )
    return rows, f"Records that can't be parsed are added to {letters}."
