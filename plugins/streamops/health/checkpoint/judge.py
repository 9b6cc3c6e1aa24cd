"""The rules in order, and all findings on one checkpoint."""

from collections.abc import Callable, Iterator

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.input_files import InputFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.health.checkpoint import (
    address_rules,
    delta_source_rules,
    depth_rules,
    edit_rules,
    file_rules,
    growth_rules,
    input_rules,
    offset_rules,
    pinned_rules,
    place_rules,
    shape_rules,
    sink_rules,
    source_log_rules,
    state_rules,
    time_rules,
)
from streamops.health.checkpoint.delta_source_rules import DeltaSourceView
from streamops.health.checkpoint.expectations import Expectations
from streamops.health.checkpoint.watch import Watch
from streamops.health.verdict import Finding, worst_first
from streamops.sink import SinkView

Rule = Callable[[CheckpointFacts, Expectations], Iterator[Finding]]

OFFSET_RULES: tuple[Rule, ...] = (
    offset_rules.source_count_differs,
    offset_rules.unlike_offsets,
    offset_rules.impossible_kafka_offsets,
    offset_rules.file_offset_back,
    offset_rules.source_offset_lost,
    offset_rules.offsets_moved_back,
    offset_rules.watermark_moved_back,
    offset_rules.planned_backwards,
    offset_rules.unjudged_source,
)
"""About the sources of the two entries that a start reads."""

LOG_RULES: tuple[Rule, ...] = (
    address_rules.temporary_address,
    address_rules.run_dependent_address,
    file_rules.unreadable_metadata,
    file_rules.missing_metadata,
    file_rules.unreadable_newest_offsets,
    file_rules.offsets_without_source_ids,
    file_rules.unreadable_previous_offsets,
    file_rules.async_progress_holes,
    file_rules.continuous_entries,
    file_rules.missing_previous_offsets,
    file_rules.newer_format,
    file_rules.unreadable_last_commit,
    shape_rules.commits_ahead,
    shape_rules.missing_offsets,
    shape_rules.orphan_checksums,
    shape_rules.unfinished_control_batch,
    *OFFSET_RULES,
    shape_rules.commits_missing_below_newest,
    shape_rules.missing_commits,
    shape_rules.odd_batch_names,
    shape_rules.pending_batch,
    shape_rules.holes_in_history,
    pinned_rules.ignored_confs,
    address_rules.local_checkpoint,
    shape_rules.leftovers,
)
"""As a start comes across it: what keeps it from beginning, what it would do in silence, and last what only looks odd."""


START_RULES: tuple[Callable[[CheckpointSnapshot], Iterator[Finding]], ...] = (
    place_rules.no_checkpoint,
    source_log_rules.misplaced_source_entries,
    pinned_rules.missing_state_format,
)
"""About what a start reads beside the two logs; each finding names what it makes of it."""

DEPTH_RULES: tuple[Callable[[CheckpointSnapshot], Iterator[Finding]], ...] = (
    *START_RULES,
    address_rules.twin_address,
    depth_rules.emptied_logs,
    depth_rules.missing_source_log,
    depth_rules.unreadable_source_log,
    depth_rules.unreachable_source_log,
    depth_rules.unloadable_state,
    depth_rules.broken_state_file,
    depth_rules.lost_input,
    pinned_rules.compact_interval,
)
"""Asked after the logs, in the order in which a start meets them."""

EDIT_RULES: tuple[Callable[[CheckpointSnapshot, Expectations, Watch], Iterator[Finding]], ...] = (
    edit_rules.edited_offsets,
)
"""Asked before those over time: what an edited entry says is believed by every start."""

TIME_RULES: tuple[Callable[[CheckpointSnapshot, Expectations, Watch], Iterator[Finding]], ...] = (
    time_rules.stuck_batch,
    time_rules.slow_batches,
    time_rules.written_just_now,
    growth_rules.unpurged_logs,
    growth_rules.large_compact_files,
    growth_rules.growing_state,
)
"""Asked last: none of them keeps a start from working."""

STATE_RULES: tuple[Callable[[CheckpointSnapshot, Expectations, Watch], Iterator[Finding]], ...] = (
    state_rules.unbounded_state,
)
"""Asked after them, by what the query itself tells of its state."""


INPUT_RULES: tuple[Callable[[InputFacts, Expectations, Watch], Iterator[Finding]], ...] = (
    input_rules.unseen_input,
    input_rules.moved_input,
    input_rules.overwritten_input,
    input_rules.aged_input,
    input_rules.waiting_input,
)
"""Asked where the input folder was named: what would be read wrongly, what never, and what only waits."""


SINK_RULES: tuple[Callable[[CheckpointSnapshot, SinkView], Iterator[Finding]], ...] = (
    sink_rules.sink_ahead,
    sink_rules.dropped_batch_without_state,
    sink_rules.incomplete_sink_log,
    sink_rules.sink_behind,
    sink_rules.unread_sink,
    sink_rules.missing_sink,
    sink_rules.unknown_to_sink,
    sink_rules.sink_has_pending_batch,
    growth_rules.large_sink_log,
)
"""Asked where the sink was looked at: first what a start would lose, then what is lost, then what is not known."""


DELTA_SOURCE_RULES: tuple[Callable[[CheckpointSnapshot, DeltaSourceView], Iterator[Finding]], ...] = (
    delta_source_rules.unread_delta_source,
    delta_source_rules.another_delta_table,
    delta_source_rules.removed_delta_versions,
    delta_source_rules.beyond_delta_table,
    delta_source_rules.vacuumed_delta_files,
    delta_source_rules.stopping_delta_commit,
    delta_source_rules.unread_delta_versions,
    delta_source_rules.expiring_delta_versions,
    delta_source_rules.expiring_delta_files,
)
"""Asked where the Delta table that the query reads was named; no two of the first four can hold."""


def findings_at_start(
    facts: CheckpointFacts, expected: Expectations, snapshot: CheckpointSnapshot | None = None
) -> tuple[Finding, ...]:
    """Those that decide how the next start goes, and that nothing but their rules knows."""
    of_depth = (finding for rule in START_RULES for finding in rule(snapshot)) if snapshot else ()
    return (*(finding for rule in OFFSET_RULES for finding in rule(facts, expected)), *of_depth)


def judge_logs(facts: CheckpointFacts, expected: Expectations) -> tuple[Finding, ...]:
    """Everything that the logs of a checkpoint show, worst first; within one severity in the order of the rules."""
    seen = facts.as_continuous() if expected.runs_continuously(facts) else facts
    return worst_first(finding for rule in LOG_RULES for finding in rule(seen, expected))


def judge_checkpoint(
    snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch | None = None
) -> tuple[Finding, ...]:
    """Everything that a checkpoint shows, worst first; within one severity in the order of the rules.

    Without `watch` nothing is said of what takes time to show.
    """
    in_depth = (finding for rule in DEPTH_RULES for finding in rule(snapshot))
    over_time = (
        (finding for rule in (*EDIT_RULES, *TIME_RULES, *STATE_RULES) for finding in rule(snapshot, expected, watch))
        if watch
        else ()
    )
    return worst_first((*judge_logs(snapshot.facts, expected), *in_depth, *over_time))


def judge_input(found: InputFacts, expected: Expectations, watch: Watch) -> tuple[Finding, ...]:
    """Everything that an input folder shows beside what was read of it, worst first."""
    return worst_first(finding for rule in INPUT_RULES for finding in rule(found, expected, watch))


def judge_sink(snapshot: CheckpointSnapshot, view: SinkView) -> tuple[Finding, ...]:
    """Everything that a sink shows beside its checkpoint, worst first."""
    return worst_first(finding for rule in SINK_RULES for finding in rule(snapshot, view))


def judge_delta_source(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> tuple[Finding, ...]:
    """Everything that the Delta table which a query reads shows beside its offsets, worst first."""
    return worst_first(finding for rule in DELTA_SOURCE_RULES for finding in rule(snapshot, view))


def explanations() -> dict[str, str]:
    """What each rule is about, by the id that its findings carry: the first line of the function's own words."""
    rules = (
        *LOG_RULES,
        *DEPTH_RULES,
        *EDIT_RULES,
        *TIME_RULES,
        *STATE_RULES,
        *INPUT_RULES,
        *SINK_RULES,
        *DELTA_SOURCE_RULES,
    )
    return {rule.__name__.replace("_", "-"): (rule.__doc__ or "").strip().partition("\n")[0] for rule in rules}
