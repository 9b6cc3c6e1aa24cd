"""The DAG `streamops_checkpoint_health`: every few minutes, what is wrong with the checkpoints of all streams.

A few tasks share the streams, and each loops over its own in threads. Then each stream that is not ok has a task of
its own, with its name as label and the report in its log.

Such a task looks once more and goes by what it sees: clear it after a repair, and it tells whether the repair holds. It
fails where the verdict is critical, so that the DAG is red while a start would fail or lose something. It succeeds with
the report in its log on `warning` and `unknown`: a warning asks for attention on a working day, and `unknown` is mostly a
place that does not answer for a moment, which a red DAG each time would teach everybody to overlook. Whoever wants to
hear of these as well has `on_change`. Nothing is tried again: the next round comes by itself.

No task touches a stream: checkpoints are read, and a control log gets a record where the verdict has changed.
"""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG

from streamops.airflow.verdict_rounds import VerdictRounds, rounds_dag, run_gather, shards_of
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


def checkpoint_health_dag(settings: Settings) -> DAG:
    """Shards, then one task for each stream that is not ok; red while one is critical."""
    config, rounds = str(settings.path), settings.checkpoint_health
    shards = shards_of(rounds, settings)
    return rounds_dag(
        namespaced(settings.namespace, CHECKPOINT_HEALTH_DAG),
        rounds=rounds,
        check=lambda shard: run_shard(config, shard=shard, shards=shards),
        gather=lambda answers: run_gather(answers, shards=shards),
        report=lambda shown: run_report(config, shown),
        shards=shards,
        description="Judges the checkpoints of all streams: red while a start would fail or lose something",
        doc=__doc__,
    )


def run_shard(config: str, *, shard: int, shards: int) -> dict[str, Any]:
    """One round over the streams of a shard. AirflowFailException where the settings declare nothing."""
    return _ROUNDS.run_shard(config, shard=shard, shards=shards)


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
