"""A few streams that read Kafka, with checkpoints and a broker in memory, and rounds of retention coverage over them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from streamops.errors import SettingsError
from streamops.fleet.coverage_round import (
    FOLDER,
    CoveragePace,
    CoveragePorts,
    look_at_coverage,
    run_coverage_round,
)
from streamops.fleet.health_history import HealthHistory
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_change import VerdictChange
from streamops.fleet.verdict_store import RoundReport
from streamops.kafka.broker import KafkaAccess
from streamops.retention.coverage_history import read_past
from streamops.spec import KafkaSource, StreamSpec
from streamops.storage import Storage, join
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.brokers import FakeBroker
from support.checkpoints import commit, metadata, offsets
from support.clock import FakeClock
from support.specs import a_stream
from support.state_root import init

STATE_ROOT = "file:///data/state"
EVERY = timedelta(minutes=5)


class Readers:
    """Streams of one partition each, of a topic of their own name, at 50 of 100."""

    def __init__(self, *names: str) -> None:
        self.storage: Storage = MemoryStorage()
        init(self.storage, STATE_ROOT)
        self.clock = FakeClock()
        self.broker = FakeBroker(self.clock)
        self.clusters: list[str] = []
        """Asked for a client, in order."""
        self.specs = [self._spec(name) for name in names]
        self.told: list[VerdictChange] = []
        self.on_change: Callable[[VerdictChange], object] = self.told.append
        for name in names:
            self.stands_at(name, 50)
            self.broker.has(name, (0, 100))
            self.broker.times[name, 0] = self.clock.now() - timedelta(hours=1)

    def spec(self, name: str) -> StreamSpec:
        return next(spec for spec in self.specs if spec.name == name)

    def reads_from(self, name: str, bootstrap: str) -> None:
        """Its topic is in another cluster."""
        source = replace(self.spec(name).source, bootstrap_servers=bootstrap)
        self.specs = [replace(spec, source=source) if spec.name == name else spec for spec in self.specs]

    def stands_at(self, name: str, offset: int) -> None:
        """Its query has committed all before this offset."""
        address = self.spec(name).checkpoint
        self.storage.write(join(address, "metadata"), metadata())
        self.storage.write(join(address, "offsets", "0"), offsets(f'{{"{name}":{{"0":{offset}}}}}'))
        self.storage.write(join(address, "commits", "0"), commit())

    def round(
        self, *, through: Callable[[Storage], Storage] = lambda storage: storage, pace: CoveragePace | None = None
    ) -> RoundReport:
        """One round; `through` is what lies between it and the files."""
        return run_coverage_round(
            self.specs, state_root=STATE_ROOT, doors=self._doors(through), pace=pace or CoveragePace.within(EVERY)
        )

    def rounds(self, count: int) -> list[RoundReport]:
        """One after the other, each with time before it."""
        reports = []
        for _ in range(count):
            self.clock.advance(EVERY)
            reports.append(self.round())
        return reports

    def look(self, name: str) -> HealthLook:
        """One look of a report."""
        doors = self._doors(lambda storage: storage)
        return look_at_coverage(self.spec(name), doors=doors, pace=CoveragePace.within(EVERY))

    def kept(self, name: str) -> list[str]:
        """The verdicts of its looks, as they were kept."""
        history = HealthHistory(self.storage, STATE_ROOT, name, folder=FOLDER)
        return [str(entry.sample.verdict) for entry in history.past(self.clock.now()).entries]

    def seen(self, name: str) -> list[int]:
        """The ends of its partition at each kept look."""
        past = read_past(self.storage, self.spec(name).checkpoint)
        return [sample.latest for sample in past.ends(name, 0)]

    def _spec(self, name: str) -> StreamSpec:
        source = KafkaSource(bootstrap_servers="broker:9092", topics=(name,))
        return a_stream(name, checkpoint=f"file:///data/checkpoints/{name}", source=source)

    def _doors(self, through: Callable[[Storage], Storage]) -> CoveragePorts:
        storage = through(self.storage)
        return CoveragePorts(
            storage_for=lambda address: storage,
            access_for=lambda spec: KafkaAccess(bootstrap=spec.source.bootstrap_servers),
            broker_for=self._client,
            clock=self.clock,
            on_change=self.on_change,
        )

    def _client(self, access: KafkaAccess) -> FakeBroker:
        self.clusters.append(access.bootstrap)
        if access.bootstrap.startswith("nowhere"):
            raise SettingsError("the settings can't be used")
        return self.broker


def verdicts(report: RoundReport) -> dict[str, Verdict]:
    """What a round found, by stream."""
    return {look.spec.name: look.verdict for look in report.looks}
