"""What commands show: data to stdout, as text or JSON; talk to stderr. Commands never print."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamops.cli.plans import ActOutcome, ActPlan, ActResult
from streamops.settings import Settings, SettingsProblem
from streamops.supervisor.status import AS_WANTED, Phase, StreamStatus

_UNBOUNDED = 10_000
"""Columns of a pipe or file: one stream a line, whatever its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverLog:
    """The end of the log of one epoch's driver."""

    stream: str
    epoch: int
    path: str
    lines: tuple[str, ...]


class Output(Protocol):
    """One method for each kind of answer."""

    def statuses(self, statuses: Sequence[StreamStatus], problems: Sequence[SettingsProblem]) -> None:
        """Where the streams stand, and what is wrong with the settings of others."""
        ...

    def settings(self, settings: Settings) -> None:
        """What a settings file declares and what is wrong with it."""
        ...

    def result(self, result: ActResult) -> None:
        """What became of a request."""
        ...

    def log(self, log: DriverLog) -> None:
        """The end of a driver's log."""
        ...


def output(*, as_json: bool) -> Output:
    """The output that was asked for."""
    return JsonOutput() if as_json else TextOutput()


class JsonOutput:
    """One JSON document on stdout. Moments are ISO 8601 in UTC, durations seconds."""

    def statuses(self, statuses: Sequence[StreamStatus], problems: Sequence[SettingsProblem]) -> None:
        self._print({"streams": [_status_fields(status) for status in statuses], "problems": _fields(problems)})

    def settings(self, settings: Settings) -> None:
        streams = [spec.name for spec in settings.streams]
        self._print({"path": settings.path, "streams": streams, "problems": _fields(settings.errors)})

    def result(self, result: ActResult) -> None:
        self._print(dataclasses.asdict(result))

    def log(self, log: DriverLog) -> None:
        self._print(dataclasses.asdict(log))

    def _print(self, document: object) -> None:
        sys.stdout.write(json.dumps(document, default=_plain, ensure_ascii=False, indent=2) + "\n")


class TextOutput:
    """Tables and sentences for people; whole lines without colours where stdout is no terminal."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, emoji=False, markup=False, soft_wrap=True)
        if not self._console.is_terminal:
            self._console.width = _UNBOUNDED

    def statuses(self, statuses: Sequence[StreamStatus], problems: Sequence[SettingsProblem]) -> None:
        if statuses:
            self._console.print(_status_table(statuses), soft_wrap=False)
        for status in statuses:
            for note in _notes(status):
                self._console.print(f"{status.stream}: {note}")
        self._problems(problems)
        if not statuses and not problems:
            self._console.print("no streams are declared")

    def settings(self, settings: Settings) -> None:
        for spec in settings.streams:
            self._console.print(Text.assemble((spec.name, "green"), ": ok"))
        self._problems(settings.errors)
        if not settings.streams and not settings.errors:
            self._console.print(f"{settings.path} declares no streams")

    def result(self, result: ActResult) -> None:
        plan = result.plan
        if result.outcome is ActOutcome.PLANNED:
            for line in plan_lines(plan):
                self._console.print(line)
            return
        if result.outcome is ActOutcome.NOTHING_TO_DO:
            self._console.print(f"{plan.stream}: nothing to do: {'; '.join(plan.effects)}")
        else:
            numbers = ", ".join(str(number) for number in result.numbers)
            self._console.print(f"{plan.stream}: {' and '.join(plan.records)} recorded (record {numbers})")
        if result.has_ended is not None:
            self._console.print(f"{plan.stream}: {'no driver lives' if result.has_ended else 'its driver still lives'}")

    def log(self, log: DriverLog) -> None:
        # As it was written: a driver's own colours and tabs are nobody else's business.
        sys.stdout.writelines(f"{line}\n" for line in log.lines)
        sys.stdout.flush()

    def _problems(self, problems: Iterable[SettingsProblem]) -> None:
        for problem in problems:
            self._console.print(Text(str(problem), style="red"))


def plan_lines(plan: ActPlan) -> tuple[str, ...]:
    """A plan, a fact a line."""
    records = ", ".join(plan.records) or "nothing"
    return (
        f"{plan.act} {plan.stream}",
        f"  because  {plan.reason}",
        f"  records  {records}",
        *(f"  then     {effect}" for effect in plan.effects),
    )


def say(text: str) -> None:
    """Talk: one line on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def confirmed(question: str) -> bool:
    """Ask the person at the terminal; anything but a clear yes is a no.

    Typer's own prompt writes a blank to stdout, where only data may go.
    """
    sys.stderr.write(f"{question} [y/N]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Talk while something takes its time: a moving line on a terminal, one plain line elsewhere."""
    console = Console(stderr=True, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        say(text)
        yield
        return
    with console.status(Text(text)):
        yield


def brief(duration: timedelta) -> str:
    """A duration at a glance: `7s`, `12m`, `3h`, `4d`."""
    seconds = int(duration.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _status_table(statuses: Sequence[StreamStatus]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in (
        "stream",
        "phase",
        "epoch",
        "batch",
        "last beat",
        "driver",
        "failures/h",
        "budget left",
        "next attempt",
    ):
        table.add_column(column, justify="right" if column in _FIGURES else "left", overflow="fold")
    for status in statuses:
        age = "" if status.beat_age is None else f"{brief(status.beat_age)} ago"
        attempt = "" if status.next_attempt is None else f"{status.next_attempt:%H:%M:%S} UTC"
        table.add_row(
            Text(status.stream),
            Text(status.phase, style=_style(status)),
            _figure(status.epoch),
            _figure(status.batch),
            age,
            status.driver or "",
            _figure(status.failures_last_hour),
            _figure(status.budget_left),
            attempt,
        )
    return table


_FIGURES = frozenset({"epoch", "batch", "failures/h", "budget left"})


def _style(status: StreamStatus) -> str:
    if status.needs_attention:
        return "bold red"
    return "green" if status.phase is Phase.RUNNING else "" if status.phase in AS_WANTED else "yellow"


def _notes(status: StreamStatus) -> Iterator[str]:
    """What the table has no room for; nothing for a stream that simply runs."""
    if status.phase is not Phase.RUNNING:
        yield status.reason
    if status.due:
        yield f"a supervisor's next step is {status.due}; when this stays, nobody supervises the stream"
    if status.last_end and status.phase in (Phase.WAITING, Phase.PARKED):
        yield f"epoch {status.epoch} ended: {status.last_end}"
    if status.is_declared_differently:
        yield "declared differently since its driver was started; a restart takes the new declaration"


def _figure(value: int | None) -> str:
    return "" if value is None else str(value)


def _status_fields(status: StreamStatus) -> dict[str, object]:
    return {**dataclasses.asdict(status), "is_declared_differently": status.is_declared_differently}


def _fields(problems: Iterable[SettingsProblem]) -> list[dict[str, object]]:
    return [dataclasses.asdict(problem) for problem in problems]


def _plain(value: object) -> object:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in an answer")
