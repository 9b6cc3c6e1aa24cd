import re
import subprocess
import sys
from pathlib import Path

import pytest

from streamops import __version__
from streamops.cli.main import COMMANDS as COMMANDS_BY_NAME
from streamops.cli.main import main

COMMANDS = ("status", "stop", "start", "restart", "release", "adopt", "history", "logs", "supervise", "config")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {command}\b", shown, re.MULTILINE) for command in COMMANDS)


def test_version_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["nothing-of-this-name"], id="unknown command"),
        pytest.param(["stop", "orders"], id="no reason given"),
        pytest.param(["adopt", "orders", "--reason", "x", "--watch", "soon"], id="not a duration"),
        pytest.param(["supervise", "--interval", "0"], id="an interval of nothing"),
        pytest.param(["supervise", "--json"], id="JSON without end"),
        pytest.param(["logs", "orders", "--follow", "--json"], id="JSON that goes on"),
    ],
)
def test_wrong_usage_is_2_and_talk(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Error" in shown.err


def test_a_settings_file_that_is_not_there_is_2_and_says_how_to_name_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMOPS_CONFIG", str(tmp_path / "none.yaml"))

    assert main(["status"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "none.yaml" in shown.err
    assert "STREAMOPS_CONFIG" in shown.err


def test_the_package_runs_as_a_module() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "streamops.cli.main", "--version"], capture_output=True, text=True, check=False
    )

    assert (answer.returncode, answer.stdout) == (0, f"{__version__}\n"), answer.stderr


@pytest.mark.parametrize("command", COMMANDS_BY_NAME)
def test_each_command_is_there_and_has_a_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Usage: streamops {command}" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["--help"], ["check", "."]], ids=["help", "a folder is judged"])
def test_what_needs_no_settings_does_not_load_them(argv: list[str], tmp_path: Path) -> None:
    run = f"import sys; from streamops.cli.main import main; main({argv!r})"
    code = f"{run}; print('streamops.settings' in sys.modules, file=sys.stderr)"

    answer = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert answer.stderr.splitlines()[-1] == "False"
