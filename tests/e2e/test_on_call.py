"""Incidents as whoever is on call meets them: Airflow's page in a real browser, over real Spark and Kafka.

What is proven of each incident:

1. Something in the list of DAGs is red within a minute of the cause, and the reason is two clicks away.
2. The way out is the form. What could only fail is refused there before anything is written.
3. Nothing is lost beyond what was foretold, and nothing comes twice.
4. `status`, `reconcile`, `plan`, the list of DAGs and the supervisor's next step never contradict each other.

Pictures of each step and the figures are kept in `.sandbox/on-call` and `.sandbox/on-call.json`. A click is one of the mouse: the
words of the form are typed.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from streamops_sandbox.airflow import Component
from streamops_sandbox.drivers import kill
from streamops_sandbox.state import ADMIN, load_state
from streamops_sandbox.timeline import now
from support.airflow_page import FORM, AirflowPage
from support.on_call_sandbox import ORDERS, WORDS, OnCallSandbox
from support.on_call_stage import RECONCILE, IncidentFigures, OnCallStage, dag_of, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(1800)]

PROJECT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = PROJECT / ".sandbox" / "on-call"
FIGURES = PROJECT / ".sandbox" / "on-call.json"
MOST_CLICKS = 3
A_MINUTE = 60
A_RUN = 30
"""Seconds that one run of a DAG may take on two busy cores."""
BROKER_AWAY = 90


@pytest.fixture(scope="module")
def stage(sandbox_root: Path) -> Iterator[OnCallStage]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: `apt-get install --no-install-recommends chromium`")
    shutil.rmtree(PICTURES, ignore_errors=True)
    FIGURES.unlink(missing_ok=True)
    installation = OnCallSandbox(PROJECT, sandbox_root)
    try:
        installation.up()
        with staged(installation) as found:
            yield found
    finally:
        installation.down()


@contextmanager
def staged(installation: OnCallSandbox) -> Iterator[OnCallStage]:
    """A browser and a watch on what runs already."""
    layout = installation.sandbox.layout
    samples = layout.root / "agreement.jsonl"
    command = [sys.executable, "-m", "support.agreement_watch", str(layout.root), str(PROJECT), str(samples)]
    path = ":".join(str(PROJECT / folder) for folder in ("plugins", "tests", "tests/system"))
    with open(layout.logs / "agreement.log", "w") as log:
        watch = subprocess.Popen(
            command, env={**installation.environment(), "PYTHONPATH": path}, stdout=log, stderr=log
        )
    state = load_state(layout.state)
    assert state is not None
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            tab = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            page = AirflowPage(tab, url=f"http://127.0.0.1:{state.airflow_port}", pictures=PICTURES)
            page.log_in(ADMIN, state.admin_password)
            yield OnCallStage(installation, page, figures=FIGURES, samples=samples)
            browser.close()
    finally:
        watch.kill()
        watch.wait()


def assert_bounds(figures: IncidentFigures) -> None:
    """What every incident has to keep."""
    assert figures.lost == figures.doubled == 0
    assert figures.contradictions == []
    assert figures.samples > 0
    assert figures.reason_clicks is None or figures.reason_clicks <= MOST_CLICKS
    assert figures.reason_out_of_view == []
    assert max(figures.act_clicks, default=0) <= MOST_CLICKS


def assert_refused(stage: OnCallStage, figures: IncidentFigures, stream: str, *, because: str) -> None:
    """A start by the form: its plan is red with the reason, and nothing is put on record."""
    refused = stage.act(figures, stream, "start")
    stage.await_task(refused, "plan", "failed")
    stage.await_task(refused, "act", "upstream_failed")
    stage.read_reason(figures, FORM, "plan", awaited=because)


def start_again(stage: OnCallStage, figures: IncidentFigures, stream: str) -> None:
    """By the form, until batches are committed and the list says so."""
    begin = now()
    started = stage.act(figures, stream, "start")
    stage.await_task(started, "verify", "success")
    stage.await_running(figures, [stream], begin)


def assert_red_in_time(figures: IncidentFigures) -> None:
    """`streamops_reconcile` begins once a minute, so a run of it comes on top of the minute."""
    assert figures.first_red_seconds is not None
    assert figures.first_red_seconds <= A_MINUTE + A_RUN


def test_c1_an_emptied_commit_is_red_refused_and_mended(stage: OnCallStage) -> None:
    with stage.incident("c1") as figures:
        stage.stop(figures, ORDERS)
        commits = stage.installation.checkpoint(ORDERS) / "commits"
        newest = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        (commits / str(newest)).write_bytes(b"")
        stage.await_red(figures, ORDERS, cause=now())
        stage.read_reason(figures, RECONCILE, "reconcile", awaited=f"commits/{newest}")

        assert_refused(stage, figures, ORDERS, because=f"commits/{newest}")

        for file in (commits / str(newest), commits / f".{newest}.crc"):
            file.unlink(missing_ok=True)
        start_again(stage, figures, ORDERS)
    assert_bounds(figures)
    assert_red_in_time(figures)


@pytest.mark.parametrize("name", ["c2", "c2b"])
def test_c2_a_lost_offset_is_red_and_put_back(stage: OnCallStage, name: str) -> None:
    """c2 tries a start first; c2b puts it back before anything was tried."""
    with stage.incident(name) as figures:
        stage.stop(figures, WORDS)
        offsets = stage.installation.checkpoint(WORDS) / "offsets"
        newest = max((file for file in offsets.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
        copy = newest.read_bytes()
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
        stage.await_red(figures, WORDS, cause=now())
        # Either the commits reach it or, where a driver had told of it, the control log has seen it.
        reason = f"batch {newest.name}"
        stage.read_reason(figures, RECONCILE, "reconcile", awaited=reason)

        if name == "c2":
            assert_refused(stage, figures, WORDS, because=reason)

        newest.write_bytes(copy)
        start_again(stage, figures, WORDS)
    assert_bounds(figures)
    assert_red_in_time(figures)


def test_c3_a_lost_state_file_is_red_refused_and_put_back(stage: OnCallStage) -> None:
    with stage.incident("c3") as figures:
        stage.stop(figures, WORDS)
        deltas = stage.installation.checkpoint(WORDS) / "state" / "0" / "0"
        newest = max(deltas.glob("*.delta"), key=lambda file: int(file.stem))
        copy = newest.read_bytes()
        newest.unlink()
        stage.await_red(figures, WORDS, cause=now())
        stage.read_reason(figures, RECONCILE, "reconcile", awaited=newest.name)

        assert_refused(stage, figures, WORDS, because=newest.name)

        newest.write_bytes(copy)
        start_again(stage, figures, WORDS)
    assert_bounds(figures)
    assert_red_in_time(figures)


def test_d_a_broker_that_goes_away_is_red_and_needs_nobody(stage: OnCallStage) -> None:
    with stage.incident("d") as figures:
        cause = now()
        stage.installation.sandbox.broker.kill()
        try:
            stage.await_red(figures, ORDERS, cause)
            stage.read_reason(figures, dag_of(ORDERS), "supervise", awaited="answer")
            time.sleep(max(0.0, BROKER_AWAY - (now() - cause).total_seconds()))
        finally:
            stage.installation.sandbox.start_broker()
        begin = now()
        stage.await_running(figures, [ORDERS, WORDS], begin)
    assert_bounds(figures)
    assert_red_in_time(figures)


def test_e_expired_records_are_given_up_by_name_and_nothing_else_is_lost(stage: OnCallStage) -> None:
    with stage.incident("e") as figures:
        stage.stop(figures, ORDERS)
        time.sleep(20)  # Records come in that it has not read.
        cause = now()
        figures.foretold = stage.installation.delete_what_waits()
        assert figures.foretold > 0
        stage.await_red(figures, ORDERS, cause)
        stage.read_reason(figures, RECONCILE, "reconcile", awaited="needed are deleted")

        assert_refused(stage, figures, ORDERS, because="orders-0")

        accepted = stage.act(figures, ORDERS, "release", ticks=["accept_expired"])
        question = stage.approve(figures, accepted)
        assert "orders-0" in question
        stage.await_task(accepted, "verify", "success")
        start_again(stage, figures, ORDERS)
    assert_bounds(figures)
    assert_red_in_time(figures)


def test_h_scheduler_workers_and_drivers_are_killed_and_nobody_has_to_act(stage: OnCallStage) -> None:
    with stage.incident("h") as figures:
        airflow = stage.installation.sandbox.airflow
        drivers = {stream: stage.drivers(stream) for stream in (ORDERS, WORDS)}
        for pid in stage.installation.pids_of(Component.SCHEDULER, Component.TRIGGERER):
            kill(pid)
        for stream in drivers:
            stage.installation.streams[stream].kill_leader()
        time.sleep(5)
        begin = now()
        airflow.start()

        assert eventually(lambda: all(stage.drivers(stream) != before for stream, before in drivers.items()))
        stage.await_running(figures, [ORDERS, WORDS], begin)
    assert_bounds(figures)


@pytest.mark.parametrize("habit", ["failed", "success", "clear"])
def test_g_what_people_do_to_a_task_leaves_the_stream_alone(stage: OnCallStage, habit: str) -> None:
    dag = dag_of(WORDS)
    with stage.incident(f"g {habit}") as figures:
        before = stage.drivers(WORDS)
        run = stage.newest(dag).run_id
        begin = now()
        if habit == "clear":
            stage.api.clear_task_instance(dag, run, "supervise")
        else:
            stage.api.set_task_state(dag, run, "supervise", state=habit)

        assert eventually(lambda: stage.is_watched(WORDS, after=begin))
        stage.await_running(figures, [WORDS], begin)
        assert stage.drivers(WORDS) == before
    assert_bounds(figures)


@pytest.mark.parametrize("driver", ["lives", "is dead"])
def test_g_a_paused_dag_is_told(stage: OnCallStage, driver: str) -> None:
    dag = dag_of(WORDS)
    with stage.incident(f"g paused, driver {driver}") as figures:
        before = stage.drivers(WORDS)
        stage.page.open_list()
        stage.page.toggle_pause(dag)
        cause = now()
        if driver == "is dead":
            stage.installation.streams[WORDS].kill_leader()
        stage.await_red(figures, WORDS, cause)
        stage.read_reason(figures, RECONCILE, "reconcile", awaited="paused")
        assert stage.status_code() != 0

        stage.page.open_list()
        stage.page.toggle_pause(dag)
        figures.act_clicks.append(stage.page.clicks)
        begin = now()
        stage.await_running(figures, [WORDS], begin)
        assert (stage.drivers(WORDS) == before) == (driver == "lives")
    assert_bounds(figures)
    assert_red_in_time(figures)
