"""A batch in flight whose topic has got a partition since, under availableNow: the engine decides, and is not guessed."""

from typing import Any

import pytest

from streamops.storage import join
from support.base_checkpoint import HEADER, entry
from support.checkpoints import commit, metadata
from support.settings import a_project
from support.terminal import Terminal

AVAILABLE_NOW: dict[str, Any] = {"trigger": {"available_now": True}}
WRITTEN_BY_4_0 = HEADER.replace('queryEvolution.enableSourceEvolution":"false', 'stateStore.encodingFormat":"unsaferow')
SAID = "if its Spark is 4.0 from before 4.0.2, availableNow fails on that each time (SPARK-53560)"


@pytest.fixture
def terminal(tmp_path, capsys):
    """A stream of ours whose driver ended within batch 1; its topic has two partitions now, and had one."""
    terminal = Terminal(a_project(tmp_path), capsys)
    terminal.declare("orders")
    terminal.started(batch=1)
    terminal.obey()
    terminal.broker.has("orders", (0, 450), (0, 7))
    return terminal


def written(terminal: Terminal, header: str) -> None:
    checkpoint = terminal.spec().checkpoint
    terminal.storage.write(join(checkpoint, "metadata"), metadata())
    for batch, text in enumerate(('{"orders":{"0":100}}', '{"orders":{"0":150}}')):
        terminal.storage.write(join(checkpoint, "offsets", str(batch)), entry(batch, source=text, header=header))
    terminal.storage.write(join(checkpoint, "commits", "0"), commit())


@pytest.mark.parametrize(
    ("header", "trigger", "is_said"),
    [
        pytest.param(WRITTEN_BY_4_0, AVAILABLE_NOW, True, id="an older Spark wrote it"),
        pytest.param(WRITTEN_BY_4_0, {}, False, id="with another trigger that is nothing to it"),
        pytest.param(HEADER, AVAILABLE_NOW, False, id="the Spark that streamops submits with goes on"),
    ],
)
def test_an_older_spark_is_told_of_and_no_start_is_refused_for_it(terminal, header, trigger, is_said):
    written(terminal, header)
    terminal.declare("orders", **trigger)

    plan = terminal.run("plan", "orders", "--json").document["plan"]
    lag = terminal.run("lag", "orders")
    terminal.settle()

    assert plan["safety"] == "safe-if-idempotent"
    assert (SAID in plan["summary"]) is is_said
    assert (SAID in lag.out, lag.code) == (is_said, 3 if is_said else 0)
    assert terminal.newest().number == 2
