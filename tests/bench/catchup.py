"""A catch-up through supervisor and driver, and plain spark-submit of the same job beside it, on the same topic."""

import json
import resource
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import monotonic, sleep

from bench.figure import Figure
from streamops.cli.wiring import Wiring
from streamops.control.layout import companion_checkpoint, control_folder
from streamops.control.log import ControlLog
from streamops.control.records import ClaimMode, DriverHandle, Submitted
from streamops.diagnosis.last_progress import last_progress
from streamops.launch import DriverState, Launcher, SubmitRequest
from streamops.launch.local import LocalLauncher
from streamops.operations.requests import Requests, this_author
from streamops.progress import ProgressHistory
from streamops.progress.event import parse_progress
from streamops.spec import KafkaSource, LaunchSpec, SinkSpec, StreamSpec
from streamops.storage.local import LocalStorage
from streamops.supervision.bundle import FORCED_CONF, driver_bundle
from streamops.supervision.supervisor import Supervisor
from streamops_sandbox.orders import OrderGenerator
from support.cluster import Cluster
from support.provoke.broker import Broker
from support.specs import a_scheduled_stream
from support.state_root import init

ROOT = Path(__file__).parents[2]
TOPIC = "orders"
ORDERS = 500_000
MALFORMED_EVERY = 200
PARTITIONS = 3
RECORDS_A_BATCH = 50_000
PAIRS = 3
GOAL = 1.05
"""Of the baseline: overhead of at most 5 %."""

LOOKS = 2.0
"""Seconds between two looks of the supervisor, as `streamops supervise` has it."""
POLL = 0.1
LIMIT = timedelta(minutes=30)
"""For one run."""
CONF = (
    ("spark.driver.memory", "1g"),
    ("spark.sql.session.timeZone", "UTC"),
    ("spark.sql.shuffle.partitions", "2"),
    ("spark.databricks.delta.snapshotPartitions", "2"),
    ("spark.ui.enabled", "false"),
    ("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{ROOT}/config/log4j2.properties"),
    ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"),
    ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
)
"""As of the streams in config/streams.yaml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One catch-up from the first record of the topic to the last."""

    wall: float
    """Seconds from the submit to the end of the process, Spark's own start included."""
    processor: float
    """Seconds of processor time of the driver, JVM and Python: what it costs, whoever else is on the machine."""
    in_batches: float
    """Seconds in batches, their planning included, of both queries together."""
    rows: int
    """That both queries read: each reads the whole topic."""
    batches: int

    @property
    def cost(self) -> float:
        """Microseconds that a row takes within a batch."""
        return self.in_batches / self.rows * 1e6


def measure(root: Path, *, orders: int = ORDERS, pairs: int = PAIRS) -> Iterator[Figure]:
    """What a row costs within batches, and the whole time; supervised and plain, in turns."""
    broker = Broker(root / "broker")
    try:
        bootstrap = broker.bootstrap()
        rows = _produce(bootstrap, root, orders)
        supervised, plain = [], []
        for number in range(pairs):
            supervised.append(_supervised(_spec(root / f"supervised-{number}", bootstrap)))
            plain.append(_plain(_spec(root / f"plain-{number}", bootstrap)))
    finally:
        broker.stop()
    for run in (*supervised, *plain):
        assert run.rows == 2 * rows, f"both queries read {run.rows} rows, expected were {2 * rows}"
    yield from figures(supervised, plain)


def figures(supervised: Sequence[Run], plain: Sequence[Run]) -> Iterator[Figure]:
    """What the pairs of runs say."""
    against = "plain spark-submit of the same job"
    baseline = median(run.cost for run in plain)
    rates = [1e6 / median(run.cost for run in runs) for runs in (supervised, plain)]
    yield Figure(
        name="catch-up: in batches",
        value=median(run.cost for run in supervised),
        unit="µs/row",
        baseline=baseline,
        against=against,
        goal=GOAL * baseline,
        note=f"{rates[0]:.0f} rows/s against {rates[1]:.0f}; {_ratios(supervised, plain, lambda run: run.cost)};"
        f" {supervised[0].rows} rows in {supervised[0].batches} batches of two queries",
    )
    yield Figure(
        name="catch-up: processor time",
        value=median(run.processor for run in supervised),
        unit="s",
        baseline=median(run.processor for run in plain),
        against=against,
        note=f"the start of Spark included; {_ratios(supervised, plain, lambda run: run.processor)}",
    )
    yield Figure(
        name="catch-up: submit to exit",
        value=median(run.wall for run in supervised),
        unit="s",
        baseline=median(run.wall for run in plain),
        against=against,
        note=f"the start of Spark included; {_ratios(supervised, plain, lambda run: run.wall)}",
    )


def _ratios(supervised: Sequence[Run], plain: Sequence[Run], measured: Callable[[Run], float]) -> str:
    found = [measured(one) / measured(other) for one, other in zip(supervised, plain, strict=True)]
    return f"ratios of {len(found)} pairs {', '.join(f'{ratio:.3f}' for ratio in found)}, median {median(found):.3f}"


def _produce(bootstrap: str, root: Path, orders: int) -> int:
    """The sandbox's orders, as fast as they go; how many records the topic holds then."""
    Cluster.at(bootstrap).create(TOPIC, partitions=PARTITIONS, retention_ms="-1")
    generator = OrderGenerator(
        bootstrap=bootstrap, topic=TOPIC, state_file=root / "orders.json", malformed_every=MALFORMED_EVERY
    )
    state = generator.run(rate=1e9, count=orders, stop=threading.Event())
    assert (state.sent, state.unacknowledged) == (orders, 0)
    return state.sent + state.malformed


def _spec(folder: Path, bootstrap: str) -> StreamSpec:
    """A scheduled stream with checkpoint and tables that are not there yet."""
    folder.mkdir(parents=True)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": str(RECORDS_A_BATCH)}
    return a_scheduled_stream(
        checkpoint=f"file://{folder}/checkpoint",
        job=str(ROOT / "jobs" / "orders_to_delta.py"),
        source=KafkaSource(bootstrap_servers=bootstrap, topics=(TOPIC,), options=tuple(options.items())),
        sink=SinkSpec(table=f"file://{folder}/table", dead_letters=f"file://{folder}/dead"),
        launch=LaunchSpec(
            spark_submit=str(Path(sys.executable).parent / "spark-submit"),
            master="local[2]",
            conf=CONF,
            jars=tuple(str(jar) for jar in sorted((ROOT / ".jars" / "spark").glob("*.jar"))),
            folder=str(folder),
        ),
    )


def _state_root(spec: StreamSpec) -> str:
    return f"file://{spec.launch.folder}/state"


def _supervised(spec: StreamSpec) -> Run:
    """A run that is asked for and seen through by a supervisor that looks as often as any other."""
    wiring, storage = Wiring(), LocalStorage()
    init(storage, _state_root(spec))
    supervisor = wiring.supervisor(spec, state_root=_state_root(spec), actor="bench", kind=Supervisor)
    requests = Requests(spec, storage=storage, clock=wiring.clock, author=this_author("bench"))
    requests.begin_run(ClaimMode.CATCHUP, "bench", until=wiring.clock.now() + LIMIT)
    stopwatch = _Stopwatch()
    supervisor.settle()
    records = ControlLog.of_checkpoint(storage, spec.checkpoint).read()
    (handle,) = (record.body.handle for record in records if isinstance(record.body, Submitted))
    _wait(wiring.launcher, handle, meanwhile=supervisor.settle)
    return _run(stopwatch, last_progress(storage, control_folder(spec.checkpoint)))


def _plain(spec: StreamSpec) -> Run:
    """The same by spark-submit alone."""
    folder, source = Path(spec.launch.folder), spec.kafka
    asked = {
        "job": spec.job,
        "source": {
            "kafka.bootstrap.servers": source.bootstrap_servers,
            "subscribe": TOPIC,
            **dict(source.options),
        },
        "table": spec.sink.table,
        "dead_letters": spec.sink.dead_letters,
        "checkpoint": spec.checkpoint,
        "dead_checkpoint": companion_checkpoint(spec.checkpoint, 0),
        "progress": str(folder / "progress.jsonl"),
    }
    request = SubmitRequest(
        token=uuid.uuid4().hex,
        name="plain",
        spark_submit=spec.launch.spark_submit,
        master=spec.launch.master,
        deploy_mode=spec.launch.deploy_mode,
        application=str(Path(__file__).parent / "plain_orders.py"),
        arguments=(json.dumps(asked),),
        conf=(*spec.launch.conf, *FORCED_CONF),
        jars=spec.launch.jars,
        # The job's file imports the library; nothing of it runs.
        py_files=(driver_bundle(_state_root(spec)).library,),
        environment=(("PYSPARK_PYTHON", sys.executable), ("PYSPARK_DRIVER_PYTHON", sys.executable)),
        log=str(folder / "driver.log"),
        folder=spec.launch.folder,
    )
    launcher = LocalLauncher()
    stopwatch = _Stopwatch()
    _wait(launcher, launcher.submit(request), meanwhile=lambda: None)
    return _run(stopwatch, parse_progress((folder / "progress.jsonl").read_bytes()))


class _Stopwatch:
    """From its making on: the clock, and the processor time of children that were collected since."""

    def __init__(self) -> None:
        self._begun, self._processor = monotonic(), self._children()

    def passed(self) -> tuple[float, float]:
        """Seconds by the clock and of processor time."""
        return monotonic() - self._begun, self._children() - self._processor

    @staticmethod
    def _children() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def _wait(launcher: Launcher, handle: DriverHandle, *, meanwhile: Callable[[], object]) -> None:
    """Until the driver is gone."""
    begun = looked = monotonic()
    while launcher.poll(handle).state is not DriverState.ENDED:
        assert monotonic() - begun < LIMIT.total_seconds(), f"{handle.process} does not end: see {handle.log}"
        if monotonic() - looked >= LOOKS:
            meanwhile()
            looked = monotonic()
        sleep(POLL)


def _run(stopwatch: _Stopwatch, progress: ProgressHistory) -> Run:
    wall, processor = stopwatch.passed()
    batches = [event for event in progress.events if event.has_run]
    taken = sum((event.duration for event in batches if event.duration), timedelta(0))
    return Run(
        wall=wall,
        processor=processor,
        in_batches=taken.total_seconds(),
        rows=sum(event.input_rows for event in batches),
        batches=len(batches),
    )
