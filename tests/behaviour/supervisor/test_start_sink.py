"""A start asks the declared table what it has of the query: batches that it would drop, and one that need not be feared."""

import pytest

from streamops.storage import join
from streamops.supervision.decision import Action
from support.checkpoints import QUERY_ID, commit, metadata, offsets
from support.delta_table import streaming_update, write_table
from support.settings import a_project
from support.terminal import Terminal


@pytest.fixture
def terminal(tmp_path, capsys):
    return Terminal(a_project(tmp_path), capsys)


def stopped(terminal, *, guarantee="idempotent", planned=1, committed=1):
    """A stream of ours whose driver has ended, with these batches in its checkpoint."""
    terminal.declare("orders", sink={"guarantee": guarantee})
    terminal.started(batch=committed)
    checkpoint = terminal.spec().checkpoint
    terminal.storage.write(join(checkpoint, "metadata"), metadata())
    for batch in range(planned + 1):
        terminal.storage.write(join(checkpoint, "offsets", str(batch)), offsets(batch=batch))
    for batch in range(committed + 1):
        terminal.storage.write(join(checkpoint, "commits", str(batch)), commit())
    terminal.obey()


def table_with(terminal, *batches):
    write_table(terminal.project.root / "data/tables/orders", *(streaming_update(QUERY_ID, n) for n in batches))


def test_a_table_that_is_ahead_would_drop_fresh_batches_so_nothing_is_started(terminal):
    stopped(terminal)
    table_with(terminal, 0, 1, 2, 3, 4)

    decision = terminal.settle()

    assert decision.action is Action.PARKED
    assert "a start now is unsafe: " in decision.reason
    assert "the sink has batch 4 of this query already, and drops every batch up to that without an error" in (
        decision.reason
    )


def test_a_table_that_has_the_batch_in_flight_makes_its_rerun_safe_without_a_persons_word(terminal):
    stopped(terminal, guarantee="exactly-once-or-nothing", planned=2, committed=1)
    table_with(terminal, 0, 1, 2)

    terminal.settle()

    assert terminal.newest().number == 2


def test_without_a_table_the_declared_guarantee_decides(terminal):
    stopped(terminal, guarantee="exactly-once-or-nothing", planned=2, committed=1)

    assert terminal.settle().action is Action.PARKED


def test_a_table_that_can_not_be_read_from_here_keeps_nobody_from_starting(terminal):
    """A newer protocol may be the query's own: Spark reads and writes what the library here does not know."""
    stopped(terminal)
    table_with(terminal, 0, 1)
    newer = '{"protocol":{"minReaderVersion":99,"minWriterVersion":99}}'
    (log_of(terminal) / f"{2:020d}.json").write_text(newer)
    report = terminal.run("check", "orders", "--json").document

    terminal.settle()

    assert [found["severity"] for found in report["findings"] if found["rule"] == "unread-sink"] == ["unknown"]
    assert terminal.newest().number == 2


def test_a_table_that_nobody_can_read_any_more_parks_the_stream(terminal):
    """Spark fails on a commit that is no JSON, each time (FAILED_READ_FILE, Delta 4.4)."""
    stopped(terminal)
    table_with(terminal, 0, 1)
    (log_of(terminal) / f"{1:020d}.json").write_bytes(b"{")

    assert terminal.settle().action is Action.PARKED


@pytest.mark.parametrize("content", ["", '{"txnId":"x"}'])
def test_a_commit_of_the_table_that_is_none_stops_the_stream(terminal, content):
    """Spark passes over an empty one, and with it over what it had written, and fails on others (Delta 4.4)."""
    stopped(terminal)
    table_with(terminal, 0, 1)
    (log_of(terminal) / f"{1:020d}.json").write_text(content)

    assert terminal.settle().action is Action.PARKED
    assert terminal.run("check", "orders", "--json").document["restart"]["safety"] == "blocked"


def log_of(terminal):
    return terminal.project.root / "data/tables/orders/_delta_log"


def test_the_plan_shows_it_while_a_driver_lives(terminal):
    """It is read before the checkpoint: a batch that is written meanwhile raises no doubt."""
    stopped(terminal)
    table_with(terminal, 0, 1)
    terminal.settle()
    terminal.beat(batch=2)

    answer = terminal.run("plan", "orders", "--json")

    assert (answer.code, answer.document["plan"]["safety"]) == (0, "safe")
