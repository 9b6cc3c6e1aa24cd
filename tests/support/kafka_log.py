"""One partition as Kafka keeps it, in memory and in simulated time: segments, and what retention deletes of them.

The rules of UnifiedLog (Kafka 4.3): a segment is closed when it is full or when its first record is `segment_time` old and
another comes; every five minutes the oldest segments go whose newest record is older than the retention time, the active one
included, and those without which at least the retention size is left.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from streamops.kafka import TopicRetention
from streamops.retention.growth import EndSample

START = datetime(2026, 3, 1, tzinfo=UTC)
STEP = timedelta(minutes=1)
CHECK_EVERY = 5
SAMPLE_EVERY = 5
RECORD_BYTES = 100


@dataclass
class Segment:
    base: int
    first_at: datetime
    last_at: datetime
    records: int = 0


@dataclass
class KafkaLog:
    """`rate`: records in the minute that begins at a moment."""

    retention: TopicRetention
    rate: Callable[[datetime], int]
    at: datetime = START
    segments: list[Segment] = field(default_factory=list)
    latest: int = 0
    samples: list[EndSample] = field(default_factory=list)
    written: list[tuple[int, datetime]] = field(default_factory=list)
    deleted: list[tuple[int, datetime]] = field(default_factory=list)
    minutes: int = 0

    @property
    def earliest(self) -> int:
        return self.segments[0].base if self.segments else self.latest

    def run(self, duration: timedelta) -> None:
        for _ in range(duration // STEP):
            self._write(self.rate(self.at))
            self.at += STEP
            self.minutes += 1
            if self.minutes % CHECK_EVERY == 0:
                self._delete()
            if self.minutes % SAMPLE_EVERY == 0:
                self.samples.append(EndSample(at=self.at, earliest=self.earliest, latest=self.latest))

    def written_at(self, offset: int) -> datetime:
        """The stamp of a record."""
        return next(moment for end, moment in self.written if offset < end)

    def deleted_at(self, offset: int) -> datetime | None:
        """When a record went."""
        return next((moment for earliest, moment in self.deleted if offset < earliest), None)

    def _write(self, records: int) -> None:
        if not records:
            return
        full = self.retention.segment_size // RECORD_BYTES
        while records:
            active = self.segments[-1] if self.segments else None
            if active is None or active.records >= full or self.at - active.first_at >= self.retention.segment_time:
                active = Segment(self.latest, self.at, self.at)
                self.segments.append(active)
            taken = min(records, full - active.records)
            active.records += taken
            active.last_at = self.at
            self.latest += taken
            records -= taken
        self.written.append((self.latest, self.at))

    def _delete(self) -> None:
        before = self.earliest
        time, size = self.retention.time, self.retention.size
        while time is not None and self.segments and self.at - self.segments[0].last_at > time:
            self.segments.pop(0)
        held = sum(segment.records for segment in self.segments) * RECORD_BYTES
        while size is not None and len(self.segments) > 1 and held - self.segments[0].records * RECORD_BYTES >= size:
            held -= self.segments.pop(0).records * RECORD_BYTES
        if self.earliest > before:
            self.deleted.append((self.earliest, self.at))
