"""DAGs from the settings: one for each stream, one that shows what is wrong with the rest, and those of the fleet."""

from collections.abc import Callable, Iterator
from datetime import timedelta

from airflow.sdk import DAG, get_parsing_context, task
from airflow.sdk.exceptions import AirflowFailException
from airflow.utils.types import DagRunType

from streamops.airflow.checkpoint_health_dag import CHECKPOINT_HEALTH_DAG, checkpoint_health_dag
from streamops.airflow.explicit_dag import CONFIG_ERRORS_DAG, URGENT, explicit_dag
from streamops.airflow.namespaces import dag_file, own_namespace
from streamops.airflow.operators import AwaitReleaseOperator, StreamOperator
from streamops.airflow.ops_dag import OPS_DAG, ops_dag
from streamops.airflow.reconcile_dag import RECONCILE_DAG, reconcile_dag
from streamops.airflow.retention_coverage_dag import RETENTION_COVERAGE_DAG, retention_coverage_dag
from streamops.airflow.runs_dag import BACKFILL_DAG, CATCHUP_DAG, backfill_dag, catchup_dag, scheduled_dag
from streamops.errors import SettingsError
from streamops.settings import Settings, settings_in_force
from streamops.spec import Mode, StreamSpec
from streamops.spec.wire import dag_id_of, namespaced


def build_dags(config: str) -> Iterator[DAG]:
    """The DAGs of a settings file; in a worker only the one that it asks for.

    A stream whose declaration is wrong keeps the DAG of its last good one, and so does every stream while the file can't be
    read: Airflow 3.3 takes a DAG for gone that its file does not give, and then wakes no task of it. SettingsError, which
    Airflow shows as an import error, only where no good version is kept either, and where other files make DAGs of these ids.
    """
    wanted = get_parsing_context().dag_id
    settings = settings_in_force(config, keep=wanted is None)
    if not settings.state_root:
        raise SettingsError("\n".join(str(problem) for problem in settings.whole))
    if wanted is None:
        own_namespace(settings.namespace, config, dag_file=dag_file())
    for spec in settings.streams:
        if wanted in (None, dag_id_of(spec)):
            yield scheduled_dag(spec, settings) if spec.mode is Mode.SCHEDULED else _stream_dag(spec, settings)
    if settings.problems and wanted in (None, namespaced(settings.namespace, CONFIG_ERRORS_DAG)):
        yield _config_errors_dag(settings)
    if not settings.streams and not settings.errors:
        return
    for dag_id, build in _FLEET_DAGS.items():
        if wanted in (None, namespaced(settings.namespace, dag_id)):
            yield build(settings)


_FLEET_DAGS: dict[str, Callable[[Settings], DAG]] = {
    RECONCILE_DAG: reconcile_dag,
    CHECKPOINT_HEALTH_DAG: checkpoint_health_dag,
    RETENTION_COVERAGE_DAG: retention_coverage_dag,
    OPS_DAG: ops_dag,
    CATCHUP_DAG: catchup_dag,
    BACKFILL_DAG: backfill_dag,
}
"""What looks after all streams, or serves for any of them; there as soon as anything is declared."""


def _stream_dag(spec: StreamSpec, settings: Settings) -> DAG:
    """`@continuous` with scheduled runs only: a manual run would queue for ever behind the one that lives."""
    config = str(settings.path)
    with explicit_dag(
        dag_id_of(spec),
        description=spec.description or f"Keeps {spec.name} running",
        schedule="@continuous",
        tags=["stream"],
        weight=URGENT,
        run_types=[DagRunType.SCHEDULED],
    ) as dag:
        await_release = AwaitReleaseOperator(task_id="await_release", stream=spec.name, config=config)
        supervise = StreamOperator(task_id="supervise", stream=spec.name, config=config)
        await_release >> supervise
    return dag


def _config_errors_dag(settings: Settings) -> DAG:
    """Red as long as anything is wrong, and the one place where that is red: no stream stops for it."""
    problems = "\n".join(f"- {problem}" for problem in settings.problems)
    kept = ", ".join(f"{kept.name} (declared since {kept.since:%Y-%m-%d %H:%M} UTC)" for kept in settings.kept)
    text = f"{problems}\n\nUntil then these go on as they were declared last: {kept}." if kept else problems
    with explicit_dag(
        namespaced(settings.namespace, CONFIG_ERRORS_DAG),
        description="What is wrong in the settings file",
        schedule=timedelta(minutes=5),
        doc=f"Mend these in the settings file; the DAG goes away by itself.\n\n{text}",
    ) as dag:

        @task(task_id="report")
        def report() -> None:
            raise AirflowFailException(f"{len(settings.problems)} problem(s) in the settings:\n{text}")

        report()
    return dag
