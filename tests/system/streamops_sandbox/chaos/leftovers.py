"""What an earlier experiment has left running, also one that crashed."""

from datetime import timedelta

from streamops_sandbox.drivers import kill_drivers_below
from streamops_sandbox.sandbox import Sandbox


def end_leftovers(sandbox: Sandbox) -> None:
    """End its daemons, then its drivers."""
    for name in sorted(file.stem for file in sandbox.layout.daemons.glob("*.json")):
        sandbox.daemons.stop(name, grace=timedelta(0))
    # Only now: a living supervisor would have replaced them.
    kill_drivers_below(f"file://{sandbox.layout.root}")
