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

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

from streamops.airflow.start_date import START
from streamops.clock import SystemClock
from streamops.errors import SettingsError
from streamops.health.verdict import Verdict
from streamops.settings import Settings, load_settings
from streamops.storage.kinds import storage_for
from streamops.supervisor.health_answer import answer_of, shard_of, summary_of, tasks_of
from streamops.supervisor.health_round import RoundDoors, RoundPace, RoundReport, look_once, run_round
from streamops.supervisor.requests import this_author
from streamops.supervisor.verdict_change import OnChange, VerdictChange, load_on_change

log = logging.getLogger(__name__)

CHECKPOINT_HEALTH_DAG = "streamops_checkpoint_health"
ACTOR = f"airflow:{CHECKPOINT_HEALTH_DAG}"

STUCK = timedelta(minutes=10)
"""A round that waits so long for its tasks to run gives way to the next one."""

_LEVELS = {
    Verdict.OK: logging.INFO,
    Verdict.WARNING: logging.WARNING,
    Verdict.UNKNOWN: logging.WARNING,
    Verdict.CRITICAL: logging.ERROR,
}


def checkpoint_health_dag(settings: Settings) -> DAG:
    """Shards, then one task for each stream that is not ok; red while one is critical."""
    config, rounds = str(settings.path), settings.checkpoint_health
    shards = min(rounds.shards, max(1, len(settings.streams)))
    with DAG(
        dag_id=CHECKPOINT_HEALTH_DAG,
        description="Judges the checkpoints of all streams: red while a start would fail or lose something",
        schedule=rounds.every,
        start_date=START,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
        dagrun_timeout=max(rounds.every, STUCK),
        default_args={"retries": 0, "execution_timeout": rounds.every},
        doc_md=__doc__,
        tags=["streamops"],
    ) as dag:

        @task(task_id="check")
        def check(shard: int) -> dict[str, Any]:
            return run_shard(config, shard=shard, shards=shards)

        # Shards that failed must not hide what the others have found.
        @task(task_id="gather", trigger_rule="all_done")
        def gather(answers: Any) -> list[dict[str, Any]]:
            return run_gather(answers, shards=shards)

        @task(task_id="report", map_index_template="{{ task.op_kwargs['shown']['label'] }}")
        def report(shown: Mapping[str, Any]) -> None:
            run_report(config, shown)

        report.expand(shown=gather(check.expand(shard=list(range(shards)))))
    return dag


def run_shard(config: str, *, shard: int, shards: int) -> dict[str, Any]:
    """One round over the streams of a shard. AirflowFailException where the settings declare nothing."""
    settings = _settings(config)
    specs = [spec for spec in settings.streams if shard_of(spec.name, shards) == shard]
    on_change, trouble = _on_change(settings)
    wrong = tuple(str(problem) for problem in settings.asides)
    found = run_round(
        specs, state_root=settings.state_root, doors=_doors(on_change), pace=RoundPace.within(_every(settings))
    )
    report = RoundReport(looks=found.looks, troubles=(*wrong, *([trouble] if trouble else []), *found.troubles))
    for text in report.troubles:
        log.error("%s", text)
    answer = answer_of(report, shard=shard)
    log.info("%s", summary_of([answer]))
    return answer


def run_gather(answers: Any, *, shards: int) -> list[dict[str, Any]]:
    """What is to be shown of all answers; empty where every stream is ok."""
    given = list(answers)
    log.info("%s", summary_of(given))
    return tasks_of(given, shards=shards)


def run_report(config: str, shown: Mapping[str, Any]) -> None:
    """Show one stream's report as it is now, or a list. AirflowFailException where it is critical."""
    verdict, lines = Verdict(shown["verdict"]), tuple(shown["lines"])
    if shown["stream"]:
        verdict, lines = _present(config, shown["stream"], verdict, lines)
    log.log(_LEVELS[verdict], "%s\n%s", shown["label"], "\n".join(lines))
    if verdict is Verdict.CRITICAL:
        raise AirflowFailException(f"{shown['label']}: {verdict}: {lines[0]}")


def _present(config: str, stream: str, seen: Verdict, lines: tuple[str, ...]) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and the report of now. What was critical is so until a look has shown that it is not."""
    settings = _settings(config)
    spec = next((spec for spec in settings.streams if spec.name == stream), None)
    told = f"the round found {seen}: {'; '.join(lines)}"
    if spec is None:
        return seen, (told, "By now it is not declared any more, or not rightly: see streamops_config_errors.")
    look = look_once(spec, state_root=settings.state_root, doors=_doors(None), pace=RoundPace.within(_every(settings)))
    is_out_of_sight = seen is Verdict.CRITICAL and look.verdict is Verdict.UNKNOWN
    return (seen if is_out_of_sight else look.verdict), (told, "", *look.report)


def _settings(config: str) -> Settings:
    settings = load_settings(config)
    whole = [str(problem) for problem in settings.errors if not problem.stream]
    if whole:
        raise AirflowFailException("the settings declare nothing that could be checked:\n" + "\n".join(whole))
    return settings


def _every(settings: Settings) -> timedelta:
    return settings.checkpoint_health.every


def _doors(on_change: OnChange | None) -> RoundDoors:
    return RoundDoors(storage_for=storage_for, clock=SystemClock(), author=this_author(ACTOR), on_change=on_change)


def _on_change(settings: Settings) -> tuple[OnChange | None, str]:
    """Whom to tell, and why that can't be had: then each change stays untold, to be told when it can."""
    name = settings.checkpoint_health.on_change
    if not name:
        return None, ""
    try:
        return load_on_change(name), ""
    except SettingsError as error:
        trouble = str(error)

    def refuse(change: VerdictChange) -> None:
        raise SettingsError(trouble)

    return refuse, trouble
