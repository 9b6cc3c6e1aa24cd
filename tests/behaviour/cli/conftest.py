"""A terminal for the command line's tests."""

from pathlib import Path

import pytest

from support.settings import a_project
from support.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A terminal in a project with one stream, `orders`."""
    terminal = Terminal(a_project(tmp_path), capsys)
    terminal.declare("orders")
    return terminal
