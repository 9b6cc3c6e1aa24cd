"""The tasks of `streamops_retention_coverage`: whether what streams need is still in Kafka, and how long."""

from collections.abc import Mapping
from typing import Any

from streamops.airflow.explicit_dag import tried_once
from streamops.airflow.hooks.kafka import kafka_access
from streamops.airflow.verdict_rounds import VerdictRounds
from streamops.clock import SystemClock
from streamops.fleet.coverage_round import CoveragePace, CoveragePorts, look_at_coverage, run_coverage_round
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_change import OnChange
from streamops.fleet.verdict_store import RoundReport
from streamops.kafka.broker import Broker, KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.settings import Settings
from streamops.spec import StreamSpec

RETENTION_COVERAGE_DAG = "streamops_retention_coverage"


@tried_once()
def run_shard(config: str, *, shard: int, shards: int) -> dict[str, Any]:
    """One round over the streams of a shard. AirflowFailException where the settings declare nothing."""
    return _ROUNDS.run_shard(config, shard=shard, shards=shards)


@tried_once()
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
