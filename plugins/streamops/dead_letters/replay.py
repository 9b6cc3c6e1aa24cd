"""A replay: which dead letters are sent again, as it is put on record before the first is sent, and what came of it.

Each stream's replays lie in folders by number: `<checkpoint>.streamops/replays/000003/`.

`plan.json` is the intent, `attempt-000001.json` a process that took it up, `attempt-000001.ended.json` its orderly end,
`done.json` the outcome. Each is created exclusively and never changed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from streamops.control import codec
from streamops.control.layout import replays_folder
from streamops.control.records import Author
from streamops.dead_letters.letter import RecordPosition
from streamops.errors import ObjectExistsError, ObjectNotFoundError, ReplayError
from streamops.storage import FileKind, Storage, create_file, join, read_file

REPLAY_HEADER = "streamops-replay"
"""Name of the header that holds the replay's id."""
POSITION_HEADER = "streamops-position"
"""Name of the header that holds the dead letter's position: `orders/0/17`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsets:
    """Dead letters of a partition."""

    topic: str
    partition: int
    offsets: tuple[int, ...]
    """In order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionEnd:
    """Where a partition ended before the first record was sent."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTopic:
    """A topic as it was then: one that is made anew has another id."""

    topic: str
    id: str
    """Empty where the cluster did not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """The intent: nothing is sent before it is on record."""

    number: int
    id: str
    """Of this replay and no other, of whatever stream: it marks the records."""
    stream: str
    by: Author
    at: datetime
    reason: str
    table: str
    """Address of the dead letters."""
    letters: tuple[PartitionOffsets, ...]
    ends: tuple[PartitionEnd, ...]
    topics: tuple[KnownTopic, ...]

    @property
    def positions(self) -> tuple[RecordPosition, ...]:
        """All that are to be sent, in order."""
        return tuple(
            RecordPosition(topic=part.topic, partition=part.partition, offset=offset)
            for part in self.letters
            for offset in part.offsets
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SentLetters:
    """Dead letters of a partition, and where each lies now."""

    topic: str
    partition: int
    offsets: tuple[int, ...]
    to_partitions: tuple[int, ...]
    to_offsets: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.offsets) == len(self.to_partitions) == len(self.to_offsets):
            raise ValueError("each dead letter that was sent has one new position")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDone:
    """The outcome, once nothing more will be sent."""

    at: datetime
    by: Author
    sent: tuple[SentLetters, ...]
    is_given_up: bool = False
    """Whether a person has ended it before all were sent. Those that were not are free for another replay."""
    is_unknown: bool = False
    """Whether nobody can tell any more which were sent: then none of them is free."""
    reason: str = ""
    """Why it was given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A process that sends, or carries on."""

    by: Author
    at: datetime
    boot_id: str
    pid_namespace: str
    start_ticks: int
    """With those before and the pid it names one process (see `launch.processes`)."""
    uid: int = -1
    """Whose process; -1 where it isn't known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """That it will send no more."""

    at: datetime
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A replay, as its folder tells."""

    plan: ReplayPlan
    done: ReplayDone | None = None
    attempts: int = 0
    """How many processes have taken it up."""
    attempt: Attempt | None = None
    """The last of them."""
    end: AttemptEnd | None = None
    """Of the last."""

    @property
    def is_open(self) -> bool:
        """Whether something may have to be sent yet."""
        return self.done is None

    @property
    def sent(self) -> Mapping[RecordPosition, RecordPosition]:
        """By the dead letter's position where it lies now; empty while the replay is open."""
        return dict(_pairs(self.done.sent)) if self.done else {}

    @property
    def held(self) -> frozenset[RecordPosition]:
        """Positions that no other replay may send."""
        if self.done and self.done.is_given_up and not self.done.is_unknown:
            return frozenset(self.sent)
        return frozenset(self.plan.positions)


def grouped(positions: Iterable[RecordPosition]) -> tuple[PartitionOffsets, ...]:
    """Each once, by partition, in order."""
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for position in sorted(set(positions)):
        groups[position.topic, position.partition].append(position.offset)
    return tuple(
        PartitionOffsets(topic=topic, partition=partition, offsets=tuple(offsets))
        for (topic, partition), offsets in groups.items()
    )


def sent_letters(sent: Mapping[RecordPosition, RecordPosition]) -> tuple[SentLetters, ...]:
    """Old and new positions, as a file has them."""
    found = []
    for part in grouped(sent):
        olds = [RecordPosition(topic=part.topic, partition=part.partition, offset=offset) for offset in part.offsets]
        found.append(
            SentLetters(
                topic=part.topic,
                partition=part.partition,
                offsets=part.offsets,
                to_partitions=tuple(sent[old].partition for old in olds),
                to_offsets=tuple(sent[old].offset for old in olds),
            )
        )
    return tuple(found)


def holders(replays: Iterable[Replay]) -> Mapping[RecordPosition, int]:
    """By position the number of the replay that holds it."""
    return {position: replay.plan.number for replay in replays for position in replay.held}


def first_positions(replays: Iterable[Replay]) -> Mapping[RecordPosition, RecordPosition]:
    """By the position of a record that a replay sent: where the record lay at the very first."""
    found: dict[RecordPosition, RecordPosition] = {}
    for replay in sorted(replays, key=lambda one: one.plan.number):
        for old, new in replay.sent.items():
            found[new] = found.get(old, old)
    return found


def _pairs(sent: Iterable[SentLetters]) -> Iterator[tuple[RecordPosition, RecordPosition]]:
    for part in sent:
        for offset, to_partition, to_offset in zip(part.offsets, part.to_partitions, part.to_offsets, strict=True):
            old = RecordPosition(topic=part.topic, partition=part.partition, offset=offset)
            yield old, RecordPosition(topic=part.topic, partition=to_partition, offset=to_offset)


_FOLDER = re.compile(r"^\d{6}$")
"""`000003`"""
_ATTEMPT = re.compile(r"^attempt-(\d{6})\.json$")
"""`attempt-000001.json`"""
_PLAN = "plan.json"
_DONE = "done.json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStore:
    """The replays of the stream with this checkpoint. Each method raises StorageError, CorruptRecordError for a broken file."""

    storage: Storage
    checkpoint: str

    def replays(self) -> tuple[Replay, ...]:
        """All of them, the first one first."""
        numbers = [int(name) for name in self.storage.list(replays_folder(self.checkpoint)) if _FOLDER.match(name)]
        return tuple(replay for number in numbers if (replay := self._replay(number)))

    def begin(self, plan: ReplayPlan) -> None:
        """Put the intent on record. ReplayError where another replay has just taken its number."""
        self._create(plan.number, _PLAN, plan, taken="another replay has just begun: look again")

    def take_up(self, replay: Replay, attempt: Attempt) -> int:
        """Be the one that sends from now on; the number of the attempt. ReplayError where another process was faster."""
        number = replay.attempts + 1
        taken = f"another process has just taken replay {replay.plan.number} up"
        self._create(replay.plan.number, f"attempt-{number:06d}.json", attempt, taken=taken)
        return number

    def is_newest(self, number: int, attempt: int) -> bool:
        """Whether nobody has taken the replay over from this attempt."""
        return self._attempts(number) == attempt

    def end_attempt(self, number: int, attempt: int, end: AttemptEnd) -> None:
        """Say that this process sends no more."""
        self._create(number, f"attempt-{attempt:06d}.ended.json", end, taken="the attempt has ended before")

    def finish(self, number: int, done: ReplayDone) -> None:
        """Put the outcome on record. ReplayError where it is there already."""
        self._create(number, _DONE, done, taken=f"replay {number} has just been finished by another process")

    def _replay(self, number: int) -> Replay | None:
        """None for a folder in which no plan was ever finished: nothing was sent either."""
        plan = self._read(ReplayPlan, number, _PLAN)
        if plan is None:
            return None
        last = self._attempts(number)
        return Replay(
            plan=plan,
            done=self._read(ReplayDone, number, _DONE),
            attempts=last,
            attempt=self._read(Attempt, number, f"attempt-{last:06d}.json") if last else None,
            end=self._read(AttemptEnd, number, f"attempt-{last:06d}.ended.json") if last else None,
        )

    def _attempts(self, number: int) -> int:
        names = self.storage.list(self._folder(number))
        return max((int(match[1]) for name in names if (match := _ATTEMPT.match(name))), default=0)

    def _read(self, kind: type[T], number: int, name: str) -> T | None:
        address = join(self._folder(number), name)
        try:
            return codec.decode(kind, read_file(self.storage, FileKind.REPLAY, address), address=address)
        except ObjectNotFoundError:
            return None

    def _create(self, number: int, name: str, value: object, *, taken: str) -> None:
        try:
            create_file(self.storage, FileKind.REPLAY, join(self._folder(number), name), codec.encode(value))
        except ObjectExistsError as error:
            raise ReplayError(taken) from error

    def _folder(self, number: int) -> str:
        return join(replays_folder(self.checkpoint), f"{number:06d}")
