"""The DAG `streamops_retention_coverage`: every few minutes, whether what streams need is still in Kafka, and how long.

A few tasks share the streams. Each reads the checkpoints of its own and asks each Kafka cluster once for all of them: for
living queries and for dead ones alike, since Spark tells no consumer group where it stands. Then each stream that is not ok
has a task of its own, with its name as label and the report of `streamops lag` in its log.

Such a task looks once more and goes by what it sees. It fails where the verdict is critical: records are lost, or the time
to act so that none are is over. It succeeds with the report in its log on `warning` (act within twelve hours) and on
`unknown`, which is mostly a cluster that does not answer for a moment. An answer that could pass by itself, such as an end
below the offset that was read, is `unknown` until the next round has found it as well. Nothing is tried again: the next
round comes by itself.

No task touches a stream or a topic. What was seen of the offsets is kept beside the control log of each stream, in
`coverage.json`, for the forecasts of the rounds to come and of `streamops lag`.
"""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG

from streamops.airflow.kafka_access import kafka_access
from streamops.airflow.verdict_rounds import VerdictRounds, rounds_dag, run_gather, shards_of
from streamops.clock import SystemClock
from streamops.fleet.coverage_round import CoveragePace, CoveragePorts, look_at_coverage, run_coverage_round
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_change import OnChange
from streamops.fleet.verdict_store import RoundReport
from streamops.kafka.broker import Broker, KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.settings import Settings
from streamops.spec import StreamSpec
from streamops.spec.wire import namespaced

RETENTION_COVERAGE_DAG = "streamops_retention_coverage"


def retention_coverage_dag(settings: Settings) -> DAG:
    """Shards, then one task for each stream that is not ok; red while one is critical."""
    config, rounds = str(settings.path), settings.retention_coverage
    shards = shards_of(rounds, settings)
    return rounds_dag(
        namespaced(settings.namespace, RETENTION_COVERAGE_DAG),
        rounds=rounds,
        check=lambda shard: run_shard(config, shard=shard, shards=shards),
        gather=lambda answers: run_gather(answers, shards=shards),
        report=lambda shown: run_report(config, shown),
        shards=shards,
        description="Tells until when what the streams need is still in Kafka: red when it is lost, or about to be",
        doc=__doc__,
    )


def run_shard(config: str, *, shard: int, shards: int) -> dict[str, Any]:
    """One round over the streams of a shard. AirflowFailException where the settings declare nothing."""
    return _ROUNDS.run_shard(config, shard=shard, shards=shards)


def run_report(config: str, shown: Mapping[str, Any]) -> None:
    """Show one stream's report as it is now, or a list. AirflowFailException where it is critical."""
    _ROUNDS.run_report(config, shown)


def broker_at(access: KafkaAccess) -> Broker:
    """A client of a cluster, for one round."""
    return ConfluentBroker(access, SystemClock())


def _judge(settings: Settings, specs: list[StreamSpec], on_change: OnChange | None) -> RoundReport:
    return run_coverage_round(
        specs, state_root=settings.state_root, doors=_doors(settings, on_change), pace=_pace(settings)
    )


def _look(settings: Settings, spec: StreamSpec) -> HealthLook:
    return look_at_coverage(spec, doors=_doors(settings, None), pace=_pace(settings))


def _doors(settings: Settings, on_change: OnChange | None) -> CoveragePorts:
    return CoveragePorts(
        storage_for=settings.storage_for,
        access_for=kafka_access,
        broker_for=lambda access: broker_at(access),
        clock=SystemClock(),
        on_change=on_change,
    )


def _pace(settings: Settings) -> CoveragePace:
    return CoveragePace.within(settings.retention_coverage.every)


_ROUNDS = VerdictRounds(
    section="retention_coverage",
    rounds_of=lambda settings: settings.retention_coverage,
    judge=_judge,
    look=_look,
)
