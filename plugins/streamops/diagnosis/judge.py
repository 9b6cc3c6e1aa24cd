"""The catalogue: all that is known of checkpoints, rule by rule, and what the rules find in one.

A rule is a function: from what was read it tells what it saw, how bad that is, what a start makes of it, and how to repair it.
Nothing else knows a damage: the plan for a start (`diagnosis.plan`), `check`, the preflight, the health DAG and the docs are read
from here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from streamops.catalogue import (
    address_rules,
    delta_source_rules,
    entry_rules,
    file_rules,
    input_rules,
    offset_rules,
    order_rules,
    place_rules,
    shape_rules,
    sink_rules,
    source_log_rules,
    state_conf_rules,
    state_file_rules,
    time_rules,
)
from streamops.catalogue.delta_source_rules import DeltaSourceView
from streamops.catalogue.expectations import Expectations
from streamops.catalogue.watch import Watch
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.places.input_files import InputFacts
from streamops.places.sink import SinkView, drops_batch_in_flight
from streamops.verdict import Finding, Severity

Rule = Callable[[CheckpointFacts, Expectations], Iterator[Finding]]

LOG_RULES: tuple[Rule, ...] = (
    place_rules.missing_checkpoint,
    address_rules.temporary_address,
    address_rules.run_dependent_address,
    file_rules.unreadable_metadata,
    file_rules.missing_metadata,
    shape_rules.missing_offsets,
    file_rules.unreadable_newest_offsets,
    file_rules.offsets_without_source_ids,
    file_rules.unreadable_last_commit,
    file_rules.unreadable_previous_offsets,
    file_rules.async_progress_holes,
    file_rules.continuous_entries,
    file_rules.newer_format,
    file_rules.missing_previous_offsets,
    file_rules.missing_offsets_of_last_commit,
    shape_rules.unfinished_control_batch,
    shape_rules.behind_control_log,
    shape_rules.commits_ahead,
    shape_rules.orphan_checksums,
    offset_rules.source_count_differs,
    offset_rules.unlike_offsets,
    offset_rules.impossible_kafka_offsets,
    offset_rules.impossible_delta_offsets,
    offset_rules.impossible_file_offsets,
    offset_rules.repeated_source_ids,
    order_rules.backward_range,
    order_rules.changed_delta_table,
    offset_rules.source_offset_lost,
    order_rules.offsets_moved_back,
    order_rules.watermark_moved_back,
    order_rules.watermark_ahead,
    order_rules.planned_backwards,
    entry_rules.unjudged_source,
    state_conf_rules.impossible_confs,
    state_conf_rules.unpinned_partitions,
    state_conf_rules.changed_partitions,
    shape_rules.commits_missing_below_newest,
    shape_rules.missing_commits,
    shape_rules.odd_batch_names,
    shape_rules.pending_batch,
    shape_rules.holes_in_history,
    entry_rules.ignored_confs,
    address_rules.local_checkpoint,
    shape_rules.leftovers,
)
"""As a start comes across it: what keeps it from beginning, what it would do in silence, and last what only looks odd."""

DEPTH_RULES: tuple[Callable[[CheckpointSnapshot, Expectations], Iterator[Finding]], ...] = (
    place_rules.no_checkpoint,
    address_rules.twin_address,
    place_rules.emptied_logs,
    source_log_rules.missing_source_log,
    source_log_rules.unreadable_source_log,
    source_log_rules.misplaced_source_entries,
    source_log_rules.renumbered_source_entries,
    source_log_rules.repeated_source_entries,
    source_log_rules.unreachable_source_log,
    state_conf_rules.unfit_state_confs,
    state_conf_rules.unsaid_checkpoint_format,
    state_file_rules.lost_operators,
    state_file_rules.unknown_operators,
    state_file_rules.emptied_state,
    state_file_rules.unloadable_state,
    state_file_rules.broken_state_file,
    state_file_rules.state_ahead,
    state_file_rules.changed_state_file,
    state_file_rules.unchecked_state_file,
    entry_rules.changed_entry,
    order_rules.copied_entry,
    source_log_rules.lost_input,
    entry_rules.compact_interval,
)
"""Asked after the logs, in the order in which a start meets them: sources while a batch is planned, state in its tasks."""

EDIT_RULES: tuple[Callable[[CheckpointSnapshot, Expectations, Watch], Iterator[Finding]], ...] = (
    source_log_rules.future_input,
    entry_rules.edited_offsets,
)
"""Asked before those over time: what an edited entry says is believed by every start."""

TIME_RULES: tuple[Callable[[CheckpointSnapshot, Expectations, Watch], Iterator[Finding]], ...] = (
    time_rules.stuck_batch,
    time_rules.slow_batches,
    time_rules.written_just_now,
    time_rules.unpurged_logs,
    time_rules.large_compact_files,
    time_rules.growing_state,
)
"""Asked last: none of them keeps a start from working."""

STATE_RULES: tuple[Callable[[CheckpointSnapshot, Expectations, Watch], Iterator[Finding]], ...] = (
    time_rules.unbounded_state,
)
"""Asked after them, by what the query itself tells of its state."""


INPUT_RULES: tuple[Callable[[InputFacts, Expectations, Watch], Iterator[Finding]], ...] = (
    input_rules.unseen_input,
    input_rules.moved_input,
    input_rules.foreign_input,
    input_rules.forgotten_input,
    input_rules.renamed_input,
    input_rules.replaced_input,
    input_rules.overwritten_input,
    input_rules.aged_input,
    input_rules.waiting_input,
)
"""Asked where the input folder was named: what would be read wrongly, what never, and what only waits."""


SINK_RULES: tuple[Callable[[CheckpointSnapshot, SinkView], Iterator[Finding]], ...] = (
    sink_rules.sink_ahead,
    sink_rules.dropped_batch_without_state,
    sink_rules.dropped_batch_without_ids,
    sink_rules.incomplete_sink_log,
    sink_rules.repeated_sink_file,
    sink_rules.sink_behind,
    sink_rules.unread_sink,
    sink_rules.missing_sink,
    sink_rules.unknown_to_sink,
    sink_rules.sink_has_pending_batch,
    time_rules.large_sink_log,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was read for one judgement; None for what nobody asked for."""

    facts: CheckpointFacts
    expected: Expectations
    snapshot: CheckpointSnapshot | None = None
    """None where the logs alone were read."""
    watch: Watch | None = None
    """What is known over time; without it nothing is said of what takes time to show."""
    source_inputs: tuple[InputFacts, ...] = ()
    """The folders that file sources read; judged with a `watch` only, for their files have an age."""
    source_table: DeltaSourceView | None = None
    sink: SinkView | None = None

    @property
    def sink_drops_batch_in_flight(self) -> bool:
        """As the newest look at the sink tells."""
        return self.sink is not None and drops_batch_in_flight(self.sink.latest, self.facts)


def judge(evidence: Evidence) -> tuple[Finding, ...]:
    """Everything that the evidence shows, in the order in which a start comes across it."""
    if evidence.sink_drops_batch_in_flight:
        return tuple(_of_dropped_batch(finding, evidence.facts) for finding in _findings(evidence))
    return tuple(_findings(evidence))


def _of_dropped_batch(finding: Finding, facts: CheckpointFacts) -> Finding:
    """Spark runs no task of a batch that Delta's sink or the file sink drops: what it would have read does not count."""
    if finding.start is None or not finding.start.in_flight_only:
        return finding
    meaning = f"the sink has batch {facts.last_offset} already and drops it: nothing comes of it"
    return replace(finding, severity=Severity.NOTE, meaning=meaning, repair="", not_when="", start=None)


def _findings(evidence: Evidence) -> Iterator[Finding]:
    facts, snapshot, watch = evidence.facts, evidence.snapshot, evidence.watch
    expected = replace(evidence.expected, drops_batch_in_flight=evidence.sink_drops_batch_in_flight)
    seen = facts.as_continuous() if expected.runs_continuously(facts) else facts
    yield from (finding for rule in LOG_RULES for finding in rule(seen, expected))
    if snapshot is None:
        return
    yield from (finding for rule in DEPTH_RULES for finding in rule(snapshot, expected))
    if watch:
        over_time = (*EDIT_RULES, *TIME_RULES, *STATE_RULES)
        yield from (finding for rule in over_time for finding in rule(snapshot, expected, watch))
    if watch:
        yield from (
            finding
            for found in evidence.source_inputs
            for rule in INPUT_RULES
            for finding in rule(found, expected, watch)
        )
    if table := evidence.source_table:
        yield from (finding for rule in DELTA_SOURCE_RULES for finding in rule(snapshot, table))
    if sink := evidence.sink:
        yield from (finding for rule in SINK_RULES for finding in rule(snapshot, sink))


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
