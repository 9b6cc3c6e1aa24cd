"""Profiles of hypothesis, and figures that tests report at the end of a run."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

from streamops_sandbox.quick_start import SUBMIT_OPTIONS, submit_options

# Notes about settings files must not get into the home of whoever runs the tests, nor of their subprocesses.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="streamops-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# Spark starts some hundred times in a run of all tests.
if SUBMIT_OPTIONS not in os.environ:
    os.environ[SUBMIT_OPTIONS] = submit_options(Path(__file__).parents[1], {})

# The same examples each time: a build that fails does so for everybody. The profiles `chaos` and `fuzz` look for new ones.
settings.register_profile("streamops", deadline=None, derandomize=True, stateful_step_count=30)
settings.register_profile(
    "chaos",
    deadline=None,
    max_examples=int(os.environ.get("SCHEDULES", "10000")),
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=int(os.environ.get("EXAMPLES", "10000")),
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.load_profile("streamops")


def pytest_terminal_summary(terminalreporter):
    """What tests counted: `record_property("figure", "same-host: 40 schedules")`."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    figures = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("figures")
        terminalreporter.write("".join(f"{figure}\n" for figure in figures))
