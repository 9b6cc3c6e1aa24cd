"""Real processes of this host that seem to run a query on a checkpoint."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from streamops.launch.outsiders import find_outsiders

WAITS = "print('ready', flush=True); input()"


@contextmanager
def running(*arguments: str, **kwargs):
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **kwargs
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.communicate("\n", timeout=30)


def found(checkpoint) -> dict[int, str]:
    return {outsider.pid: outsider.evidence for outsider in find_outsiders(str(checkpoint))}


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "checkpoints" / "orders"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("spelling", ["{}", "file://{}", "--checkpoint={}/"])
def test_a_script_that_was_given_the_checkpoint_is_seen(checkpoint, spelling):
    with running("-c", WAITS, spelling.format(checkpoint)) as process:
        assert found(checkpoint)[process.pid] == "the checkpoint is among its arguments"


def test_a_script_that_has_the_checkpoint_in_its_text_is_seen(checkpoint, tmp_path):
    (tmp_path / "legacy.py").write_text(f"CHECKPOINT = 'file:{checkpoint}'\n{WAITS}\n")

    with running("legacy.py", "secret-argument", cwd=tmp_path) as process:
        assert found(checkpoint)[process.pid] == "the script that it runs names the checkpoint"
        (outsider,) = [one for one in find_outsiders(str(checkpoint)) if one.pid == process.pid]
        assert outsider.command.endswith("legacy.py")


def test_a_process_that_writes_a_file_of_the_checkpoint_is_seen(checkpoint):
    environment = dict(os.environ, WHERE=str(checkpoint))
    with running("-c", f"import os; file = open(os.environ['WHERE'] + '/x', 'w'); {WAITS}", env=environment) as process:
        assert found(checkpoint)[process.pid] == "it has a file of the checkpoint open for writing"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["-c", WAITS, "{}.streamops"], id="a sibling"),
        pytest.param(["-c", WAITS, "{}_2"], id="another checkpoint whose name begins alike"),
        pytest.param(["-c", WAITS, "--control", "{}.streamops", "{}"], id="a driver of ours"),
        pytest.param(["-c", WAITS], id="a process that has nothing to do with it"),
    ],
)
def test_others_are_not_taken_for_writers(checkpoint, arguments):
    with running(*(argument.format(checkpoint) for argument in arguments)) as process:
        assert process.pid not in found(checkpoint)


def test_a_program_that_runs_no_queries_is_not_taken_for_a_writer(checkpoint):
    process = subprocess.Popen(["tail", "-f", "/dev/null", str(checkpoint / "metadata")], stderr=subprocess.DEVNULL)
    try:
        assert process.pid not in found(checkpoint)
    finally:
        process.kill()
        process.wait()


def test_whoever_asks_is_not_found(checkpoint):
    assert os.getpid() not in found(checkpoint)
