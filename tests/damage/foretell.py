"""The verdict, asked for as a user asks: by the command line, in JSON."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from damage.queries import Kind
from damage.spark import Spark
from streamops.cli.main import main


def foretold(kind: Kind, folder: Path, spark: Spark) -> dict[str, Any]:
    """The report of `streamops check` for a start of this Spark, with the exit code under `exit`."""
    asked = ["check", str(folder / "checkpoint"), "--json", "--spark-version", spark.version]
    asked += [f"--async-progress={'yes' if kind.is_async else 'no'}"]
    asked += [f"--available-now={'no' if kind.is_async else 'yes'}"]
    for key, value in kind.confs.items():
        asked += ["--conf", f"{key}={value}"]
    if kind.shows_its_sink:
        asked += ["--sink", str(folder / "out")]
    if kind.source == "delta":
        asked += ["--delta", str(folder / "in")]
    if kind.source == "kafka":
        asked += ["--kafka", spark.bootstrap]
    if kind.source == "files":
        for place in kind.inputs:
            asked += ["--input", str(folder / place)]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(asked)
    try:
        report: dict[str, Any] = json.loads(out.getvalue())
    except ValueError:
        report = {"verdict": "none", "restart": {"safety": "none", "summary": ""}, "findings": []}
        report["error"] = (out.getvalue() + err.getvalue())[-2000:]
    return report | {"exit": code}
