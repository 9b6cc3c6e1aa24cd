"""Files that land in a folder, of each format that J13 reads: every line an order, or a dead letter with the file's name."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from streamops_sandbox.catalogue.case import Case, Feed, Place, Sent, in_its_table
from streamops_sandbox.catalogue.comparing import Row, table_rows
from streamops_sandbox.inputs import InputRecord, Shares
from streamops_sandbox.inputs.order_files import OrderFile, expected_bad_lines, expected_orders, files

WAVES = 4
LINES = 25
"""Of each file."""
_ORDER = ("order_id", "customer", "amount", "status", "event_time")


class OrderFiles:
    """Files of orders of one format as records: the key is a file's name, the value its content."""

    def __init__(self, kind: str) -> None:
        """`kind` is one of `order_files.FORMATS`."""
        self.TOPIC = f"{kind} files"
        """No topic: a folder."""
        self._kind = kind

    def records(self, *, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
        """As many files as `count` lines fill, the share of malformed lines in each; nothing in a file is late or repeated.

        The same for every seed: the orders are those of the demo's generator, from the first on.
        """
        made = files(
            formats=[self._kind], count=max(WAVES, count // LINES), rows=LINES, bad=shares.malformed, waves=WAVES
        )
        return tuple(self._record(PurePosixPath(file.name).name, file.content, file.wave) for file in made)

    def expected_dead_letters(self, records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
        """One for each bad line, with the name of its file."""
        bad = expected_bad_lines(self.as_files(records))
        return tuple(
            self._record(PurePosixPath(name).name, None, 0) for name, lines in bad.items() for _ in range(lines)
        )

    def as_files(self, records: Iterable[InputRecord]) -> list[OrderFile]:
        """The files behind records of this input."""
        return [
            OrderFile(name=f"{self._kind}/{(one.key or b'').decode()}", content=one.value or b"", wave=one.wave)
            for one in records
        ]

    def _record(self, name: str, content: bytes | None, wave: int) -> InputRecord:
        return InputRecord(self.TOPIC, name.encode(), content, wave)


def _orders_of(input_: OrderFiles) -> Callable[[Sent], Iterator[Row]]:
    def orders(sent: Sent) -> Iterator[Row]:
        for row in expected_orders(input_.as_files(sent[input_.TOPIC])):
            yield tuple(getattr(row, column) for column in _ORDER)

    return orders


def _letters_of(input_: OrderFiles) -> Callable[[Place], list[Row]]:
    def letters(place: Place) -> list[Row]:
        found = table_rows(place.spec.sink.dead_letters, "file")
        return [(input_.TOPIC, PurePosixPath(str(file)).name.encode(), None) for (file,) in found]

    return letters


def _case(stream: str, kind: str) -> Case:
    input_ = OrderFiles(kind)
    return Case(
        job="J13",
        stream=stream,
        feeds=(Feed(input=input_),),
        came=in_its_table(*_ORDER),
        expected=_orders_of(input_),
        letters=_letters_of(input_),
    )


CASES = (_case("files_etl", "json"), _case("files_etl_csv", "csv"), _case("files_etl_parquet", "parquet"))
