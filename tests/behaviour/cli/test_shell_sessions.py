"""The shell sessions of the pages: played anew, they say what the pages say."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.storage import join
from support.base_checkpoint import files
from support.checkpoints import commit, metadata, offsets
from support.clock import START
from support.dead_letters import EMPTY, a_letter, append
from support.progress import RECORDED, leave
from support.sending import FakeSender
from support.settings import a_declared_stream
from support.shell_sessions import Session, sessions
from support.terminal import NO_JITTER, Terminal

AMOUNT = "amount is missing or not a decimal(38,18)"
ELSEWHERE = "/srv"
"""What the pages call the folder of the project."""


def damaged_commit(terminal: Terminal) -> None:
    for name, content in files(commits_4=b"").items():
        file = terminal.project.root / "checkpoints" / "orders" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def one_runs_out_of_time_and_one_has_lost_records(terminal: Terminal) -> None:
    of_returns = {"source": {"kafka": {"topics": ["returns"]}}}
    streams = {"orders": a_declared_stream("orders"), "returns": a_declared_stream("returns", **of_returns)}
    terminal.project.load(streams=streams, defaults=NO_JITTER)
    terminal.broker.has("orders", (0, 20_000), (0, 20_000), (0, 20_000))
    terminal.broker.has("returns", (800, 900))
    for partition, left in ((0, timedelta(hours=4)), (1, timedelta(hours=5))):
        terminal.broker.times["orders", partition] = START - timedelta(days=7) + left
    _leave_query(terminal, "orders", '{"orders":{"0":12000,"1":12500,"2":20000}}')
    _leave_query(terminal, "returns", '{"returns":{"0":500}}')


def _leave_query(terminal: Terminal, stream: str, ends: str) -> None:
    """A query that is not running, and has read up to these offsets."""
    checkpoint = terminal.spec(stream).checkpoint
    for name, content in {"metadata": metadata(), "offsets/0": offsets(ends), "commits/0": commit()}.items():
        terminal.storage.write(join(checkpoint, name), content)


def ten_batches_with_state(terminal: Terminal) -> None:
    terminal.started()
    leave(terminal, (RECORDED / "state-rocksdb.jsonl").read_bytes())


def dead_letters(terminal: Terminal) -> None:
    terminal.broker.has("orders", (0, 1000), (0, 1000), topic_id="first")
    terminal.wiring = replace(terminal.wiring, sender=lambda access, clock: FakeSender(terminal.broker))
    comma = [
        a_letter(
            500 + minute, partition=minute % 2, minutes=minute, value=b'{"amount": "%d,00"}' % minute, reason=AMOUNT
        )
        for minute in range(41)
    ]
    folder = terminal.project.root / "data/dead/orders"
    append(folder, a_letter(3, minutes=3), *comma, a_letter(871, partition=1, minutes=90, value=None, reason=EMPTY))


def three_partitions(terminal: Terminal) -> None:
    ten_batches_with_state(terminal)
    terminal.broker.has("orders", (0, 10_000), (0, 10_000), (0, 10_000))


STAGES: dict[str, Callable[[Terminal], None]] = {
    "damaged-commit": damaged_commit,
    "lag": one_runs_out_of_time_and_one_has_lost_records,
    "batches": ten_batches_with_state,
    "estimate": ten_batches_with_state,
    "dead-letters": dead_letters,
    "backfill": three_partitions,
}


@pytest.mark.parametrize(
    "session", [pytest.param(session, id=f"{session.page.name}-{session.name}") for session in sessions()]
)
def test_a_session_says_what_the_commands_say(
    session: Session, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    STAGES[session.name](terminal)
    monkeypatch.chdir(terminal.project.root)

    def answer(arguments: list[str]) -> str:
        assert arguments[0] == "streamops"
        answer = terminal.run(*arguments[1:])
        shown = (answer.err + answer.out).replace(str(terminal.project.root), ELSEWHERE)
        return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())

    played = session.played(answer)

    if os.environ.get("STREAMOPS_WRITE_SESSIONS"):
        session.write(played)
    else:
        assert played == session.text, "write it anew: STREAMOPS_WRITE_SESSIONS=1 pytest " + __file__
