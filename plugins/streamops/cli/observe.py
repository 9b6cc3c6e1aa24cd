"""Many looks at once: a slow or dead place must not keep the others waiting, nor hide them."""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from streamops.backfill.status import BackfillStatus
from streamops.errors import StreamOpsError
from streamops.operations.snapshot import ActContext
from streamops.spec import StreamSpec
from streamops.status import StreamStatus, stream_status
from streamops.supervision import Look

THREADS = 8


def statuses_of(
    specs: Sequence[StreamSpec],
    look: Callable[[StreamSpec], Look],
    *,
    around: Callable[[StreamSpec], ActContext] | None = None,
    backfills: Callable[[StreamSpec], tuple[BackfillStatus, ...]] | None = None,
    patience: timedelta,
) -> tuple[StreamStatus, ...]:
    """The status of each stream, in order; with `around`, also who looks after it and running against declared; with
    `backfills`, those of its backfills that are not finished.

    When no look at all ends for as long as `patience`, the streams that are left are unknown. Threads that hang in
    a dead file system are daemons, so that they can't keep the process alive.
    """
    waiting: queue.SimpleQueue[StreamSpec] = queue.SimpleQueue()
    done: queue.SimpleQueue[StreamStatus] = queue.SimpleQueue()
    for spec in specs:
        waiting.put(spec)

    def work() -> None:
        while True:
            try:
                spec = waiting.get_nowait()
            except queue.Empty:
                return
            status = status_of(spec, look, around)
            done.put(replace(status, backfills=_unfinished(spec, backfills)) if backfills else status)

    for _ in range(min(THREADS, len(specs))):
        threading.Thread(target=work, name="streamops-look", daemon=True).start()
    found: dict[str, StreamStatus] = {}
    while len(found) < len(specs):
        try:
            status = done.get(timeout=patience.total_seconds())
        except queue.Empty:
            break
        found[status.stream] = status
    silence = f"no answer within {patience.total_seconds():.0f} s"
    return tuple(found.get(spec.name) or StreamStatus.unreachable(spec, silence) for spec in specs)


def _unfinished(
    spec: StreamSpec, backfills: Callable[[StreamSpec], tuple[BackfillStatus, ...]]
) -> tuple[BackfillStatus, ...]:
    """None where they can't be listed: the stream itself lies at the same place, and its own look tells why."""
    try:
        return tuple(one for one in backfills(spec) if one.is_unfinished)
    except StreamOpsError:
        return ()


def status_of(
    spec: StreamSpec, look: Callable[[StreamSpec], Look], around: Callable[[StreamSpec], ActContext] | None = None
) -> StreamStatus:
    """The status of one stream; unknown with the reason when the facts can't be had."""
    try:
        return stream_status(look(spec), spec, around=around(spec) if around else None)
    except StreamOpsError as error:
        return StreamStatus.unreachable(spec, str(error))
    except Exception as error:
        # Whatever is wrong with this one stream, the others are shown.
        return StreamStatus.unreachable(spec, f"{type(error).__name__}: {error}")
