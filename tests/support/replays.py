"""Replays over a broker in memory: what a stream's desk of replays sees and does."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamops.control.records import Author
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.letter import Candidate, Choice, choose
from streamops.dead_letters.reading import RawRecord
from streamops.dead_letters.replay import Replay, ReplayStore, first_positions, holders
from streamops.dead_letters.replay_service import ReplayService
from streamops.errors import StorageError
from streamops.storage.memory import MemoryStorage
from support.brokers import FakeBroker
from support.clock import FakeClock
from support.sending import FakeSender, Killed

NO_PID = 1 << 30
"""No process has this number: whoever wrote it down has ended."""
LIVING = Author(actor="person:ana", host=socket.gethostname(), pid=os.getpid())
ENDED = Author(actor="person:ana", host=socket.gethostname(), pid=NO_PID)


class MortalStorage(MemoryStorage):
    """A storage that a killed process can write to no more."""

    is_out_of_reach = False

    def create(self, address: str, content: bytes) -> None:
        if self.is_out_of_reach:
            raise StorageError("the process is dead")
        super().create(address, content)


@dataclass
class FakeLetters:
    """Dead letters in memory."""

    address: str = "file:///dead/orders"
    rows: dict[RecordPosition, RawRecord] = field(default_factory=dict)

    def dies(self, position: RecordPosition, *, value: bytes = b"{") -> None:
        self.rows[position] = RawRecord(position=position, key=b"k", value=value)

    def records(self, topic: str, partition: int, offsets: Sequence[int]) -> Mapping[int, RawRecord]:
        wanted = frozenset(offsets)
        return {
            at.offset: row
            for at, row in self.rows.items()
            if (at.topic, at.partition) == (topic, partition) and at.offset in wanted
        }


class ReplayTrial:
    """A topic `orders` of two partitions with ten records each, its dead letters, and processes that come and go."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.broker = FakeBroker(self.clock)
        self.broker.has("orders", (0, 10), (0, 10), topic_id="first")
        self.sender = FakeSender(self.broker)
        self.letters = FakeLetters()
        self.storage = MortalStorage()
        self.shelf = ReplayStore(storage=self.storage, checkpoint="file:///checkpoints/orders")

    def desk(self, author: Author = ENDED) -> ReplayService:
        """By default of a process that has ended once the test goes on."""
        return ReplayService(
            stream="orders",
            shelf=self.shelf,
            broker=self.broker,
            sender=lambda: self.sender,
            clock=self.clock,
            author=author,
        )

    def choice(self, *, again: bool = False) -> Choice:
        replays = self.shelf.replays()
        return choose(
            [Candidate(position=position) for position in self.letters.rows],
            topics=("orders",),
            held=holders(replays),
            born_again=first_positions(replays),
            again=again,
        )

    def begun(self) -> Replay:
        return self.desk().begin(self.choice(), table=self.letters.address, reason="mended")

    @property
    def is_open(self) -> bool:
        return any(replay.is_open for replay in self.shelf.replays())

    def open_one(self) -> Replay:
        (found,) = [replay for replay in self.shelf.replays() if replay.is_open]
        return found

    def killed_after(self, records: int, replay: Replay) -> None:
        """A process carries on, and is killed when so many records have arrived, or all."""
        self.sender.dies_after = records
        try:
            self.storage.is_out_of_reach = False
            self.desk().carry_on(replay, _DyingLetters(self))
        except Killed:
            pass
        finally:
            self.sender.dies_after = None
            self.storage.is_out_of_reach = False


@dataclass
class _DyingLetters:
    """From the first record on the process may die at any moment: the word of its end must not be written."""

    trial: ReplayTrial

    @property
    def address(self) -> str:
        return self.trial.letters.address

    def records(self, topic: str, partition: int, offsets: Sequence[int]) -> Mapping[int, RawRecord]:
        found = self.trial.letters.records(topic, partition, offsets)
        self.trial.storage.is_out_of_reach = self.trial.sender.dies_after is not None
        return found
