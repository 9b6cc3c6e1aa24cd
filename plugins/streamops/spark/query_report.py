"""One query's part of the driver's report: what was seen of it last, since when, and its newest progress."""

import itertools
import json
from collections import deque
from datetime import timedelta

from streamops.control.drivers import QueryBeat
from streamops.progress.event import has_run
from streamops.spark.query_watch import QueryView

PROGRESS_KEPT = 50
"""Progress events of batches in the driver's folder; Spark keeps a hundred in memory."""
IDLE_KEPT = 10
"""Idle events beside them. An idle query makes one every ten seconds: they must not push the batches out, and more of
them in a row are not worth a write each."""
PROGRESS_BYTES = 512 * 1024
"""Bound of a query's progress: an event of a source with thousands of partitions is as long as a book."""


class QueryReport:
    """Not thread-safe: the report around it is."""

    def __init__(self, *, now: timedelta) -> None:
        self.batch = -1
        """The newest batch that has run, or epoch that is committed."""
        self._run = self._input_rows = 0
        self.has_news = False
        """Whether there is progress that nobody has taken."""
        self._sight: QueryView | None = None
        self._step_since = self._progress_since = now
        self._numbers = itertools.count()
        self._batches: deque[tuple[int, str]] = deque(maxlen=PROGRESS_KEPT)
        self._idle: deque[tuple[int, str]] = deque(maxlen=IDLE_KEPT)
        self._idle_in_a_row = 0
        self._has_missed = False
        self._first_epoch: int | None = None

    def see(self, sight: QueryView, *, now: timedelta) -> None:
        """Note where the query stands; the same as before means that it has stood there since."""
        if sight != self._sight:
            self._sight, self._step_since = sight, now
        if sight.epoch is not None:
            self._note_epoch(sight.epoch)

    def add(self, event: str, batch: int | None, *, now: timedelta) -> None:
        """Note one progress event and the batch that it tells of; None for an idle one's."""
        self.renew(now=now)
        if batch is not None:
            self.batch = max(self.batch, batch)
            self._run += 1
            self._input_rows += input_rows_of(event)
            self._batches.append((next(self._numbers), event))
            self._idle_in_a_row = 0
        else:
            self._idle.append((next(self._numbers), event))
            self._idle_in_a_row += 1
        self.has_news = self.has_news or self._idle_in_a_row <= IDLE_KEPT

    def _note_epoch(self, epoch: int) -> None:
        """Of a continuous query, which tells no progress: what lies between two looks was committed in this run."""
        if self._first_epoch is None:
            self._first_epoch = epoch
        done = epoch - 1
        if done >= self._first_epoch and done > self.batch:
            self._run += done - max(self.batch, self._first_epoch - 1)
            self.batch = done

    def renew(self, *, now: timedelta) -> None:
        """Any progress event is a sign of life, whatever it says."""
        self._step_since = self._progress_since = now

    def miss(self) -> bool:
        """Note that progress could not be read; True the first time."""
        is_first, self._has_missed = not self._has_missed, True
        return is_first

    @property
    def is_exact(self) -> bool:
        """Whether `batch` rests on progress events alone, and all of them could be read."""
        return not self._has_missed and self._first_epoch is None

    def beat(self, *, now: timedelta) -> QueryBeat | None:
        """What a beat says of the query; None before it was seen."""
        if self._sight is None:
            return None
        return QueryBeat(
            query_id=self._sight.query_id,
            name=self._sight.name,
            step=self._sight.step,
            step_seconds=seconds_between(self._step_since, now),
            progress_seconds=seconds_between(self._progress_since, now),
            batch=self.batch,
            batches=self._run,
            input_rows=self._input_rows,
            is_exact=self.is_exact,
            message=self._sight.message,
        )

    def lines(self, most: int = PROGRESS_BYTES) -> list[str]:
        """The kept events, oldest first, as many of the newest as fit into so many bytes, their line ends included."""
        kept, size = deque[str](), 0
        for _, event in sorted((*self._batches, *self._idle), reverse=True):
            size += len(event.encode()) + 1
            if size > most:
                break
            kept.appendleft(event)
        return list(kept)


def batch_of(event: str) -> int | None:
    """The number of the batch that an event tells of, None for an idle trigger's. Raises anything for an odd event."""
    fields = json.loads(event)
    event.encode()  # What can't be written to the driver's folder must not wait there for the beat.
    return int(fields["batchId"]) if has_run(fields.get("durationMs", {"addBatch": 0})) else None


def input_rows_of(event: str) -> int:
    """Rows that the batch of an event read; 0 where it does not tell."""
    rows = json.loads(event).get("numInputRows", 0)
    return rows if isinstance(rows, int) else 0


def seconds_between(begin: timedelta, end: timedelta) -> float:
    """A duration as beats carry it."""
    return round((end - begin).total_seconds(), 1)
