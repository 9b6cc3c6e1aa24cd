"""All rules in the order in which they are asked. The first that holds answers.

Within a stage the loudest voice is heard out first (see `reading`), so a warning decides nothing while an error does.
The order of the stages, and in the second of the groups, is knowledge:

1. What the supervisor recorded, and exit codes that say all, need no text.
2. Causes come before wrappers: STREAM_FAILED, FOREACH_BATCH_USER_FUNCTION_ERROR, TASK_WRITE_FAILED and "Job aborted" are
   in most texts and say nothing.
   - What our own runner refused first: nothing else says it.
   - Memory and disk: once they are gone, anything may fail in any words.
   - A second writer, before credentials and storage: on object stores the loser sees an error of the store.
   - Lost data, before the source that is unavailable: the error is retried first, and time-outs pile up around it.
   - State that another task holds, or that can't be read, before the checkpoint's damage: the classes are nested alike.
   - What no longer fits, before damage: "There are [2] sources" names both.
   - Columns, before conflicts and code: a changed column also is an AnalysisException.
   - Credentials, before everything unavailable: a refused login ends in a time-out as well.
   - The cluster, then losses that a restart heals, then sink, source and storage. The sink first: whatever is refused
     below the user's function is the sink's. Storage last, since nearly every stack ends in Hadoop's classes.
   - A writer's own files that somebody removed: after whatever else may have ended the job that they belonged to.
   - State that can't be read for reasons not named, after storage and credentials, which may be the reason.
   - Code last: its words are general ("IllegalArgumentException") and stand around many of the others.
3. Signals, after causes: a text may tell why somebody killed the driver.
4. Wrappers, and last the plain fact of the end.
"""

from streamops.failures.rules.checkpoints import (
    DAMAGED,
    INCOMPATIBLE,
    TRANSIENT_STATE,
    UNREADABLE_STATE,
    WRITERS,
    WRITERS_OF_FILES,
)
from streamops.failures.rules.code import CONFLICTS, LOSS, PLAN, PYTHON, SCHEMA, SQL_STATES, STARTS
from streamops.failures.rules.network import CREDENTIALS, SINK, SOURCE, STORAGE, TRANSIENT
from streamops.failures.rules.resources import (
    CAPACITY,
    DECIDED,
    DISK,
    FALLBACKS,
    LOST_EXECUTORS,
    MEMORY,
    SIGNALS,
    WRAPPERS,
)
from streamops.failures.rules.rule import FailureRule, rules_by_stage

CAUSES = (
    *STARTS,
    *MEMORY,
    *DISK,
    *WRITERS,
    *LOSS,
    *TRANSIENT_STATE,
    *INCOMPATIBLE,
    *DAMAGED,
    *SCHEMA,
    *CONFLICTS,
    *CREDENTIALS,
    *CAPACITY,
    *TRANSIENT,
    *LOST_EXECUTORS,
    *SINK,
    *SOURCE,
    *STORAGE,
    *WRITERS_OF_FILES,
    *UNREADABLE_STATE,
    *PLAN,
    *PYTHON,
    *SQL_STATES,
)

STAGES = (DECIDED, CAUSES, SIGNALS, WRAPPERS, FALLBACKS)


def rules() -> tuple[FailureRule, ...]:
    """The whole table, in order."""
    return rules_by_stage(STAGES)
