"""How far a backfill has come, by what its queries have committed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamops.control.backfill_plan import BackfillPlan, amount_between


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
