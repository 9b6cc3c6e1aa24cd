"""Two real drivers on one checkpoint: what the one that loses says, for each kind of query and each way to meet.

`.venv/bin/python -m support.provoke.two_writers [VERSION …]` (with PYTHONPATH=plugins:tests) records them all anew; the versions
are those of `recorder`, whose environments it uses. Nothing here says which text is expected where: whatever ends one of the two
is told by the other's presence alone, since the same query without it ends with nothing.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recorder.catalogue import ASYNC, CHANGELOG, PINNED, PLAIN, ROCKSDB, UNIQUE_IDS, VERSIONS
from recorder.environments import python_of
from recorder.process import DELTA_AND_KAFKA
from streamops.control.records import Outcome
from streamops.failures.classify import DriverEvidence
from streamops.failures.failure_class import DEFAULT_REMEDIES, FailureClass, Remedy
from support.cluster import Cluster
from support.provoke.bench import write_rows
from support.provoke.broker import Broker
from support.provoke.case import CORPUS, Case, read_cases, write_cases
from support.provoke.sanitise import PROJECT, sanitise, thinned
from support.waiting import eventually

CHILD = str(Path(__file__).with_name("writer.py"))
ANSWER = "@answer "
PATIENCE = 60.0
FILE = CORPUS / "recorded" / "writers.json"
SESSION = {
    "spark.driver.memory": "700m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
OFTEN = {"processingTime": "200 milliseconds"}
SELDOM = {"processingTime": "8 seconds"}


def python_here() -> Path:
    """The interpreter that runs this, which has the pinned version."""
    return Path(sys.executable)


def session_of(*, has_jars: bool) -> dict[str, str]:
    """The settings of both drivers."""
    return SESSION | (DELTA_AND_KAFKA if has_jars else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of query."""

    name: str
    source: str = "files"
    sink: str = "noop"
    shape: str = "plain"
    confs: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    trigger: dict[str, str] = field(default_factory=lambda: OFTEN)
    needs_jars: bool = False
    since: str = "3.5"


STATE = {"shape": "counts"}
KINDS = (
    Kind(name="files"),
    Kind(name="files-parquet", sink="parquet"),
    Kind(name="files-delta", sink="delta", needs_jars=True),
    Kind(name="files-function", sink="function-idle"),
    Kind(name="files-function-parquet", sink="function-parquet"),
    Kind(name="files-function-delta", sink="function-delta", needs_jars=True),
    Kind(name="state-hdfs", **STATE),
    Kind(name="state-rocksdb", confs=ROCKSDB | PLAIN, **STATE),
    Kind(name="state-changelog", confs=ROCKSDB | CHANGELOG, **STATE),
    Kind(name="state-unique-ids", confs=ROCKSDB | CHANGELOG | UNIQUE_IDS, since="4.0", **STATE),
    Kind(name="rate", source="rate"),
    Kind(name="rate-function", source="rate", sink="function-idle"),
    Kind(name="rate-micro-batch", source="rate-micro-batch"),
    Kind(name="rate-async", source="rate", options=ASYNC | {"asyncProgressTrackingCheckpointIntervalMs": "500"}),
    Kind(name="rate-continuous", source="rate-continuous", trigger={"continuous": "500 milliseconds"}),
    Kind(name="delta", source="delta", needs_jars=True),
    Kind(name="delta-delta", source="delta", sink="delta", needs_jars=True),
    Kind(name="kafka", source="kafka", needs_jars=True),
    Kind(name="kafka-parquet", source="kafka", sink="parquet", needs_jars=True),
)


class Writer:
    """One driver, seen from outside."""

    def __init__(self, python: Path, name: str, folder: Path, session: dict[str, str]) -> None:
        self.name = name
        self._log = (folder / f"{name}.log").open("wb")
        # Its own copy of streamops' failure module: what a driver would write down.
        environment = {
            **os.environ,
            "PYTHONPATH": f"{PROJECT}/plugins",
            "PYSPARK_PYTHON": str(python),
            "PYSPARK_DRIVER_PYTHON": str(python),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        environment.pop("SPARK_HOME", None)
        self._process = subprocess.Popen(
            [str(python), CHILD, json.dumps(session)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            cwd=folder,
            text=True,
        )

    def ready(self) -> dict[str, Any]:
        """Its first answer, or that to the last command."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                return answer
        raise AssertionError(f"the driver {self.name} is gone: {Path(self._log.name).read_text()[-3000:]}")

    def tell(self, do: str, **arguments: Any) -> None:
        """A command, whose answer is not waited for."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
        self._process.stdin.flush()

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        self.tell(do, **arguments)
        return self.ready()

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(30)
        self._process.stdout.close()
        self._log.close()


@contextmanager
def two_writers(python: Path, folder: Path, session: dict[str, str]) -> Iterator[tuple[Writer, Writer]]:
    """Two drivers that are ready."""
    writers = Writer(python, "first", folder, session), Writer(python, "second", folder, session)
    try:
        for writer in writers:
            writer.ready()
        yield writers
    finally:
        for writer in writers:
            writer.end()


@dataclass(slots=True)
class Place:
    """Where two queries of one kind meet."""

    kind: Kind
    folder: Path
    first: Writer
    second: Writer
    bootstrap: str = ""
    fed: int = 0

    def query(self, writer: Writer, **changes: Any) -> dict[str, Any]:
        asked = {
            "folder": str(self.folder),
            "hold": str(self.hold(writer)),
            "source": self.kind.source,
            "sink": self.kind.sink,
            "shape": self.kind.shape,
            "confs": self.kind.confs,
            "options": self.kind.options,
            "trigger": self.kind.trigger,
            "bootstrap": self.bootstrap,
            "topic": self.folder.name,
        }
        return asked | changes

    def hold(self, writer: Writer) -> Path:
        return self.folder / f"hold-{writer.name}"

    def feed(self, count: int = 1) -> None:
        """So many batches more, where the source does not feed itself."""
        for _ in range(count):
            if self.kind.source == "files":
                partial = self.folder / "partial"
                partial.mkdir(exist_ok=True)
                write_rows(partial, f"{self.fed:04d}")
                (self.folder / "in").mkdir(exist_ok=True)
                (partial / f"{self.fed:04d}.json").rename(self.folder / "in" / f"{self.fed:04d}.json")
            elif self.kind.source == "delta":
                import pyarrow
                from deltalake import write_deltalake

                write_deltalake(str(self.folder / "table"), pyarrow.table({"n": [self.fed], "k": ["k"]}), mode="append")
            elif self.kind.source == "kafka":
                Cluster.at(self.bootstrap).produce(self.folder.name, 2)
            self.fed += 1

    def newest(self, log: str) -> int:
        names = (file.name for file in (self.folder / "checkpoint" / log).glob("[0-9]*"))
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def until(self, holds: Callable[[], bool], *, within: float = PATIENCE) -> bool:
        return eventually(holds, within=within)


def idle(place: Place) -> None:
    """Both have done all that there is, then more comes."""
    place.feed()
    place.first.ask("start", query=place.query(place.first))
    place.until(lambda: place.newest("commits") >= 0)
    place.second.ask("start", query=place.query(place.second))
    time.sleep(3)
    place.feed(8)


def held(place: Place) -> None:
    """The first is in the middle of a batch, which the second does again, and more; then the first goes on."""
    place.feed()
    place.first.ask("start", query=place.query(place.first))
    place.until(lambda: place.newest("commits") >= 0)
    place.hold(place.first).touch()
    begun = place.newest("offsets")
    place.feed(3)
    place.until(lambda: place.newest("offsets") > begun)
    time.sleep(1)
    pending = place.newest("offsets")
    place.second.ask("start", query=place.query(place.second))
    place.until(lambda: place.newest("commits") >= pending + 1, within=30)
    place.hold(place.first).unlink()


def overtaken(place: Place) -> None:
    """The first sleeps between two batches, for as long as its trigger says; the second has done batches meanwhile."""
    place.feed()
    place.first.ask("start", query=place.query(place.first, trigger=SELDOM))
    place.until(lambda: place.newest("commits") >= 0)
    begun = place.newest("commits")
    place.feed(3)
    place.second.ask("start", query=place.query(place.second))
    place.until(lambda: place.newest("commits") >= begun + 2, within=8)


def together(place: Place) -> None:
    """Both start at the same moment on a new checkpoint."""
    place.feed(5)
    for writer in (place.first, place.second):
        writer.tell("start", query=place.query(writer))
    for writer in (place.first, place.second):
        writer.ready()


def succeeded(place: Place) -> None:
    """The first ends in the middle of a batch, and the second takes its place at once: no two at a time."""
    place.feed()
    place.first.ask("start", query=place.query(place.first))
    place.until(lambda: place.newest("commits") >= 0)
    place.hold(place.first).touch()
    begun = place.newest("offsets")
    place.feed(3)
    place.until(lambda: place.newest("offsets") > begun)
    place.first.tell("stop")
    place.hold(place.first).unlink()
    place.first.ready()
    place.second.ask("start", query=place.query(place.second))
    place.until(lambda: place.newest("commits") > begun + 1)


WAYS = {"idle": idle, "held": held, "overtaken": overtaken, "together": together}
UNTRIED = frozenset({("rate-continuous", "held"), ("rate-continuous", "overtaken")})
"""Its tasks never end, and it has no trigger between which it sleeps."""


def meet(place: Place, way: str, *, patience: float = 90.0) -> list[tuple[str, dict[str, Any]]]:
    """Who of the two failed, and with what."""
    (WAYS | {"succeeded": succeeded})[way](place)
    both = (place.first, place.second)
    deadline = time.monotonic() + (patience if way in WAYS else 0)
    while not any(writer.ask("look")["failure"] for writer in both) and time.monotonic() < deadline:
        # On a busy machine one may have done all that there was before the other began.
        place.feed()
        time.sleep(1)
    place.feed(2)
    time.sleep(2)
    for writer in both:
        place.hold(writer).unlink(missing_ok=True)
    seen = [(writer.name, writer.ask("stop")["failure"]) for writer in both]
    return [(name, failure) for name, failure in seen if failure]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="two_writers", description="Record what two drivers on one checkpoint say.")
    parser.add_argument("versions", nargs="*", default=[PINNED], metavar="VERSION", help=", ".join(VERSIONS))
    parser.add_argument("--only", default="", help="a pattern in the names of kinds and ways: ^kafka-held")
    parser.add_argument("--into", type=Path, default=FILE)
    arguments = parser.parse_args(argv)
    root = Path(tempfile.mkdtemp(prefix="provoke-"))
    try:
        for version in arguments.versions:
            _record(version, root / version, arguments.only, arguments.into)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 0


def _record(version: str, folder: Path, only: str, into: Path) -> None:
    folder.mkdir()
    is_pinned = version == PINNED
    python = python_here() if is_pinned else python_of(version)
    session = session_of(has_jars=is_pinned)
    kinds = [kind for kind in KINDS if (is_pinned or not kind.needs_jars) and version >= kind.since]
    broker = Broker(folder / "broker")
    try:
        with two_writers(python, folder, session) as (first, second):
            for kind in kinds:
                bootstrap = broker.bootstrap() if kind.source == "kafka" else ""
                for way in WAYS:
                    if not re.search(only, f"{kind.name}-{way}") or (kind.name, way) in UNTRIED:
                        continue
                    place = Place(kind, folder / f"{kind.name}-{way}", first, second, bootstrap)
                    place.folder.mkdir()
                    if bootstrap:
                        Cluster.at(bootstrap).create(place.folder.name)
                    started = time.monotonic()
                    failures = meet(place, way)
                    seconds = time.monotonic() - started
                    print(
                        f"{version} {kind.name}-{way} {seconds:.0f} s: {[name for name, _ in failures]}",
                        file=sys.stderr,
                    )
                    cases = [_case(version, kind, way, name, failure, folder) for name, failure in failures]
                    for case in cases:
                        print("    " + " ".join(case.ending.error_classes)[:300], file=sys.stderr, flush=True)
                    _keep(into, cases)
    finally:
        broker.stop()


def _case(version: str, kind: Kind, way: str, name: str, failure: dict[str, Any], root: Path) -> Case:
    how = " ".join((WAYS[way].__doc__ or "").split())
    classes = tuple(failure["classes"])
    # Two that make the table at once: Delta's words are those for two jobs of which neither is wrong.
    is_of_table = "DELTA_PROTOCOL_CHANGED" in classes
    return Case(
        id=f"writers-{version.replace('.', '-')}-{kind.name}-{way}-{name}",
        source=f"recorded: Spark {version}, two drivers, {kind.name}: {how} The {name} says",
        ending=DriverEvidence(
            outcome=Outcome.FAILED,
            error_classes=classes,
            text=thinned(sanitise(failure["text"], root)),
            exit_code=1,
            has_progressed=failure["has_progressed"],
        ),
        failure_class=FailureClass.CONCURRENT_WRITER,
        remedy=Remedy.BACK_OFF if is_of_table else DEFAULT_REMEDIES[FailureClass.CONCURRENT_WRITER],
    )


def _keep(file: Path, cases: list[Case]) -> None:
    """Of each version each saying once: many kinds of query say the same."""
    kept = read_cases([file]) if file.exists() else []
    for case in cases:
        kept = [other for other in kept if other.id != case.id]
        if said(case) not in {said(other) for other in kept}:
            kept.append(case)
    write_cases(file, kept)


def said(case: Case) -> tuple[str, str]:
    """By whom, and what: the last cause without its numbers and places, but for the log that it names."""
    text = case.ending.text
    causes = [line for line in text.split("\n") if _CAUSE.match(line)]
    return case.source.partition(",")[0], re.sub(r"\d+", "N", _PLACE.sub(r"\1", causes[-1].lower()))


_CAUSE = re.compile(r"(?:Caused by \(JVM\))?: (?:java|org|io|com)\.|\w+(?:\.\w+)+Error: ")
_PLACE = re.compile(
    r"file:/tmp/x/\S*?(/(?:offsets|commits|sources|state|metadata|_spark_metadata|_temporary)\b|(?=[\s:]))"
)


if __name__ == "__main__":
    sys.exit(main())
