"""A sandbox of its own for each file of end-to-end tests."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.processes import processes_of

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sandbox_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for one sandbox; whatever a failed test leaves running is stopped."""
    root = tmp_path_factory.mktemp("e2e") / "sandbox"
    yield root
    for pid in processes_of(root):
        os.kill(pid, 9)


@pytest.fixture(scope="module")
def run(sandbox_root: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a module of streamops on that sandbox."""

    def run_module(module: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=PROJECT,
            env={**os.environ, "STREAMOPS_SANDBOX": str(sandbox_root), **environment},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return run_module
