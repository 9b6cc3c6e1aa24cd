"""Answers as JSON."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from streamops.cli.act_result import ActResult
from streamops.cli.backfill_text import BackfillAnswer, ListedBackfill, answer_fields, listed_fields
from streamops.cli.driver_log import DriverLog
from streamops.cli.lag_text import lag_fields
from streamops.cli.run_result import RunResult, run_fields
from streamops.formatting import brief as brief
from streamops.operations.forecast import StartForecast
from streamops.operations.history import History
from streamops.retention.lag import StreamLag
from streamops.status import StreamStatus

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
