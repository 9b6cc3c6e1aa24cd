"""What became of one job, and whether its guarantee has held."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from streamops.spec import JdbcSink, KafkaSink, RestSink, SinkSpec
from streamops.spec.sinks import FilesSink, FurtherSink, SinkGuarantee
from streamops_sandbox.catalogue.case import Came
from streamops_sandbox.catalogue.comparing import Difference, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of the table."""

    job: str
    stream: str
    sink: str
    guarantee: SinkGuarantee
    records: int
    """Sent to its topics; files that were put into its folder."""
    rows: int
    """That came out, repeated ones too."""
    kills: int
    """Of its driver, each in the middle of a batch."""
    lost: int
    """Rows and dead letters that had to come out and did not, or not with these values."""
    wrong: int
    """Rows and dead letters that came out and had not to."""
    repeated: int
    """Rows that came out right, and once more than they should."""
    dead_letters: int
    seconds: float
    examples: tuple[str, ...] = ()
    """Of rows that are on one side only, repeated ones too."""

    @property
    def duplicated(self) -> int:
        """All that is there and need not be."""
        return self.wrong + self.repeated

    @property
    def is_good(self) -> bool:
        """Struck, nothing lost, and nothing there twice unless the guarantee allows that."""
        may_repeat = self.guarantee is SinkGuarantee.AT_LEAST_ONCE
        return self.kills > 0 and not self.lost and not self.wrong and (may_repeat or not self.repeated)

    @property
    def content(self) -> dict[str, Any]:
        """As `jobs.json` holds it."""
        return asdict(self) | {"duplicated": self.duplicated, "is_good": self.is_good}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is known of a job's run besides its rows."""

    job: str
    stream: str
    sink: SinkSpec
    records: int
    kills: int
    seconds: float


def judge(
    run: Run,
    *,
    came: Came,
    expected: Iterable[Row],
    dead_letters: Collection[Row],
    expected_dead_letters: Iterable[Row],
) -> Outcome:
    """Compare what came with what had to.

    A row too many that is like one that is expected is a repeated one. Dead letters go to a table by an idempotent sink of
    their own, whatever the stream's sink is: one too many is wrong. ValueError where no row is expected: a trial of nothing
    proves nothing.
    """
    expected = list(expected)
    wanted = set(expected)
    if not wanted:
        raise ValueError("no row is expected: a trial of nothing proves nothing")
    rows = Difference.between(found=came.rows, expected=expected)
    letters = Difference.between(found=dead_letters, expected=expected_dead_letters)
    repeated = sum(count for row, count in rows.surplus.items() if row in wanted)
    return Outcome(
        job=run.job,
        stream=run.stream,
        sink=sink_words(run.sink),
        guarantee=run.sink.guarantee,
        records=run.records,
        rows=len(came.rows) + came.repeated,
        kills=run.kills,
        lost=rows.lost.total() + letters.lost.total(),
        wrong=rows.surplus.total() - repeated + letters.surplus.total(),
        repeated=came.repeated + repeated,
        dead_letters=len(dead_letters),
        seconds=run.seconds,
        examples=(*rows.examples("rows"), *letters.examples("dead letters")),
    )


def sink_words(sink: SinkSpec) -> str:
    """All its places, as `Delta + Kafka`."""
    table = ("Delta",) if sink.table else ()
    return " + ".join((*table, *(_word(place) for place in sink.further)))


def _word(place: FurtherSink) -> str:
    match place:
        case KafkaSink():
            return "Kafka"
        case JdbcSink():
            return "PostgreSQL" if place.url.startswith("jdbc:postgresql:") else "JDBC"
        case RestSink():
            return "REST"
        case FilesSink():
            return "files"
        case _:
            return place.format
