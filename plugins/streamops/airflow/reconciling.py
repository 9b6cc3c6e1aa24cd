"""The task of `streamops_reconcile`: what is declared against what is.

It is red as long as anything critical is left, and its log tells what is new. A task has no access to Airflow's
database; what it may ask the execution API is enough: whether a DAG is there and paused, and how many of its runs and
deferred tasks live. Whether a trigger lives is not among it: its sign of attendance tells.
"""

import logging
from functools import partial
from typing import Any, cast

from airflow.sdk.exceptions import AirflowFailException, AirflowRuntimeError

from streamops.airflow.explicit_dag import tried_once
from streamops.airflow.hooks.kafka import kafka_access
from streamops.airflow.page_text import fitting
from streamops.airflow.services import supervisor_of
from streamops.clock import SystemClock
from streamops.fleet.newest_verdicts import VerdictPorts, newest_verdicts
from streamops.kafka.confluent import ConfluentBroker
from streamops.launch.local import LocalLauncher
from streamops.operations.requests import this_author
from streamops.reconcile import DeclaredStreams, ReconcilePorts, Reconciler, ReconcileSeverity, Report
from streamops.reconcile.facts import StreamTask
from streamops.reconcile.finding import ReconcileFinding, told
from streamops.reconcile.observe import written_at
from streamops.settings import Settings, settings_in_force
from streamops.spec import Mode
from streamops.spec.wire import catchup_dag_id, namespaced, stream_dag_id

log = logging.getLogger(__name__)

RECONCILE_DAG = "streamops_reconcile"
SUPERVISE_TASK = "supervise"
RUN_TASK = "run"
LIVING_RUNS = ["queued", "running"]
NOT_FOUND = 404


def run_reconciler(config: str) -> None:
    """Reconcile once, with acts. AirflowFailException with the findings while something critical is left, and for whatever goes
    wrong: the next run comes in a minute.
    """
    with tried_once():
        _reconcile(settings_in_force(config))


def _reconcile(settings: Settings) -> None:
    if not settings.state_root:
        whole = [str(problem) for problem in settings.whole]
        raise AirflowFailException("the settings declare nothing that could be compared:\n" + "\n".join(whole))
    tell(_reconciler(settings).run(act=True))


def tell(report: Report) -> None:
    """Log each finding once with its age, and fail when something critical is left."""
    for finding in report.findings:
        log.log(_level(finding), "%s %s %s", finding.severity.name, _age(finding), told(finding))
    critical = report.at(ReconcileSeverity.CRITICAL)
    if not critical:
        log.info("%d streams compared, %d findings, none critical", report.streams, len(report.findings))
        return
    news = sum(finding.is_new for finding in critical)
    count = f"{len(critical)} critical, {news} of them new, the others known before"
    raise AirflowFailException("\n".join((*map(_for_the_page, critical), count)))


class AirflowFacts:
    """What a running task may ask its Airflow about other DAGs."""

    def __init__(self, scheduled: frozenset[str] = frozenset(), *, namespace: str = "") -> None:
        """`scheduled`: the streams that run at set times, in DAGs of another name."""
        self._scheduled = scheduled
        self._namespace = namespace

    def task_of(self, stream: str, *, in_detail: bool) -> StreamTask | None:
        """See OrchestratorFacts. None when the API server does not answer: unknown is not missing."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

        is_scheduled = stream in self._scheduled
        dag = (catchup_dag_id if is_scheduled else stream_dag_id)(stream, namespace=self._namespace)
        task = RUN_TASK if is_scheduled else SUPERVISE_TASK
        try:
            is_paused = bool(RuntimeTaskInstance.get_dag(dag).is_paused)
            if not in_detail:
                return StreamTask(dag=dag, is_paused=is_paused)
            return StreamTask(
                dag=dag,
                is_paused=is_paused,
                living_runs=RuntimeTaskInstance.get_dr_count(dag, states=LIVING_RUNS),
                is_deferred=RuntimeTaskInstance.get_ti_count(dag, task_ids=[task], states=["deferred"]) > 0,
            )
        except Exception as error:
            # Whatever is wrong on Airflow's side, what the logs and the process table say is reported all the same.
            if _status_of(error) == NOT_FOUND:
                return StreamTask(dag=dag, is_present=False)
            log.warning("stream=%s Airflow does not tell about %s: %s", stream, dag, error)
            return None


def _status_of(error: Exception) -> int | None:
    """The server's answer behind an error; a worker wraps it, `airflow dags test` does not."""
    if isinstance(error, AirflowRuntimeError):
        return cast(dict[str, Any], error.error.detail or {}).get("status_code")
    return getattr(getattr(error, "response", None), "status_code", None)


def _reconciler(settings: Settings) -> Reconciler:
    actor = f"airflow:{namespaced(settings.namespace, RECONCILE_DAG)}"
    declared = DeclaredStreams(
        state_root=settings.state_root,
        specs=settings.streams,
        wrong=tuple((problem.stream, str(problem)) for problem in settings.errors),
        left=frozenset(kept.name for kept in settings.kept if kept.has_left),
        changed_at=written_at(settings.path),
    )
    doors = ReconcilePorts(
        storage_for=settings.storage_for,
        launcher=LocalLauncher(),
        clock=SystemClock(),
        supervisor_of=partial(supervisor_of, state_root=settings.state_root, actor=actor, may_submit=True),
        verdicts_of=lambda specs, running_since: newest_verdicts(specs, running_since, _verdict_ports(settings)),
        orchestrator=AirflowFacts(
            frozenset(spec.name for spec in settings.streams if spec.mode is Mode.SCHEDULED),
            namespace=settings.namespace,
        ),
    )
    return Reconciler(declared=declared, doors=doors, author=this_author(actor))


def _verdict_ports(settings: Settings) -> VerdictPorts:
    clock = SystemClock()
    return VerdictPorts(
        state_root=settings.state_root,
        storage_for=settings.storage_for,
        access_for=kafka_access,
        broker_for=lambda access: ConfluentBroker(access, clock),
        clock=clock,
        checkpoint_health=settings.checkpoint_health,
        retention_coverage=settings.retention_coverage,
    )


def _for_the_page(finding: ReconcileFinding) -> str:
    """The cause first, each sentence on lines of its own that end before the edge of Airflow's page."""
    whose = f"{finding.stream}: " if finding.stream else ""
    done = (f"  done: {finding.done}",) if finding.done else ()
    return fitting(
        "\n".join(
            (
                f"{whose}{finding.evidence}",
                f"  {finding.kind} {_age(finding)}: {finding.meaning}",
                *done,
                f"  repair: {finding.repair}",
            )
        )
    )


def _age(finding: ReconcileFinding) -> str:
    return "[new]" if finding.since is None else f"[since {finding.since:%Y-%m-%d %H:%M} UTC]"


def _level(finding: ReconcileFinding) -> int:
    """What is known already is no news, however bad it is."""
    if finding.is_repaired or not finding.is_new:
        return logging.INFO
    return logging.ERROR if finding.severity is ReconcileSeverity.CRITICAL else logging.WARNING
