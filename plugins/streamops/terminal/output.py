"""What commands show: data to stdout, as text or JSON. Commands never print."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from streamops.explanation import Explanation
from streamops.operations.act_plan import Act, Stage
from streamops.operations.history import History
from streamops.operations.snapshot import StartForecast
from streamops.retention.lag import StreamLag, rest
from streamops.status import StreamStatus
from streamops.terminal.backfill_text import (
    BackfillAnswer,
    ListedBackfill,
    answer_fields,
    answer_lines,
    backfill_table,
    listed_fields,
    listed_notes,
)
from streamops.terminal.console import PrintableConsole
from streamops.terminal.results import (
    ActOutcome,
    ActResult,
    DriverLog,
    RunResult,
    history_lines,
    outlook_lines,
    run_fields,
    run_lines,
)
from streamops.terminal.status_text import (
    drift_lines,
    lag_fields,
    lag_heading,
    lag_table,
    partition_table,
    status_notes,
    status_table,
)

if TYPE_CHECKING:
    from streamops.settings import Settings, SettingsProblem


class JsonOutput:
    """One JSON document on stdout. Moments are ISO 8601 in UTC, durations seconds."""

    def statuses(self, statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> None:
        self._print({"streams": [_status_fields(status) for status in statuses], "problems": _fields(problems)})

    def drifts(self, statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> None:
        streams = [
            {
                "stream": status.stream,
                "phase": status.phase,
                "reason": status.reason,
                "is_declared_differently": status.is_declared_differently,
                "drift": _drift_fields(status),
            }
            for status in statuses
        ]
        self._print({"streams": streams, "problems": _fields(problems)})

    def history(self, history: History) -> None:
        self._print(dataclasses.asdict(history))

    def explanation(self, explanation: Explanation) -> None:
        self._print(dataclasses.asdict(explanation) | {"ends": dict(explanation.ends)})

    def outlook(self, outlook: StartForecast) -> None:
        self._print(dataclasses.asdict(outlook))

    def lags(self, lags: Sequence[StreamLag], *, in_detail: bool) -> None:
        self._print({"streams": [lag_fields(lag) for lag in lags]})

    def settings(self, settings: "Settings") -> None:
        streams = [spec.name for spec in settings.streams]
        self._print(
            {
                "path": settings.path,
                "streams": streams,
                "kept": [dataclasses.asdict(kept) for kept in settings.kept],
                "problems": _fields(settings.problems),
                "notices": list(settings.notices),
            }
        )

    def result(self, result: ActResult) -> None:
        self._print(dataclasses.asdict(result))

    def run(self, result: RunResult) -> None:
        self._print(run_fields(result))

    def backfill(self, answer: BackfillAnswer) -> None:
        self._print(answer_fields(answer))

    def backfills(self, stream: str, listed: Sequence[ListedBackfill]) -> None:
        self._print({"stream": stream, "backfills": [listed_fields(one) for one in listed]})

    def log(self, log: DriverLog) -> None:
        self._print(dataclasses.asdict(log))

    def _print(self, document: object) -> None:
        sys.stdout.write(json.dumps(document, default=_plain, ensure_ascii=True, indent=2) + "\n")


def _status_fields(status: StreamStatus) -> dict[str, object]:
    return {
        **dataclasses.asdict(status),
        "drift": _drift_fields(status),
        "is_declared_differently": status.is_declared_differently,
        "verdict": status.verdict,
    }


def _drift_fields(status: StreamStatus) -> dict[str, object] | None:
    if status.drift is None:
        return None
    return {**dataclasses.asdict(status.drift), "marks": status.drift.marks}


def _fields(problems: Iterable["SettingsProblem"]) -> list[dict[str, object]]:
    return [dataclasses.asdict(problem) for problem in problems]


def _plain(value: object) -> object:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in an answer")


_UNBOUNDED = 10_000
"""Columns of a pipe or file: one stream a line, whatever its length."""


class Output(Protocol):
    """One method for each kind of answer."""

    def statuses(self, statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> None:
        """Where the streams stand, and what is wrong with the settings of others."""
        ...

    def drifts(self, statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> None:
        """How what runs differs from what is declared."""
        ...

    def history(self, history: History) -> None:
        """What was done to a stream."""
        ...

    def explanation(self, explanation: Explanation) -> None:
        """The last hours of a stream."""
        ...

    def outlook(self, outlook: StartForecast) -> None:
        """What a start now would do."""
        ...

    def lags(self, lags: Sequence[StreamLag], *, in_detail: bool) -> None:
        """What streams have not read yet; in detail partition by partition."""
        ...

    def settings(self, settings: "Settings") -> None:
        """What a settings file declares and what is wrong with it."""
        ...

    def result(self, result: ActResult) -> None:
        """What became of a request."""
        ...

    def run(self, result: RunResult) -> None:
        """What became of a bounded run."""
        ...

    def backfill(self, answer: BackfillAnswer) -> None:
        """A backfill: its plan, or where it stands."""
        ...

    def backfills(self, stream: str, listed: Sequence[ListedBackfill]) -> None:
        """All backfills of a stream."""
        ...

    def log(self, log: DriverLog) -> None:
        """The end of a driver's log."""
        ...


def output(*, as_json: bool) -> Output:
    """The output that was asked for."""
    return JsonOutput() if as_json else TextOutput()


class TextOutput:
    """Tables and sentences for people; whole lines without colours where stdout is no terminal."""

    def __init__(self) -> None:
        self._console = PrintableConsole()
        if not self._console.is_terminal:
            self._console.width = _UNBOUNDED

    def statuses(self, statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> None:
        if statuses:
            self._console.print(status_table(statuses), soft_wrap=False)
        for status in statuses:
            for note in status_notes(status):
                self._console.print(f"{status.stream}: {note}")
        self._problems(problems)
        if not statuses and not problems:
            self._console.print("no streams are declared")

    def drifts(self, statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> None:
        for status in statuses:
            for line in drift_lines(status):
                self._console.print(line)
        self._problems(problems)
        if not statuses and not problems:
            self._console.print("no streams are declared")

    def history(self, history: History) -> None:
        for line in history_lines(history):
            self._console.print(line)

    def explanation(self, explanation: Explanation) -> None:
        for sentence in explanation.sentences:
            self._console.print(sentence)
        if explanation.unreadable_records:
            self._console.print(f"{explanation.unreadable_records} records of its control log can't be read.")

    def outlook(self, outlook: StartForecast) -> None:
        for line in outlook_lines(outlook):
            self._console.print(line)

    def lags(self, lags: Sequence[StreamLag], *, in_detail: bool) -> None:
        if not lags:
            self._console.print("no streams are declared")
            return
        if not in_detail:
            self._console.print(lag_table(lags), soft_wrap=False)
            return
        for lag in lags:
            for line in lag_heading(lag):
                self._console.print(line)
            if lag.partitions:
                self._console.print(partition_table(lag), soft_wrap=False)
            if more := rest(lag):
                self._console.print(more)

    def settings(self, settings: "Settings") -> None:
        since = {kept.name: kept.since for kept in settings.kept}
        for spec in settings.streams:
            if spec.name in since:
                standing = f": goes on as it was declared since {since[spec.name]:%Y-%m-%d %H:%M} UTC"
                self._console.print(Text.assemble((spec.name, "yellow"), standing))
            else:
                self._console.print(Text.assemble((spec.name, "green"), ": ok"))
        self._problems(settings.problems)
        for notice in settings.notices:
            self._console.print(Text.assemble((notice, "yellow")))
        if not settings.streams and not settings.problems:
            self._console.print(f"{settings.path} declares no streams")

    def result(self, result: ActResult) -> None:
        plan = result.plan
        if result.outcome is ActOutcome.PLANNED:
            for line in plan.lines:
                self._console.print(line)
            return
        if result.outcome is ActOutcome.NOTHING_TO_DO:
            self._console.print(f"{plan.stream}: nothing to do: {'; '.join(plan.effects)}")
        else:
            numbers = ", ".join(str(number) for number in result.numbers)
            self._console.print(f"{plan.stream}: {' and '.join(plan.records)} recorded (record {numbers})")
            if plan.ends and result.has_ended is None:
                self._console.print(
                    f"{plan.stream}: epoch {plan.ends[-1]} has not ended yet, its driver may still be in a batch: `streamops"
                    f" status {plan.stream}` tells when it has, and --wait waits for it"
                )
        if line := _progress_line(result):
            self._console.print(f"{plan.stream}: {line}")

    def run(self, result: RunResult) -> None:
        for line in run_lines(result):
            self._console.print(line)

    def backfill(self, answer: BackfillAnswer) -> None:
        for line in answer_lines(answer):
            self._console.print(line)

    def backfills(self, stream: str, listed: Sequence[ListedBackfill]) -> None:
        if not listed:
            self._console.print(f"{stream}: no backfill was ever asked for")
            return
        self._console.print(backfill_table(listed), soft_wrap=False)
        for one in listed:
            for note in listed_notes(one):
                self._console.print(note)

    def log(self, log: DriverLog) -> None:
        # As it was written: a driver's own colours and tabs are nobody else's business.
        sys.stdout.writelines(f"{line}\n" for line in log.lines)
        sys.stdout.flush()

    def _problems(self, problems: Iterable["SettingsProblem"]) -> None:
        for problem in problems:
            self._console.print(Text(str(problem), style="red"))


def _progress_line(result: ActResult) -> str:
    """What was seen while the command waited; empty when it did not."""
    progress, waited = result.progress, result.waited
    if progress is None or waited is None:
        return ""
    seconds = f"{waited.total_seconds():.0f} s"
    if progress.stage is Stage.DONE:
        return f"{progress.evidence} (after {seconds})"
    if progress.stage is Stage.FAILED:
        return f"it did not come about: {progress.evidence}"
    missing = "its driver still lives" if result.plan.act is Act.STOP else "no batch of a new driver was committed"
    return f"{missing} within {seconds}: {progress.evidence}"
