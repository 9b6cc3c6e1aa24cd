"""A checkup once Kafka was asked whether what the next start reads is still there."""

from collections.abc import Iterator
from dataclasses import replace

from streamops.clock import Clock
from streamops.coverage import Coverage, PartitionCoverage, Standing, cover
from streamops.coverage.start_effect import told
from streamops.health.verdict import Finding, Severity, Verdict, worst_first, worst_of
from streamops.kafka.broker import Broker
from streamops.supervisor.checks.checkup import SEVERITIES, Checkup
from streamops.supervisor.lags.covered_plan import with_coverage
from streamops.supervisor.lags.kafka_needs import needs_of_snapshot
from streamops.supervisor.lags.second_look import look_twice

SHOWN = 5

EXPLANATIONS = {
    "lost-kafka-records": "Records that the next start reads are deleted in Kafka, as a whole or in part.",
    "kafka-topic-reset": "A partition ends before the offset that the query has reached: created anew, or put back.",
    "kafka-partitions-gone": "The checkpoint has partitions that Kafka does not have any more.",
    "unread-kafka": "Kafka did not say whether what the next start reads is still there.",
}
"""By rule, one sentence each."""

_RULES = {
    Standing.PARTLY_LOST: "lost-kafka-records",
    Standing.LOST: "lost-kafka-records",
    Standing.RESET: "kafka-topic-reset",
    Standing.GONE: "kafka-partitions-gone",
    Standing.UNKNOWN: "unread-kafka",
}
_MEANINGS = {
    "lost-kafka-records": "a start fails on them each time; with failOnDataLoss=false it passes over them, and no error tells",
    "kafka-topic-reset": "the checkpoint's offsets have no meaning in this topic: a start fails, or begins at the wrong place",
    "kafka-partitions-gone": "a start fails each time; with failOnDataLoss=false it goes on without them",
    "unread-kafka": "nothing is known to be lost, nor to be there",
}
_REPAIRS = {
    "lost-kafka-records": "bring the records from another copy or an archive; then one start with failOnDataLoss=false, and back",
    "kafka-topic-reset": "when the old content was read to its end: a new checkpoint that begins at the earliest offset",
    "kafka-partitions-gone": "see who deleted them; then one start with failOnDataLoss=false, and back",
    "unread-kafka": "make the broker answer with DESCRIBE on the topic, and check again",
}


def with_kafka(checkup: Checkup, broker: Broker, *, clock: Clock) -> Checkup:
    """The checkup with what the broker adds. Says nothing where no Kafka source has planned a batch."""
    sources = needs_of_snapshot(checkup.snapshot)
    topics = {need.topic for source in sources for need in source.partitions}
    if not topics:
        return checkup
    (coverage,) = look_twice(
        lambda before: [cover(sources, broker.scan(topics), before=before[0])], checkpoints=1, clock=clock
    )
    restart = with_coverage(checkup.restart, coverage, fails_on_data_loss=True)
    findings = worst_first((*checkup.findings, *_findings(coverage)))
    verdict = Verdict.of(max(worst_of(findings), SEVERITIES[restart.safety]))
    return replace(checkup, restart=restart, findings=findings, verdict=verdict)


def _findings(coverage: Coverage) -> Iterator[Finding]:
    by_rule: dict[str, list[PartitionCoverage]] = {}
    for one in coverage.partitions:
        if rule := _RULES.get(one.standing):
            by_rule.setdefault(rule, []).append(one)
    for rule, partitions in by_rule.items():
        yield Finding(
            rule=rule,
            severity=Severity.UNKNOWN if rule == "unread-kafka" else Severity.CRITICAL,
            file="",
            evidence=told(partitions, most=SHOWN),
            meaning=_MEANINGS[rule],
            repair=_REPAIRS[rule],
        )
