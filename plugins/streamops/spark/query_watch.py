"""Looking at one running query from its driver's Python: the step that it is in, and the progress that is new.

Spark's texts end here: what leaves this module is said in words of our own.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamops.control.drivers import QueryStep
from streamops.control.texts import NAME_LIMIT
from streamops.progress.event import has_run

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

_Mark = tuple[int, str]
"""A batch has the number that the idle events before it had, so an event is known by its number and time together."""

MESSAGE_LENGTH = 200

_IN_BATCH = ("Processing new data", "No new data but cleaning up state")
"""Messages of Spark's MicroBatchExecution (3.5 to 4.2) while a batch runs. Everything else in an active trigger is planning:
`Getting offsets from …`, `Writing offsets to log`, and at its very begin the message of the wait before. `isDataAvailable`
does not tell: while a trigger plans, it is left over from the one before."""
_CONTINUOUS = re.compile(r"Running$|Committing epoch (?P<epoch>\d+)")
"""Messages of Spark's ContinuousExecution (4.2), which has no triggers: its tasks are at work from its start to its end, and an
epoch is due at each interval, with data or without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryView:
    """What was seen of a query at one moment."""

    query_id: str
    name: str
    step: QueryStep
    message: str = ""
    number: int = 0
    """Which of the driver's queries it is: 0 is the stream's own."""
    epoch: int | None = None
    """That a continuous query was committing last; the ones before it are committed."""


class QueryWatch:
    """One query under its driver's eyes."""

    def __init__(self, query: "StreamingQuery", *, number: int = 0) -> None:
        self.query = query
        self.number = number
        self._query_id = str(query.id)
        self._name = (query.name or "")[:NAME_LIMIT]
        self._newest: _Mark | None = None
        self._next_batch = 0

    def look(self) -> QueryView:
        """Where it stands."""
        status = self.query.status
        message = str(status["message"])[:MESSAGE_LENGTH]
        return QueryView(
            query_id=self._query_id,
            name=self._name,
            step=self._step(status, message),
            message=message,
            number=self.number,
            epoch=_epoch(message),
        )

    def new_progress(self) -> list[str]:
        """Each progress event since the last call, one line of JSON each, oldest first. Raises anything for an odd one."""
        last = self.query.lastProgress
        if last is None or _mark(last) == self._newest:
            return []
        events = [last] if self._is_next(last) else self._unseen(last)
        if events:
            # Not `last`: another may have come between the two questions.
            self._remember(events[-1])
        return [event.json for event in events]

    @property
    def is_between_batches(self) -> bool:
        """Whether no trigger is active right now."""
        return not self.query.status["isTriggerActive"]

    def last_mark(self) -> _Mark | None:
        """What its newest progress event is known by, None for one that can't be read; changes with the end of a batch."""
        try:
            last = self.query.lastProgress
            return (-1, "") if last is None else _mark(last)
        except Exception:
            return None

    def _step(self, status: dict[str, Any], message: str) -> QueryStep:
        if not self.query.isActive:
            return QueryStep.ENDED
        if message.startswith("Initializing"):
            return QueryStep.STARTING
        if _CONTINUOUS.match(message):
            return QueryStep.BATCH
        if not status["isTriggerActive"]:
            return QueryStep.WAITING
        return QueryStep.BATCH if message.startswith(_IN_BATCH) else QueryStep.PLANNING

    def _is_next(self, event: "StreamingQueryProgress") -> bool:
        """Whether no batch can lie between this event and the newest known one; idle events that do are no loss.

        To take all of the hundred events that Spark keeps across to Python costs 0.2 s (measured), so it is avoided.
        """
        return self._newest is not None and int(event.batchId) <= self._next_batch

    def _unseen(self, last: "StreamingQueryProgress") -> "list[StreamingQueryProgress]":
        try:
            recent = list(self.query.recentProgress)
            known = [index for index, event in enumerate(recent) if _mark(event) == self._newest]
        except Exception:
            # One of the hundred that can't be read hides all of them.
            return [last]
        return recent[known[-1] + 1 :] if known else recent

    def _remember(self, event: "StreamingQueryProgress") -> None:
        has_ended_batch = has_run(event.durationMs)
        self._newest, self._next_batch = _mark(event), int(event.batchId) + has_ended_batch


def _epoch(message: str) -> int | None:
    found = _CONTINUOUS.match(message)
    return int(found["epoch"]) if found and found["epoch"] else None


def _mark(event: "StreamingQueryProgress") -> _Mark:
    return int(event.batchId), str(event.timestamp)
