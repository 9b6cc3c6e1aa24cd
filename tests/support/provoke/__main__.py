"""Makes the failures and writes them down; a provocation that fails to fail is reported, and what it had is kept."""

import argparse
import logging
import shutil
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from support.provoke.bench import Bench
from support.provoke.broker import Broker
from support.provoke.case import CORPUS, Case, Family, read_cases, write_cases
from support.provoke.recording import record_one

IN_SESSION = (
    "checkpoints",
    "checkpoint_places",
    "state",
    "code",
    "delta",
    "delta_source",
    "sinks",
    "server_sinks",
    "storage",
    "kafka",
    "secured",
)
IN_PROCESSES = "processes"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="provoke", description="Record the failures of tests/data/exceptions.")
    parser.add_argument("families", nargs="*", default=[*IN_SESSION, IN_PROCESSES])
    parser.add_argument(
        "--only",
        default="",
        help="part of the ids to make anew; the rest of the family stays, and the texts are printed",
    )
    arguments = parser.parse_args(argv)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    root = Path(tempfile.mkdtemp(prefix="provoke-"))
    try:
        missed = [name for family in arguments.families for name in _record(family, root, arguments.only)]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"did not fail as wanted: {', '.join(missed) or 'none'}", file=sys.stderr)
    return 1 if missed else 0


def _record(name: str, root: Path, only: str) -> list[str]:
    if name == IN_PROCESSES:
        from support.provoke import processes

        cases, missed = processes.record(root, only)
    else:
        cases, missed = _record_in_session(name, root, only)
    file = CORPUS / "recorded" / f"{name}.json"
    made = {case.id for case in cases}
    kept = [case for case in read_cases([file]) if only and case.id not in made] if file.exists() else []
    write_cases(file, [*kept, *cases])
    return missed


def _record_in_session(name: str, root: Path, only: str) -> tuple[list[Case], list[str]]:
    module = import_module(f"support.provoke.{name}")
    security = getattr(module, "SECURITY", "")
    broker = Broker(root / f"broker-{name}", security=security, module=getattr(module, "MODULE", ""))
    bench = Bench.start(root / name, bootstrap=broker.bootstrap)
    try:
        return _run_all(module.FAMILY, bench, root, only)
    finally:
        broker.stop()


def _run_all(family: Family, bench: Bench, root: Path, only: str) -> tuple[list[Case], list[str]]:
    cases, missed = [], []
    for provocation in family.provocations:
        if only not in provocation.id:
            continue
        started = time.monotonic()
        case = record_one(provocation, bench, root)
        seconds = time.monotonic() - started
        if case is None:
            missed.append(provocation.id)
        else:
            cases.append(case)
            classes = [
                name.split(".")[-1] if "." in name and name[0].islower() else name for name in case.ending.error_classes
            ]
            print(f"{provocation.id:45} {seconds:5.1f} s  {' '.join(classes)[:150]}", file=sys.stderr)
            if only:
                print(case.ending.text)
    return cases, missed


if __name__ == "__main__":
    sys.exit(main())
