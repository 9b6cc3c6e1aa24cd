"""A real scheduler, triggerer and DAG processor in an installation whose defaults are against us, and settings that break.

What is proven, in order:

1. The first runs of every DAG of the fleet are green, and no default time-out or pause disarms the stream.
2. A settings file that breaks costs nothing: a driver that is killed meanwhile is replaced, and the fault is red in one DAG,
   which no number of red runs pauses. Mended, the fault goes away.
3. A broken DAG file of somebody else's beside ours touches nothing.
4. A stream that left the file by mistake is restarted all the same, and its DAG stays.
5. A forced act in the form waits for a person's answer with its plan: rejected it changes nothing, approved it is put on record.
6. The latest run of a stream's DAG, by which Airflow shows the DAG, is red while the stream is parked, and green once it was
   stopped on purpose; no run begins until the stream may go on, and then one does by itself.

Drivers are processes that sleep: neither Spark nor Kafka is needed.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamops.control.layout import control_folder
from streamops.control.log import ControlLog
from streamops.control.records import Parked
from streamops.control.snapshot import load_state
from streamops.control.state import LogState
from streamops.launch.local import LocalLauncher
from streamops.storage.local import LocalStorage
from streamops_sandbox.airflow_api import AirflowRefusedError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.state import SandboxState, save_state
from streamops_sandbox.waiting import SilentNarrator
from support.records import a_record
from support.settings import Project, a_declared_stream, a_project

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

PROJECT = Path(__file__).parents[2]
FLEET = ("streamops_reconcile", "streamops_checkpoint_health", "streamops_retention_coverage")
CONFIG_ERRORS = "streamops_config_errors"
FORM = "streamops_ops"
HOSTILE = {
    # Seconds. Shorter than a slice of supervision takes here, and far shorter than the usual 600.
    "AIRFLOW__CORE__DEFAULT_TASK_EXECUTION_TIMEOUT": "1",
    "AIRFLOW__CORE__MAX_CONSECUTIVE_FAILED_DAG_RUNS_PER_DAG": "1",
    "AIRFLOW__CORE__DEFAULT_TASK_RETRIES": "0",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
    "AIRFLOW__SCHEDULER__CATCHUP_BY_DEFAULT": "True",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
    # A DAG that its file does not give any more is gone after this time, 50 s by default.
    "AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": "10",
}
A_PERSON_READS = 10
"""Seconds. Airflow 3.3 loses the end of a task that goes on in the moment in which it was put aside (issues 72716 and 71580)."""
A_MINUTE = 60
"""Seconds from the cause to the page, at most."""
SPARK_SUBMIT = "#!/bin/sh\nexec sleep 3600\n"


class Installation:
    """An Airflow with a DAG folder of its own and a settings file with two streams."""

    def __init__(self, sandbox: Sandbox, project: Project) -> None:
        self.sandbox = sandbox
        self.project = project
        self.api = sandbox.api()
        self.launcher = LocalLauncher()

    def declare(self, *names: str) -> None:
        submit = str(self.project.root / "bin" / "spark-submit")
        streams = {
            name: a_declared_stream(name, launch={"spark_submit": submit}, restart={"initial_delay": "0s"})
            for name in names
        }
        self.project.load(streams=streams)

    def log(self, stream: str) -> LogState:
        checkpoint = self.project.address(f"data/checkpoints/{stream}")
        return load_state(LocalStorage(), control_folder(checkpoint))

    def epoch(self, stream: str) -> int:
        """The newest epoch of which a driver lives; 0 for none."""
        newest = self.log(stream).newest
        if newest is None or newest.submission is None or not newest.is_open:
            return 0
        return newest.number if self.launcher.poll(newest.submission.handle).state.value == "running" else 0

    def latest(self, stream: str) -> str:
        """The state of the newest run, by which the list of DAGs shows a DAG."""
        runs = self.api.dag_runs(f"stream__{stream}")
        return str(runs[0].state) if runs else ""

    def park(self, stream: str) -> None:
        """As the policy does."""
        checkpoint = self.project.address(f"data/checkpoints/{stream}")
        log = ControlLog(LocalStorage(), control_folder(checkpoint))
        log.append(a_record(Parked(), self.log(stream).next_number, reason="tried"))

    def act(self, act: str, stream: str = "orders") -> None:
        """By the form, up to its record."""
        run = self.api.start_run(FORM, {"stream": stream, "reason": "tried", "act": act})
        assert eventually(lambda: self.states_of(run).get("act") == "success"), self.states_of(run)

    def kill(self, stream: str) -> None:
        newest = self.log(stream).newest
        assert newest is not None
        assert newest.submission is not None
        self.launcher.kill(newest.submission.handle)

    def is_sleeping(self, stream: str) -> bool:
        """Whether a trigger watches the stream."""
        dag = f"stream__{stream}"
        return any(
            task.state == "deferred" and task.task_id == "supervise"
            for run in self.api.dag_runs(dag)[:2]
            for task in self.api.task_instances(dag, run.run_id)
        )

    def states(self, dag: str) -> list[str]:
        """Of the runs that have ended, the oldest first; none where there is no such DAG."""
        try:
            runs = self.api.dag_runs(dag)
        except AirflowRefusedError:
            return []
        return [run.state for run in reversed(runs) if run.state in ("success", "failed")]

    def ask(self, **form: object) -> str:
        """The form of acts, filled in; the id of the run, whose approval waits for an answer."""
        run = self.api.start_run(FORM, {"stream": "orders", "reason": "tried", **form})
        assert eventually(lambda: self.states_of(run).get("approve") == "awaiting_input"), self.states_of(run)
        return run

    def answer(self, run: str, option: str) -> None:
        time.sleep(A_PERSON_READS)
        path = f"dags/{FORM}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
        self.api.patch(path, {"chosen_options": [option], "params_input": {}})

    def plan_before_people(self, run: str) -> str:
        (asked,) = self.api.get(f"dags/{FORM}/dagRuns/{run}/hitlDetails")["hitl_details"]
        return str(asked["body"])

    def states_of(self, run: str) -> dict[str, str | None]:
        return {task.task_id: task.state for task in self.api.task_instances(FORM, run)}

    def dag(self, dag: str) -> dict[str, object]:
        return self.api.get(f"dags/{dag}")


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    root = tmp_path_factory.mktemp("hostile")
    project = a_project(root / "project")
    submit = project.root / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(SPARK_SUBMIT)
    submit.chmod(0o755)
    layout = SandboxLayout(project=PROJECT, root=root / "sandbox", own_dags=True)
    layout.create_folders()
    shutil.copytree(PROJECT / "dags", layout.dags, ignore=shutil.ignore_patterns("__pycache__"))
    save_state(layout.state, SandboxState.choose())
    added = {"STREAMOPS_CONFIG": str(project.file), **HOSTILE}
    sandbox = Sandbox(layout, narrator=SilentNarrator(), added=added)
    found = Installation(sandbox, project)
    found.declare("orders", "returns")
    try:
        sandbox.airflow.start()
        yield found
    finally:
        sandbox.airflow.stop()
        for stream in ("orders", "returns"):
            if found.epoch(stream):
                found.kill(stream)


def eventually(condition: Callable[[], bool], *, seconds: float = 240) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(1)
    return True


def test_the_first_look_is_green_and_no_default_disarms_a_stream(installation: Installation) -> None:
    assert eventually(lambda: installation.epoch("orders") == installation.epoch("returns") == 1)
    assert eventually(lambda: installation.is_sleeping("orders") and installation.is_sleeping("returns"))
    assert eventually(lambda: all(installation.states(dag) for dag in FLEET))

    assert {dag: installation.states(dag)[0] for dag in FLEET} == dict.fromkeys(FLEET, "success")
    assert installation.states("streamops_reconcile").count("failed") == 0
    assert installation.dag("stream__orders")["is_paused"] is False


def test_a_driver_is_replaced_while_the_settings_are_broken_and_the_fault_is_red_in_one_place(
    installation: Installation,
) -> None:
    sound = installation.project.file.read_text()
    installation.project.file.write_text(sound.replace("streams:", "streams: [", 1))
    assert eventually(lambda: len(installation.states(CONFIG_ERRORS)) >= 1)
    time.sleep(30)  # Longer than it takes to find a DAG stale.

    installation.kill("orders")

    assert eventually(lambda: installation.epoch("orders") == 2)
    assert eventually(lambda: installation.is_sleeping("orders"))
    assert installation.dag("stream__orders")["is_stale"] is False
    assert set(installation.states(CONFIG_ERRORS)) == {"failed"}
    assert installation.dag(CONFIG_ERRORS)["is_paused"] is False
    assert installation.api.get("importErrors")["total_entries"] == 0
    installation.project.file.write_text(sound)
    assert eventually(lambda: bool(installation.dag(CONFIG_ERRORS)["is_stale"]))


def test_a_broken_dag_file_beside_ours_touches_nothing(installation: Installation) -> None:
    others = installation.sandbox.layout.dags / "reports.py"
    others.write_text("from airflow.sdk import DAG\n  this is no Python\n")
    assert eventually(lambda: installation.api.get("importErrors")["total_entries"] == 1)

    installation.kill("orders")

    assert eventually(lambda: installation.epoch("orders") == 3)
    others.unlink()


def test_a_stream_that_left_the_file_by_mistake_is_restarted(installation: Installation) -> None:
    installation.declare("orders")
    time.sleep(30)

    installation.kill("returns")

    assert eventually(lambda: installation.epoch("returns") == 2)
    assert installation.dag("stream__returns")["is_stale"] is False


def test_a_forced_act_waits_for_a_person(installation: Installation) -> None:
    epoch = installation.epoch("orders")

    rejected = installation.ask(act="stop", force=True)
    assert "stop orders, forced" in installation.plan_before_people(rejected)
    installation.answer(rejected, "Reject")
    assert eventually(lambda: installation.states_of(rejected)["verify"] == "skipped")
    assert installation.states_of(rejected)["act"] == "skipped"
    assert installation.epoch("orders") == epoch

    approved = installation.ask(act="stop", force=True)
    installation.answer(approved, "Approve")
    assert eventually(lambda: installation.states_of(approved)["verify"] == "success")
    stopped = installation.log("orders").desired
    assert stopped is not None
    assert "] approved by " in stopped.reason
    assert installation.epoch("orders") == 0

    harmless = installation.api.start_run(FORM, {"stream": "orders", "reason": "tried", "act": "start"})
    assert eventually(lambda: installation.states_of(harmless).get("act") == "success")
    assert installation.states_of(harmless)["approve"] == "success"
    assert eventually(lambda: installation.epoch("orders") == epoch + 1)


def test_a_parked_stream_is_red_until_it_is_released(installation: Installation) -> None:
    assert eventually(lambda: installation.latest("orders") == "running")
    epoch = installation.epoch("orders")

    installation.park("orders")
    installation.kill("orders")

    assert eventually(lambda: installation.latest("orders") == "failed", seconds=A_MINUTE)
    time.sleep(A_MINUTE / 2)
    assert installation.latest("orders") == "failed"
    installation.act("release")
    assert eventually(lambda: installation.latest("orders") == "running", seconds=A_MINUTE)
    assert eventually(lambda: installation.epoch("orders") == epoch + 1)


def test_a_stream_that_is_stopped_on_purpose_does_not_look_as_if_it_ran(installation: Installation) -> None:
    installation.act("stop")
    assert eventually(lambda: installation.epoch("orders") == 0)

    assert eventually(lambda: installation.latest("orders") == "success", seconds=A_MINUTE)
    installation.act("start")
    assert eventually(lambda: installation.latest("orders") == "running", seconds=A_MINUTE)


def test_nothing_of_it_is_left_running(installation: Installation) -> None:
    pids = [daemon.pid for daemon in installation.sandbox.status().daemons if daemon.pid]

    installation.sandbox.airflow.stop()

    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
