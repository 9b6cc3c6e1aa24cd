"""A checkup once Kafka was asked whether what the next start reads is still there."""

from collections.abc import Iterator
from dataclasses import replace

from streamops.checkpoint.layout import OFFSETS
from streamops.clock import Clock
from streamops.diagnosis.checkup import SEVERITIES, Checkup
from streamops.engines import Engine
from streamops.kafka.broker import Broker
from streamops.retention import Coverage, PartitionCoverage, PartitionState, cover
from streamops.retention.covered_plan import (
    FINISH_FIRST,
    changed_since_planned,
    failing_engine,
    told,
    with_coverage,
    with_retry,
)
from streamops.retention.source_coverage import look_twice, needs_of_snapshot
from streamops.verdict import Finding, Severity, Verdict, worst_first, worst_of

SHOWN = 5

EXPLANATIONS = {
    "lost-kafka-records": "Records that the next start reads are deleted in Kafka, as a whole or in part.",
    "kafka-topic-reset": "A partition ends before the offset that the query has reached: created anew, or put back.",
    "kafka-partitions-gone": "The checkpoint has partitions that Kafka does not have any more.",
    "changed-kafka-partitions": "A batch in flight was planned for other partitions than its topics have now: SPARK-53560.",
    "unread-kafka": "Kafka did not say whether what the next start reads is still there.",
}
"""By rule, one sentence each."""

_RULES = {
    PartitionState.PARTLY_LOST: "lost-kafka-records",
    PartitionState.LOST: "lost-kafka-records",
    PartitionState.RESET: "kafka-topic-reset",
    PartitionState.GONE: "kafka-partitions-gone",
    PartitionState.UNKNOWN: "unread-kafka",
}
_MEANINGS = {
    "lost-kafka-records": "a start fails on them each time; with failOnDataLoss=false it passes over them, and no error tells",
    "kafka-topic-reset": "the checkpoint's offsets have no meaning in this topic: a start fails, or begins at the wrong place",
    "kafka-partitions-gone": "a start fails each time; with failOnDataLoss=false it goes on without them",
    "unread-kafka": "nothing is known to be lost, nor to be there",
}
_REPAIRS = {
    "lost-kafka-records": "bring the records from another copy or an archive; to go on without them, one start with"
    " failOnDataLoss=false: of a stream, `streamops release STREAM --accept-expired`",
    "kafka-topic-reset": "when the old content was read to its end: a new checkpoint that begins at the earliest offset",
    "kafka-partitions-gone": "see who deleted them; then one start with failOnDataLoss=false, and back",
    "unread-kafka": "make the broker answer with DESCRIBE on the topic, and check again",
}


def with_kafka(checkup: Checkup, broker: Broker, *, clock: Clock, is_available_now: bool | None = None) -> Checkup:
    """The checkup with what the broker adds. Says nothing where no Kafka source has planned a batch.

    `is_available_now`: whether the next start has that trigger; None where nobody has said.
    """
    sources = needs_of_snapshot(checkup.snapshot, checkup.sink)
    topics = {need.topic for source in sources for need in source.partitions}
    if not topics:
        return checkup
    (coverage,) = look_twice(
        lambda before: [cover(sources, broker.scan(topics), before=before[0])], checkpoints=1, clock=clock
    )
    return with_kafka_coverage(checkup, coverage, is_available_now=is_available_now)


def with_kafka_coverage(
    checkup: Checkup, coverage: Coverage, *, is_available_now: bool | None, fails_on_data_loss: bool = True
) -> Checkup:
    """As `with_kafka`, with the answer of a broker that was asked already."""
    restart = with_retry(checkup.restart, coverage, is_available_now=is_available_now is True, engine=checkup.engine)
    restart = with_coverage(restart, coverage, fails_on_data_loss=fails_on_data_loss)
    changed = (
        () if is_available_now is False else _changed(coverage, checkup.engine, is_certain=is_available_now is True)
    )
    findings = worst_first((*checkup.findings, *_findings(coverage), *changed))
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


def _changed(coverage: Coverage, engine: Engine, *, is_certain: bool) -> Iterator[Finding]:
    """`is_certain`: availableNow is what the next start has, and not what it may have."""
    changed = changed_since_planned(coverage)
    if not changed or engine.finishes_changed_batch:
        return
    fails = engine.finishes_changed_batch is False
    yield Finding(
        rule="changed-kafka-partitions",
        severity=Severity.CRITICAL if fails and is_certain else Severity.WARNING,
        file=f"{OFFSETS}/{coverage.pending_batch}",
        evidence=told(changed, most=SHOWN),
        meaning=f"{failing_engine(engine)}, whatever its message says of a transient error; other triggers go on",
        repair=FINISH_FIRST,
    )
