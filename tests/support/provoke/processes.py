"""Drivers that end without an exit record: what is left of them is an exit code and the end of a log."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from streamops.failures.classify import DriverEvidence
from streamops.failures.failure_class import DEFAULT_REMEDIES
from support.provoke.case import Case
from support.provoke.process_runs import RUNS, Run
from support.provoke.sanitise import sanitise, thinned

SPARK_SUBMIT = str(Path(sys.executable).parent / "spark-submit")
LINES = 200
LINE_LIMIT = 2000
LIMIT_SECONDS = 300


def record(root: Path, only: str) -> tuple[list[Case], list[str]]:
    """All of them, one after the other."""
    cases, missed = [], []
    for run in RUNS:
        if only not in f"process-{run.id}":
            continue
        case = _record(run, root / "processes" / run.id, root)
        if case is None:
            missed.append(run.id)
            continue
        cases.append(case)
        print(f"{case.id:40} exit {case.ending.exit_code}, {len(case.ending.text)} characters", file=sys.stderr)
        if only:
            print(case.ending.text)
    return cases, missed


def _record(run: Run, folder: Path, root: Path) -> Case | None:
    folder.mkdir(parents=True)
    job = run.job
    if not job.endswith(".py"):
        job = str(folder / "job.py")
        Path(job).write_text(run.job)
    log = folder / "log"
    with ExitStack() as stack, log.open("wb") as file:
        submit = [_filled(word, run, folder, stack) for word in run.submit]
        defaults = ["--master", "local[2]", "--driver-memory", "512m", *_conf({"spark.ui.enabled": "false"})]
        command = [SPARK_SUBMIT, *defaults, *submit, job, run.happening, str(folder / "checkpoint")]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **run.environment}
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, cwd=folder, start_new_session=True
        )
        try:
            code = process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            time.sleep(1)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    lines = [line[:LINE_LIMIT] for line in log.read_text(errors="replace").split("\n")[-LINES:]]
    return Case(
        id=f"process-{run.id}",
        source=f"recorded: Spark 4.2.0, spark-submit, {run.how}; exit code and end of the log",
        ending=DriverEvidence(
            outcome=run.outcome,
            text=thinned(sanitise("\n".join(lines), root)),
            exit_code=code if code >= 0 else 128 - code,
            has_progressed=run.has_progressed,
        ),
        failure_class=run.failure_class,
        remedy=run.remedy or DEFAULT_REMEDIES[run.failure_class],
    )


def _conf(settings: Mapping[str, str]) -> list[str]:
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def _filled(word: str, run: Run, folder: Path, stack: ExitStack) -> str:
    if run.needs == "port" and "PORT" in word:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        return word.replace("PORT", str(server.getsockname()[1]))
    if run.needs == "tiny" and "TINY" in word:
        return word.replace("TINY", str(stack.enter_context(_tiny_disk(folder / "local"))))
    return word


@contextmanager
def _tiny_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
