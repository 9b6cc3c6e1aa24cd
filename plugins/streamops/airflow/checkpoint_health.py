"""The tasks of `streamops_checkpoint_health`: what is wrong with the checkpoints of all streams."""

from collections.abc import Mapping
from typing import Any

from streamops.airflow.explicit_dag import tried_once
from streamops.airflow.verdict_rounds import VerdictRounds
from streamops.clock import SystemClock
from streamops.fleet.health_round import RoundPorts, look_once, run_round
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_change import OnChange
from streamops.fleet.verdict_store import RoundPace, RoundReport
from streamops.operations.requests import this_author
from streamops.settings import Settings
from streamops.spec import StreamSpec
from streamops.spec.wire import namespaced

CHECKPOINT_HEALTH_DAG = "streamops_checkpoint_health"


@tried_once()
def run_shard(config: str, *, shard: int, shards: int) -> dict[str, Any]:
    """One round over the streams of a shard. AirflowFailException where the settings declare nothing."""
    return _ROUNDS.run_shard(config, shard=shard, shards=shards)


@tried_once()
def run_report(config: str, shown: Mapping[str, Any]) -> None:
    """Show one stream's report as it is now, or a list. AirflowFailException where it is critical."""
    _ROUNDS.run_report(config, shown)


def _judge(settings: Settings, specs: list[StreamSpec], on_change: OnChange | None) -> RoundReport:
    return run_round(specs, state_root=settings.state_root, doors=_doors(settings, on_change), pace=_pace(settings))


def _look(settings: Settings, spec: StreamSpec) -> HealthLook:
    return look_once(spec, state_root=settings.state_root, doors=_doors(settings, None), pace=_pace(settings))


def _doors(settings: Settings, on_change: OnChange | None) -> RoundPorts:
    author = this_author(f"airflow:{namespaced(settings.namespace, CHECKPOINT_HEALTH_DAG)}")
    return RoundPorts(storage_for=settings.storage_for, clock=SystemClock(), author=author, on_change=on_change)


def _pace(settings: Settings) -> RoundPace:
    return RoundPace.within(settings.checkpoint_health.every)


_ROUNDS = VerdictRounds(
    section="checkpoint_health",
    rounds_of=lambda settings: settings.checkpoint_health,
    judge=_judge,
    look=_look,
)
