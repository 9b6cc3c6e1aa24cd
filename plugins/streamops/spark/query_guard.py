"""Only the runner starts queries in its driver: what a job starts itself would run without a claim of the suite.

Two nets, since a query that got through writes: `start` and `toTable` of Python's writers raise unless the runner calls them,
so that no batch begins; and the JVM's own list of active queries is looked at, for those who go round Python's writers. A
listener would tell the same: it costs seconds at each start of a driver, a look at that list half a millisecond (4.2.0).
"""

import importlib
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from traceback import extract_stack
from typing import TYPE_CHECKING, Any

from streamops.errors import JobStartsQueriesError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.1
"""While a job is imported and defines its queries: shorter than a query takes to its first batch."""
_WRITER_MODULES = ("pyspark.sql.streaming.readwriter", "pyspark.sql.connect.streaming.readwriter")
"""The second is imported by a job, if at all: that costs seconds."""
_STARTERS = ("start", "toTable")
_RUN_ID = re.compile(r"runId = ([0-9a-f-]{36})")
"""Of a run, not of the query: a query that a job starts on the stream's own checkpoint takes that query's place, with its id."""
_HELP = (
    "a job defines its queries, and the runner starts them: return the writer from `define`, without start or toTable"
)

_runner = threading.local()


@contextmanager
def runner_starts() -> Iterator[None]:
    """What this thread starts in here is the runner's."""
    _runner.starts = True
    try:
        yield
    finally:
        _runner.starts = False


class QueryGuard:
    """`with` it, nothing but the runner starts queries in this process; `refuse_strangers` tells who tried.

    Thread-safe. A job may call a writer from any of its threads.
    """

    def __init__(self, spark: "SparkSession", job: str) -> None:
        self._spark = spark
        self._job = job
        self._active: Any = None
        """The JVM's map of all sessions: `spark.streams` tells of its own alone, and a job may make new ones."""
        self._known: set[str] = set()
        """Runs that the runner started, that were there before the job, or that are being stopped."""
        self._seen: list[str] = []
        """What the job did, in words."""
        self._restore: list[Callable[[], None]] = []

    def __enter__(self) -> "QueryGuard":
        importlib.import_module(_WRITER_MODULES[0])
        self._wrap_loaded()
        return self

    def __exit__(self, *_: object) -> None:
        for restore in self._restore:
            restore()
        self._restore.clear()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While the job is imported and defines its queries: one that gets past the writers is stopped as soon as it is there.

        A script that waits for its query would otherwise never come back. Raises JobStartsQueriesError at the end, whatever else
        the job raised: a script that lacks `define` as well was told what matters.
        """
        self._active = self._spark._jsparkSession.sharedState().activeStreamingQueries()
        self._known.update(self._runs())
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done,), name="streamops-queries", daemon=True)
        watcher.start()
        try:
            yield
        except JobStartsQueriesError:
            raise
        except Exception as error:
            if self._seen:
                raise self._refusal() from error
            raise
        finally:
            done.set()
            watcher.join()
            self._stop_strangers()
        self.refuse_strangers()

    def refuse_strangers(self) -> None:
        """JobStartsQueriesError where the job started a query, or tried to; what it started is being stopped."""
        self._stop_strangers()
        if self._seen:
            raise self._refusal()

    def _refusal(self) -> JobStartsQueriesError:
        return JobStartsQueriesError(f"{self._job} {'; '.join(self._seen[:3])}: {_HELP}")

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(_LOOK_SECONDS):
            self._wrap_loaded()
            self._stop_strangers()

    def _runs(self) -> list[str]:
        """In one call: each of them is an answer of the JVM."""
        return _RUN_ID.findall(str(self._active.toString()))

    def _stop_strangers(self) -> None:
        if self._known.issuperset(self._runs()):
            return
        for query in list(self._active.values()):
            run, name = str(query.runId().toString()), query.name() or str(query.id().toString())
            if run in self._known:
                continue
            self._known.add(run)
            self._seen.append(f"started the query {name} past the writers of PySpark")
            log.error("a query that the runner did not start is stopped: %s, run_id=%s", name, run)
            # In a thread of its own: a stop waits for the batch, and the driver, which ends, must not.
            threading.Thread(target=query.stop, name="streamops-stranger", daemon=True).start()

    def _wrap_loaded(self) -> None:
        """Wrap the writers of the modules that are there by now."""
        for name in _WRITER_MODULES:
            writer = getattr(sys.modules.get(name), "DataStreamWriter", None)
            for starter in _STARTERS:
                original = getattr(writer, starter, None)
                if original is not None and not hasattr(original, "__wrapped__"):
                    setattr(writer, starter, self._guarded(original))
                    self._restore.append(partial(setattr, writer, starter, original))

    def _guarded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def start(*arguments: Any, **named: Any) -> Any:
            if getattr(_runner, "starts", False):
                query = original(*arguments, **named)
                self._known.add(str(query.runId))
                return query
            caller = extract_stack(limit=2)[0]
            seen = f"calls {original.__name__} of a query in line {caller.lineno} of {caller.filename}"
            self._seen.append(seen)
            raise JobStartsQueriesError(f"{self._job} {seen}: {_HELP}")

        return start
