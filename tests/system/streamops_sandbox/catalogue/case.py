"""What is known of one job: its input, what must come of it, and how to read what came."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from streamops.spec import StreamSpec
from streamops_sandbox.catalogue.comparing import Row, table_rows
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.inputs import USUAL, InputRecord, Shares

Sent = Mapping[str, tuple[InputRecord, ...]]
"""All records of each topic; what is no topic is a folder, and its records are files (`delivery`)."""


class Input(Protocol):
    """A module of `sandbox.inputs`, or files of orders (`landed`)."""

    TOPIC: str

    def records(self, *, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]: ...

    def expected_dead_letters(self, records: Iterable[InputRecord]) -> tuple[InputRecord, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One topic or folder, and how much goes into it."""

    input: Input
    share: float = 1.0
    """Of the number of records that is asked for."""

    @property
    def topic(self) -> str:
        """Where the records go."""
        return self.input.TOPIC

    def records(self, *, seed: int, count: int) -> tuple[InputRecord, ...]:
        """Some of everything that the input knows: late, repeated, malformed, out of order."""
        return self.input.records(seed=seed, count=round(count * self.share), shares=USUAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stream has written."""

    spec: StreamSpec
    bootstrap: str

    @property
    def topic(self) -> str:
        """That it writes to; SandboxError where none is declared."""
        if (sink := self.spec.sink.kafka) is None:
            raise SandboxError(f"{self.spec.name} is declared without a topic to write to")
        return sink.topic

    def parameter(self, name: str) -> str:
        """One of its parameters; SandboxError where it is not declared."""
        declared = dict(self.spec.parameters)
        if name not in declared:
            raise SandboxError(f"{self.spec.name} is declared without the parameter {name}")
        return declared[name]

    def rows(self, *columns: str) -> list[tuple[object, ...]]:
        """Of its table."""
        return table_rows(self.spec.sink.table, *columns)

    def dead_letters(self) -> list[tuple[object, ...]]:
        """Topic, key and value of each dead letter."""
        table = self.spec.sink.dead_letters
        return table_rows(table, "topic", "key", "value") if table else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What lies in a stream's sink."""

    rows: Collection[Row]
    repeated: int = 0
    """Rows that are there once more than they need be, and do no harm: the same as one among `rows`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One stream of the catalogue."""

    job: str
    """Its number in the catalogue of jobs: J7."""
    stream: str
    feeds: tuple[Feed, ...]
    came: Callable[[Place], Came]
    expected: Callable[[Sent], Iterable[Row]]
    letters: Callable[[Place], Collection[Row]] = Place.dead_letters
    """Topic, key and value of each dead letter, as the input has those that are expected."""
    prepare: Callable[[Place, Sent], None] | None = None
    """Puts in place what must be there before the stream starts, besides its topics."""
    shows_batches: bool = True
    """Whether the log of its checkpoint has a batch while it runs: not so without batches, or when they are logged later. Then
    a blow falls when the sink has got something, and `watch` must tell."""
    watch: Callable[[Place], AbstractContextManager[Callable[[], int]]] | None = None
    """Counts what the sink has got so far. A blow falls only when it has got something of the batch, so that the next driver
    finds it there. Without it a blow falls anywhere in the batch."""

    def sent(self, *, seed: int, count: int) -> Sent:
        """Its input, the same for the same arguments."""
        return {feed.topic: feed.records(seed=seed, count=count) for feed in self.feeds}

    def malformed(self, sent: Sent) -> list[InputRecord]:
        """The records that belong into the dead letters."""
        return [record for feed in self.feeds for record in feed.input.expected_dead_letters(sent[feed.topic])]

    def watched(self, place: Place) -> AbstractContextManager[Callable[[], int] | None]:
        """What counts while the context lasts, None where nothing does."""
        return self.watch(place) if self.watch else nullcontext()


def in_its_table(*columns: str) -> Callable[[Place], Came]:
    """These columns of the stream's Delta table."""
    return lambda place: Came(rows=place.rows(*columns))
