"""The eight steps of a micro-batch: what each does, what Spark measures of it, and what a crash in it repeats.

Source: MicroBatchExecution (constructNextBatch, runBatch, markMicroBatchEnd) and ProgressContext, Spark 4.2.0. The names in
`durationMs` are the same in 3.5 to 4.2.
"""

from dataclasses import dataclass
from enum import StrEnum


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
