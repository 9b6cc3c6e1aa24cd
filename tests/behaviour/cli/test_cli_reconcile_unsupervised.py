"""`streamops reconcile` exits with 4 as long as a stream is unsupervised, whatever the cause."""

import pytest

from streamops.control import codec
from streamops.control.attendance import Attendance, attendance_address
from streamops.control.records import Author
from streamops.reconcile.facts import StreamTask
from streamops.reconcile.finding import FindingStore, ToldTask, ToldTasks, write_book
from support.settings import a_declared_stream
from support.specs import seconds
from support.terminal import Terminal

DAG = "stream__orders"


def sign(terminal: Terminal, *, ago: float = 0) -> None:
    """The trigger in Airflow looked after `orders` so many seconds ago."""
    by = Author(actor="airflow:trigger", host="host-1", pid=7)
    attendance = Attendance(stream="orders", at=terminal.clock.now() - seconds(ago), by=by)
    terminal.storage.write(
        attendance_address(terminal.project.address("data/state"), "orders"), codec.encode(attendance)
    )


def tell(terminal: Terminal, task: StreamTask) -> None:
    """The reconciler in Airflow has just been told this."""
    told = ToldTasks(at=terminal.clock.now(), idle=(ToldTask(stream="orders", task=task),))
    write_book(terminal.storage, terminal.project.address("data/state"), FindingStore(told=told))


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        pytest.param(StreamTask(dag=DAG, is_paused=True), "paused-dag", id="paused"),
        pytest.param(StreamTask(dag=DAG, is_present=False), "missing-dag", id="missing"),
    ],
)
def test_a_dag_that_keeps_nothing_running(terminal: Terminal, task: StreamTask, kind: str) -> None:
    terminal.started()
    sign(terminal)
    tell(terminal, task)

    answer = terminal.run("reconcile")

    assert answer.code == 4
    assert answer.out.splitlines()[2].split() == ["critical", "orders", kind]


def test_a_deferred_task_whose_triggerer_is_dead_or_whose_runs_were_deleted(terminal: Terminal) -> None:
    """Either way nobody signs any more; 90 s are given."""
    terminal.started()
    terminal.make_sound()
    sign(terminal, ago=90)
    assert terminal.run("reconcile").code == 0

    sign(terminal, ago=91)

    answer = terminal.run("reconcile")
    assert answer.code == 4
    assert answer.out.splitlines()[2].split() == ["critical", "orders", "unattended"]


def test_one_bad_stream_in_the_settings(terminal: Terminal) -> None:
    """It runs, and is shown beside the others."""
    terminal.declare("orders", "returns")
    terminal.started("orders")
    terminal.started("returns")
    terminal.make_sound()
    terminal.clock.advance(seconds(91))
    bad = a_declared_stream("returns", job="jobs/none.py")
    terminal.project.load(streams={"orders": a_declared_stream(), "returns": bad})

    answer = terminal.run("reconcile", "--json")

    found = {(finding["stream"], finding["kind"], finding["severity"]) for finding in answer.document["findings"]}
    assert found == {("orders", "unattended", "critical"), ("returns", "wrong-settings", "critical")}
    assert answer.code == 4


def test_a_stream_that_somebody_signs_for_and_that_stands_still(terminal: Terminal) -> None:
    terminal.launcher.end(terminal.started())
    terminal.clock.advance(seconds(301))
    sign(terminal)

    answer = terminal.run("reconcile")

    assert answer.code == 4
    assert answer.out.splitlines()[2].split() == ["critical", "orders", "overdue"]
    assert "airflow:trigger on host-1, who looks after it, gets no further" in answer.out
