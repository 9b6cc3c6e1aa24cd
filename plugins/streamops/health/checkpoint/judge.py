"""The rules in order, and all findings on one checkpoint."""

from collections.abc import Callable, Iterable, Iterator

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.health.checkpoint import depth_rules, file_rules, shape_rules
from streamops.health.checkpoint.expectations import Expectations
from streamops.health.verdict import Finding

Rule = Callable[[CheckpointFacts, Expectations], Iterator[Finding]]

LOG_RULES: tuple[Rule, ...] = (
    file_rules.no_checkpoint,
    file_rules.unreadable_metadata,
    file_rules.missing_metadata,
    file_rules.unreadable_newest_offsets,
    file_rules.offsets_without_source_ids,
    file_rules.unreadable_previous_offsets,
    file_rules.async_progress_holes,
    file_rules.missing_previous_offsets,
    file_rules.newer_format,
    file_rules.unreadable_last_commit,
    shape_rules.commits_ahead,
    shape_rules.missing_offsets,
    shape_rules.orphan_checksums,
    shape_rules.unfinished_control_batch,
    shape_rules.source_offset_lost,
    shape_rules.commits_missing_below_newest,
    shape_rules.missing_commits,
    shape_rules.offsets_moved_back,
    shape_rules.odd_batch_names,
    shape_rules.pending_batch,
    shape_rules.holes_in_history,
    shape_rules.leftovers,
)
"""As a start comes across it: what keeps it from beginning, what it would do in silence, and last what only looks odd."""


DEPTH_RULES: tuple[Callable[[CheckpointSnapshot], Iterator[Finding]], ...] = (
    depth_rules.emptied_logs,
    depth_rules.missing_source_log,
    depth_rules.unreadable_source_log,
    depth_rules.unreachable_source_log,
    depth_rules.unloadable_state,
    depth_rules.lost_input,
)
"""Asked after the logs, in the order in which a start meets them."""


def judge_logs(facts: CheckpointFacts, expected: Expectations) -> tuple[Finding, ...]:
    """Everything that the logs of a checkpoint show, worst first; within one severity in the order of the rules."""
    return _worst_first(finding for rule in LOG_RULES for finding in rule(facts, expected))


def judge_checkpoint(snapshot: CheckpointSnapshot, expected: Expectations) -> tuple[Finding, ...]:
    """Everything that a checkpoint shows, worst first; within one severity in the order of the rules."""
    in_depth = (finding for rule in DEPTH_RULES for finding in rule(snapshot))
    return _worst_first((*judge_logs(snapshot.facts, expected), *in_depth))


def _worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: -finding.severity))


def explanations() -> dict[str, str]:
    """What each rule is about, by the id that its findings carry: the first line of the function's own words."""
    rules = (*LOG_RULES, *DEPTH_RULES)
    return {rule.__name__.replace("_", "-"): (rule.__doc__ or "").strip().partition("\n")[0] for rule in rules}
