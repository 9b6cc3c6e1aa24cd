"""One incident after the other in a running installation: what a person does in the browser, and what it cost."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from streamops_sandbox.airflow_api import DagRun
from streamops_sandbox.drivers import live_drivers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.timeline import now
from support.agreement import Contradiction, contradictions
from support.agreement_watch import samples_of
from support.airflow_page import FORM, AirflowPage
from support.on_call_sandbox import ORDERS, WORDS, OnCallSandbox

RECONCILE = "streamops_reconcile"
ROUNDS = (RECONCILE, "streamops_checkpoint_health", "streamops_retention_coverage")
A_PERSON_READS = 10
"""Seconds. Airflow 3.3 loses an answer that comes within a second or two of the question."""
PATIENCE = 420.0
"""Seconds for what takes a start of Spark, on two cores that others work on as well."""


@dataclass(slots=True)
class IncidentFigures:
    """What one incident was like for whoever was on call; seconds from its cause."""

    incident: str
    first_red_seconds: float | None = None
    first_red_in: str = ""
    reason_clicks: int | None = None
    reason: list[str] = field(default_factory=list)
    """The lines of the log that was opened first."""
    reason_out_of_view: list[str] = field(default_factory=list)
    """Logs whose reason lies behind the edge of the page, or is cut into pieces there."""
    act_clicks: list[int] = field(default_factory=list)
    """Of each act by the form, its being sent included; the answer to an approval comes on top."""
    approval_clicks: int | None = None
    foretold: int = 0
    """Records whose loss was told before it was accepted."""
    recovered_seconds: float | None = None
    """From the last act, or from the end of the cause where nobody had to act."""
    lost: int | None = None
    doubled: int | None = None
    samples: int = 0
    contradictions: list[str] = field(default_factory=list)


def dag_of(stream: str) -> str:
    return f"stream__{stream}"


def eventually(condition: Callable[[], bool], *, seconds: float = PATIENCE) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(1)
    return True


class OnCallStage:
    """The installation, a browser on it, and a watch on all that is said of its streams."""

    def __init__(self, installation: OnCallSandbox, page: AirflowPage, *, figures: Path, samples: Path) -> None:
        self.installation = installation
        self.page = page
        self.api = installation.sandbox.api()
        self._figures = figures
        self._samples = samples

    @contextmanager
    def incident(self, name: str) -> Iterator[IncidentFigures]:
        """Begins and ends with both streams well; the figures are kept however it ends."""
        figures = IncidentFigures(name)
        self.await_calm()
        begin = now()
        try:
            yield figures
            self.await_calm()
            account = self.installation.account()
            figures.lost, figures.doubled = account.lost, account.doubled
        finally:
            samples = [sample for sample in samples_of(self._samples) if sample.at >= begin]
            figures.samples = len(samples)
            figures.contradictions = [_told(one) for one in contradictions(samples)]
            self._keep(figures)

    def await_calm(self) -> None:
        """Both streams run in the list and in truth, and nothing is red any more."""
        assert eventually(lambda: not self._unrest()), self._unrest()

    def act(self, figures: IncidentFigures, stream: str, act: str, *, ticks: Iterable[str] = ()) -> str:
        """The form, filled in from the list of DAGs; the id of its run."""
        before = {run.run_id for run in self.api.dag_runs(FORM)}
        self.page.open_list()
        self.page.fill_form(stream=stream, act=act, reason=f"{figures.incident}: {act}", ticks=ticks)
        figures.act_clicks.append(self.page.clicks)
        assert eventually(lambda: bool({run.run_id for run in self.api.dag_runs(FORM)} - before))
        return next(run.run_id for run in self.api.dag_runs(FORM) if run.run_id not in before)

    def await_task(self, run: str, task: str, state: str) -> None:
        """A task of the form, in that state."""
        assert eventually(lambda: self.tasks(run).get(task) == state), self.tasks(run)

    def tasks(self, run: str) -> Mapping[str, str | None]:
        return {task.task_id: task.state for task in self.api.task_instances(FORM, run)}

    def stop(self, figures: IncidentFigures, stream: str) -> None:
        """By the form, until no driver lives; part of the setting, so its clicks don't count."""
        self.await_task(self.act(figures, stream, "stop"), "verify", "success")
        figures.act_clicks.clear()
        assert eventually(lambda: self.newest(dag_of(stream)).state == "success", seconds=120)

    def approve(self, figures: IncidentFigures, run: str) -> str:
        """The question of a run, read and answered from the list of DAGs."""
        self.await_task(run, "approve", "awaiting_input")
        time.sleep(A_PERSON_READS)
        self.page.open_list()
        self.page.open_latest_run(FORM)
        self.page.open_task("approve")
        question = self.page.answer("Approve")
        figures.approval_clicks = self.page.clicks
        return question

    def await_red(self, figures: IncidentFigures, stream: str, cause: datetime, *, seconds: float = 300) -> None:
        """Until a DAG that tells of the stream has a run that failed after the cause."""
        assert eventually(lambda: self._red_since(stream, cause) is not None, seconds=seconds), "nothing is red"
        red = self._red_since(stream, cause)
        assert red is not None
        dag, ended_at = red
        figures.first_red_in, figures.first_red_seconds = dag, round((ended_at - cause).total_seconds(), 1)

    def read_reason(self, figures: IncidentFigures, dag: str, task: str, *, awaited: str) -> tuple[str, ...]:
        """From the list of DAGs to the log of what is red there."""
        self.page.open_list()
        self.page.await_listed(dag, "failed")
        self.page.picture(f"{figures.incident} list")
        self.page.open_latest_run(dag)
        self.page.open_task(task)
        lines = self.page.log_lines(awaited=awaited)
        self.page.picture(f"{figures.incident} {task} of {dag}")
        if not self.page.is_in_view(awaited):
            figures.reason_out_of_view.append(f"{task} of {dag}")
        if figures.reason_clicks is None:
            figures.reason_clicks, figures.reason = self.page.clicks, list(lines)
        return lines

    def await_running(self, figures: IncidentFigures, streams: Iterable[str], since: datetime) -> None:
        """Until they commit again and the list says so."""
        waiting = tuple(streams)
        assert eventually(lambda: not any(self._unrest_of(stream) for stream in waiting)), self._unrest()
        figures.recovered_seconds = round((now() - since).total_seconds(), 1)
        self.page.open_list()
        for stream in waiting:
            self.page.await_listed(dag_of(stream), "running")
        self.page.picture(f"{figures.incident} over")

    def newest(self, dag: str) -> DagRun:
        return self.api.dag_runs(dag)[0]

    def drivers(self, stream: str) -> list[tuple[int, int]]:
        """Epoch and leader of each that lives."""
        control = self.installation.streams[stream].timeline.control
        return [driver.identity for driver in live_drivers(control)]

    def is_watched(self, stream: str, *, after: datetime) -> bool:
        """Whether a trigger watches it that was begun after that moment."""
        dag = dag_of(stream)
        return any(
            task.state == "deferred" and task.started_at is not None and task.started_at > after
            for task in self.api.task_instances(dag, self.newest(dag).run_id)
        )

    def status_code(self) -> int:
        """What `streamops status` ends with."""
        command = [sys.executable, "-m", "streamops.cli.main", "status"]
        return subprocess.run(command, env=self.installation.environment(), capture_output=True).returncode

    def _red_since(self, stream: str, cause: datetime) -> tuple[str, datetime] | None:
        red = [
            (dag, run.ended_at)
            for dag in (dag_of(stream), *ROUNDS)
            for run in self._runs(dag)[:3]
            if run.state == "failed" and run.ended_at and run.ended_at > cause
        ]
        return min(red, key=lambda found: found[1]) if red else None

    def _runs(self, dag: str) -> tuple[DagRun, ...]:
        """None while Airflow does not answer."""
        try:
            return self.api.dag_runs(dag)
        except SandboxError:
            return ()

    def _unrest(self) -> str:
        """What is not well yet; empty when all is."""
        for stream in (ORDERS, WORDS):
            if unrest := self._unrest_of(stream):
                return unrest
        ended = [run for run in self._runs(RECONCILE) if run.state in ("success", "failed")]
        return "" if ended and ended[0].state == "success" else f"{RECONCILE} is red"

    def _unrest_of(self, stream: str) -> str:
        runs = self._runs(dag_of(stream))
        if not runs or runs[0].state != "running":
            return f"{stream}: {runs[0].state if runs else 'no run'} in the list"
        timeline = self.installation.streams[stream].timeline
        newest = timeline.state().newest
        if newest is None or len(self.drivers(stream)) != 1:
            return f"{stream}: drivers {self.drivers(stream)}"
        begun = newest.claim.position.commit
        return "" if timeline.committed() > begun else f"{stream}: no batch of epoch {newest.number}"

    def _keep(self, figures: IncidentFigures) -> None:
        """With those of earlier incidents."""
        kept = json.loads(self._figures.read_text()) if self._figures.is_file() else {}
        kept[figures.incident] = asdict(figures)
        self._figures.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _told(found: Contradiction) -> str:
    first = found.first
    return (
        f"{found.rule} {found.stream} at {first.at.astimezone(UTC):%H:%M:%S} for {found.lasted.total_seconds():.0f} s: status"
        f" {first.status.name} ({first.phase}), reconcile {first.reconcile.name}, plan {first.plan.name}, next step"
        f" {first.next_step}, list {first.list_state}"
    )
