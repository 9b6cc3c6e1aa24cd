"""Commands that prepare a part of the sandbox and end by themselves."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.log_tail import log_tail


def run_set_up(
    command: Sequence[str], *, what: str, log: Path, limit: timedelta, environment: Mapping[str, str]
) -> None:
    """Run a command that ends by itself, its output in a log file.

    Raises SandboxError with the end of the log when it can't be run, fails or takes longer than the limit.
    """
    try:
        with open(log, "wb") as output:
            subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                timeout=limit.total_seconds(),
                check=True,
            )
    except subprocess.CalledProcessError as error:
        raise SandboxError(f"cannot {what}: exit code {error.returncode}\n{log_tail(log)}") from error
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"cannot {what}: not done after {error.timeout:.0f} s\n{log_tail(log)}") from error
    except OSError as error:
        raise SandboxError(f"cannot {what}: {command[0]}: {error.strerror}") from error
