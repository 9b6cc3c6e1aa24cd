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

from streamops_sandbox.state import ADMIN, load_state
from streamops_sandbox.timeline import now
from support.airflow_page import FORM, AirflowPage
from support.on_call_sandbox import ORDERS, WORDS, OnCallSandbox
from support.on_call_stage import RECONCILE, IncidentFigures, OnCallStage

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(1800)]

PROJECT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = PROJECT / ".sandbox" / "on-call"
FIGURES = PROJECT / ".sandbox" / "on-call.json"
MOST_CLICKS = 3
A_MINUTE = 60
A_ROUND_OF_RECONCILE = 30
"""Seconds that its run may take on two busy cores, on top of the minute until it begins."""
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
    assert max(figures.act_clicks, default=0) <= MOST_CLICKS


def test_c1_an_emptied_commit_is_red_refused_and_mended(stage: OnCallStage) -> None:
    with stage.incident("c1") as figures:
        stage.stop(figures, ORDERS)
        commits = stage.installation.checkpoint(ORDERS) / "commits"
        newest = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        (commits / str(newest)).write_bytes(b"")
        stage.await_red(figures, ORDERS, cause=now())
        stage.read_reason(figures, RECONCILE, "reconcile", awaited=f"commits/{newest}")

        refused = stage.act(figures, ORDERS, "start")
        stage.await_task(refused, "plan", "failed")
        assert stage.tasks(refused)["act"] == "upstream_failed"
        stage.read_reason(figures, FORM, "plan", awaited=f"commits/{newest}")

        for file in (commits / str(newest), commits / f".{newest}.crc"):
            file.unlink(missing_ok=True)
        begin = now()
        started = stage.act(figures, ORDERS, "start")
        stage.await_task(started, "verify", "success")
        stage.await_running(figures, [ORDERS], begin)
    assert_bounds(figures)
    assert figures.first_red_seconds is not None
    assert figures.first_red_seconds <= A_MINUTE + A_ROUND_OF_RECONCILE


def test_c3_a_lost_state_file_is_red_refused_and_put_back(stage: OnCallStage) -> None:
    with stage.incident("c3") as figures:
        stage.stop(figures, WORDS)
        deltas = stage.installation.checkpoint(WORDS) / "state" / "0" / "0"
        newest = max(deltas.glob("*.delta"), key=lambda file: int(file.stem))
        copy = newest.read_bytes()
        newest.unlink()
        stage.await_red(figures, WORDS, cause=now())
        stage.read_reason(figures, RECONCILE, "reconcile", awaited=newest.name)

        refused = stage.act(figures, WORDS, "start")
        stage.await_task(refused, "plan", "failed")
        stage.read_reason(figures, FORM, "plan", awaited=newest.name)

        newest.write_bytes(copy)
        begin = now()
        started = stage.act(figures, WORDS, "start")
        stage.await_task(started, "verify", "success")
        stage.await_running(figures, [WORDS], begin)
    assert_bounds(figures)
    assert figures.first_red_seconds is not None
    assert figures.first_red_seconds <= A_MINUTE + A_ROUND_OF_RECONCILE


def test_d_a_broker_that_goes_away_is_red_and_needs_nobody(stage: OnCallStage) -> None:
    with stage.incident("d") as figures:
        cause = now()
        stage.installation.sandbox.broker.kill()
        stage.await_red(figures, ORDERS, cause)
        stage.read_reason(figures, figures.first_red_in, "supervise", awaited="does not answer")
        time.sleep(max(0.0, BROKER_AWAY - (now() - cause).total_seconds()))

        stage.installation.sandbox.start_broker()
        begin = now()
        stage.await_running(figures, [ORDERS, WORDS], begin)
    assert_bounds(figures)
    assert figures.first_red_seconds is not None
    assert figures.first_red_seconds <= A_MINUTE + A_ROUND_OF_RECONCILE


def test_e_expired_records_are_given_up_by_name_and_nothing_else_is_lost(stage: OnCallStage) -> None:
    with stage.incident("e") as figures:
        stage.stop(figures, ORDERS)
        time.sleep(20)  # Records come in that it has not read.
        cause = now()
        figures.foretold = stage.installation.delete_what_waits()
        assert figures.foretold > 0
        stage.await_red(figures, ORDERS, cause)
        stage.read_reason(figures, RECONCILE, "reconcile", awaited="orders-0")

        refused = stage.act(figures, ORDERS, "start")
        stage.await_task(refused, "plan", "failed")
        stage.read_reason(figures, FORM, "plan", awaited="orders-0")

        accepted = stage.act(figures, ORDERS, "release", ticks=["accept_expired"])
        question = stage.approve(figures, accepted)
        assert "orders-0" in question
        stage.await_task(accepted, "verify", "success")
        begin = now()
        started = stage.act(figures, ORDERS, "start")
        stage.await_task(started, "verify", "success")
        stage.await_running(figures, [ORDERS], begin)
    assert_bounds(figures)
    assert figures.first_red_seconds is not None
    assert figures.first_red_seconds <= A_MINUTE + A_ROUND_OF_RECONCILE
