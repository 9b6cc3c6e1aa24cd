"""Topics in memory that take records, for what sends them; they can refuse, and the process that sends can die."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from streamops.kafka.broker import Delivery, Marked, MarkedRecord, OutgoingRecord, Ranges
from support.brokers import FakeBroker


class Killed(BaseException):
    """The process is gone: nothing catches this but the test."""


@dataclass
class FakeSender:
    """Appends to the topics of a fake broker."""

    broker: FakeBroker
    sent: dict[tuple[str, int, int], OutgoingRecord] = field(default_factory=dict)
    """By topic, partition and offset."""
    dies_after: int | None = None
    """Records that arrive until the process is killed; the answers of its last call are lost."""
    breaks_after: int | None = None
    """Records that arrive until the cluster is away."""
    loses_answers: bool = False
    """Whether what the cluster got last before it went away is not known to have arrived."""
    unfit: frozenset[bytes] = frozenset()
    """Values that the topic refuses."""
    trouble: str = ""
    """Why nothing can be read back."""

    def send(self, records: Sequence[OutgoingRecord]) -> tuple[Delivery, ...]:
        return tuple(self._deliver(record) for record in records)

    def marked(self, ranges: Ranges, *, name: str, value: bytes) -> Marked:
        found = [
            MarkedRecord(topic=topic, partition=partition, offset=offset, headers=record.headers)
            for (topic, partition, offset), record in self.sent.items()
            for first, end in [ranges.get((topic, partition), (0, 0))]
            if first <= offset < end and (name, value) in record.headers
        ]
        return Marked(records=tuple(found), trouble=self.trouble)

    def header(self, name: str) -> list[str]:
        """The values of a header, in the order in which the records came."""
        return [dict(record.headers)[name].decode() for record in self.sent.values()]

    def _deliver(self, record: OutgoingRecord) -> Delivery:
        if self.dies_after is not None:
            if self.dies_after == 0:
                raise Killed
            self.dies_after -= 1
        if self.breaks_after is not None:
            if self.breaks_after == 0:
                if self.loses_answers:
                    self.loses_answers = False
                    self._append(record)
                return Delivery(trouble="_MSG_TIMED_OUT: Local: Message timed out")
            self.breaks_after -= 1
        if record.value in self.unfit:
            return Delivery(trouble="MSG_SIZE_TOO_LARGE: Broker: Message size too large", is_unfit=True)
        partition, offset = self._append(record)
        return Delivery(partition=partition, offset=offset)

    def _append(self, record: OutgoingRecord) -> tuple[int, int]:
        partition = record.partition if record.partition is not None else 0
        facts = self.broker.topics[record.topic].partition(partition)
        assert facts is not None
        assert facts.latest is not None
        self.sent[record.topic, partition, facts.latest] = record
        self.broker.moves(record.topic, partition, latest=facts.latest + 1)
        return partition, facts.latest
