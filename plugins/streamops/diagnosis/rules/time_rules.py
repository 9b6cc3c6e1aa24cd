"""Rules about time: what goes on for too long. Quiet where too little is known of the past; an idle query is well."""

from collections.abc import Iterator
from datetime import timedelta

from streamops.checkpoint.batch_times import SAME_MOMENT
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS
from streamops.diagnosis.expectations import Expectations
from streamops.diagnosis.watch import Watch
from streamops.liveness.pace import ENOUGH, in_words
from streamops.verdict import Finding, Severity

SAME_LOOKS = 3
"""Checks in a row that must have seen the same pending batch: one or two may have met it by chance."""


def stuck_batch(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A batch is planned and not committed for far longer than batches of this query take (SPARK-28367, SPARK-32032).

    A driver must be at work, or several checks must have seen the same batch: a query that was stopped has a pending batch
    for as long as nobody starts it, and that is well. Where a batch was planned by an earlier driver, the time counts from
    the claim of this one.
    """
    facts = snapshot.facts
    if not facts.has_pending_batch or watch.has_driver is False:
        return
    waited, window = _waited(snapshot, watch), watch.window
    if waited is None or waited < window.report:
        return
    batch = facts.last_offset
    yield Finding(
        rule="stuck-batch",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{batch}",
        evidence=f"batch {batch} has no commit for {in_words(waited)}; {window.basis}",
        meaning="the batch hangs, in the sink or in a task, or it is far larger than those before"
        if watch.has_driver
        else "the batch hangs, or no query runs here any more",
        repair="look at the driver's log and its running tasks; a restart runs the batch again with exactly its range",
        not_when="while its tasks get on: a restart begins the batch anew",
    )


def written_just_now(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """The checkpoint was written moments ago, and no driver of ours is known to be at it: somebody runs the query."""
    age = written_ago(snapshot, watch)
    if age is None:
        return
    yield Finding(
        rule="written-just-now",
        severity=Severity.NOTE,
        file=OFFSETS,
        evidence=f"its newest entry is {in_words(age)} old",
        meaning="a query seems to run here: what is said of a start counts for when it has stopped, and never beside it",
    )


def written_ago(snapshot: CheckpointSnapshot, watch: Watch) -> timedelta | None:
    """How long ago somebody who is not known here wrote the checkpoint; None for long ago, or for a driver of ours.

    A copy has young files and old headers: the time of a file counts only where files tell how long batches take, which those
    of a copy don't.
    """
    newest, times = snapshot.facts.newest, watch.times
    is_copy = not times.durations or times.durations[-1] < SAME_MOMENT
    moments = [newest.planned_at if newest else None, None if is_copy else times.committed_at]
    known = [moment for moment in moments if moment]
    if watch.has_driver is not None or not known:
        return None
    age = watch.now - max(known)
    return age if timedelta(0) <= age < JUST_NOW else None


JUST_NOW = timedelta(minutes=1)


def slow_batches(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Most of the last batches took longer than the trigger interval: with input at this pace the query falls behind.

    A note: a batch that catches up is meant to be long, and the next one then begins at once.
    """
    ordered, interval = sorted(watch.times.durations), watch.trigger_interval
    if not interval or len(ordered) < ENOUGH or (usual := ordered[len(ordered) // 2]) <= interval:
        return
    yield Finding(
        rule="slow-batches",
        severity=Severity.NOTE,
        file=OFFSETS,
        evidence=f"half of the last {len(ordered)} batches took {in_words(usual)} or more, the trigger interval is"
        f" {in_words(interval)}",
        meaning="each batch begins as soon as the one before is done; if the input keeps coming, the query falls behind",
        repair="see how lag develops (`streamops lag`); give the query more cores or a longer interval, its state a watermark,"
        " and compact a table of many small files",
    )


def _waited(snapshot: CheckpointSnapshot, watch: Watch) -> timedelta | None:
    """How long the pending batch has been seen, or has been planned under the driver that lives; None for too little."""
    known = []
    same = watch.same_since(snapshot.facts)
    if len(same) >= SAME_LOOKS:
        known.append(watch.now - same[0].at)
    planned_at = snapshot.facts.newest.planned_at if snapshot.facts.newest else None
    if watch.has_driver and planned_at:
        known.append(watch.now - max(planned_at, watch.driver_since or planned_at))
    return max(known, default=None)
