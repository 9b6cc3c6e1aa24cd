"""One round of health checks over some streams: look at each, keep what was found, hand on what is to be shown.

A fleet of 5 000 streams in trouble must neither fill Airflow's database nor its scheduler: each of its rows and tasks is
written and read several times. So the worst come first and have a task each, and the rest share one.

Three steps, each over all streams and each with limits, because a place that hangs costs its own answer and no more.
`verdict_store` says why a crash between any two of them does no harm.
"""

import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from streamops.bounded_pool import WorkResult, work_on
from streamops.clock import Clock
from streamops.control.records import Author
from streamops.errors import StreamOpsError
from streamops.fleet.observe_health import HealthLook, look_at
from streamops.fleet.verdict_change import OnChange, record_verdict
from streamops.fleet.verdict_store import RoundPace, RoundReport, VerdictKeeping, look_of, order_of_round
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.verdict import Verdict

MOST_ROWS = 500
"""Streams that one shard names. Airflow refuses to map over more than 1 024 of anything (core.max_map_length, 3.3)."""
MOST_TASKS = 50
"""Streams with a task of their own in one round."""
MOST_LINES = 200
"""Lines of a task for many streams, and troubles of a shard."""
LINE_LENGTH = 300

_WORST_FIRST = {verdict: rank for rank, verdict in enumerate(reversed(Verdict))}


def shard_of(stream: str, shards: int) -> int:
    """The shard that looks at a stream: by its name alone, so that an edited file never moves another stream."""
    return zlib.crc32(stream.encode()) % shards


def answer_of(report: RoundReport, *, shard: int) -> dict[str, Any]:
    """A shard's answer: how many streams have which verdict, and those that are not ok, the worst first."""
    bad = sorted((look for look in report.looks if look.verdict is not Verdict.OK), key=_rank)
    return {
        "shard": shard,
        "counts": dict(Counter(str(look.verdict) for look in report.looks)),
        "rows": [[look.spec.name, str(look.verdict), _cut(look.line)] for look in bad[:MOST_ROWS]],
        "troubles": _shortened([_cut(trouble) for trouble in report.troubles]),
    }


def summary_of(answers: Iterable[Mapping[str, Any]]) -> str:
    """The round in one line: `5000 streams: 4990 ok, 2 warning, 8 critical`."""
    counts: Counter[str] = Counter()
    for answer in answers:
        counts.update(answer["counts"])
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    return f"{counts.total()} streams: {told or 'nothing to look at'}"


def tasks_of(answers: Sequence[Mapping[str, Any]], *, shards: int) -> list[dict[str, Any]]:
    """One entry for each task that shows something: label, stream (empty where it is about more), verdict, lines.

    `shards`: how many were asked; one without an answer is as bad as it gets, since nobody knows what it would have found.
    """
    rows = sorted((row for answer in answers for row in answer["rows"]), key=lambda row: _WORST_FIRST[Verdict(row[1])])
    tasks = [_task(label=name, stream=name, verdict=verdict, lines=[line]) for name, verdict, line in rows[:MOST_TASKS]]
    rest = rows[MOST_TASKS:]
    if rest:
        unnamed = sum(_bad(answer) for answer in answers) - len(rows)
        lines = _shortened([f"{name} {verdict}: {line}" for name, verdict, line in rest], unnamed=unnamed)
        tasks.append(_task(label=f"and {len(rest) + unnamed} more", verdict=rest[0][1], lines=lines))
    troubles = [
        *(f"shard {shard} gave no answer: see its log" for shard in _missing(answers, shards)),
        *(f"shard {answer['shard']}: {trouble}" for answer in answers for trouble in answer["troubles"]),
    ]
    if troubles:
        tasks.append(_task(label="the checks themselves", verdict=Verdict.CRITICAL, lines=_shortened(troubles)))
    return tasks


def _task(*, label: str, verdict: str, lines: Sequence[str], stream: str = "") -> dict[str, Any]:
    return {"label": label, "stream": stream, "verdict": str(verdict), "lines": list(lines)}


def _rank(look: HealthLook) -> tuple[int, str]:
    return _WORST_FIRST[look.verdict], look.spec.name


def _bad(answer: Mapping[str, Any]) -> int:
    return sum(count for verdict, count in answer["counts"].items() if verdict != Verdict.OK)


def _missing(answers: Iterable[Mapping[str, Any]], shards: int) -> list[int]:
    return sorted(set(range(shards)) - {answer["shard"] for answer in answers})


def _shortened(lines: list[str], *, unnamed: int = 0) -> list[str]:
    left = max(0, len(lines) - MOST_LINES) + unnamed
    return [*lines[:MOST_LINES], *([f"… and {left} more"] if left else [])]


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LENGTH else line[: LINE_LENGTH - 1] + "…"


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPorts:
    """What a round works with."""

    storage_for: Callable[[str], Storage]
    clock: Clock
    author: Author
    on_change: OnChange | None = None


def run_round(specs: Sequence[StreamSpec], *, state_root: str, doors: RoundPorts, pace: RoundPace) -> RoundReport:
    """Look at these streams, keep and tell. Raises nothing that a stream or a place gives rise to."""
    keeping = _keeping(state_root, doors, pace)
    away = keeping.trouble()
    look = partial(_look, keeping=keeping, doors=doors, has_history=not away)
    worked = work_on(order_of_round(specs, doors.clock.now()), look, pace=pace.looking)
    looks = tuple(look_of(one, pace=pace.looking, now=doors.clock.now()) for one in worked)
    if away:
        return RoundReport(looks=looks, troubles=(away,))
    begun = [found for one, found in zip(worked, looks, strict=True) if one.fate is not WorkResult.NOT_BEGUN]
    return RoundReport(looks=looks, troubles=keeping.keep_and_tell(begun))


def look_once(spec: StreamSpec, *, state_root: str, doors: RoundPorts, pace: RoundPace) -> HealthLook:
    """One look at one stream, for whoever reads a round's report later: nothing is kept and nobody is told."""
    look = partial(_look, keeping=_keeping(state_root, doors, pace), doors=doors, has_history=True)
    (worked,) = work_on((spec,), look, pace=pace.looking)
    return look_of(worked, pace=pace.looking, now=doors.clock.now())


def _keeping(state_root: str, doors: RoundPorts, pace: RoundPace) -> VerdictKeeping:
    return VerdictKeeping(
        state_root=state_root,
        storage_for=doors.storage_for,
        pace=pace,
        on_change=doors.on_change,
        record=partial(_record, doors=doors),
    )


def _look(spec: StreamSpec, *, keeping: VerdictKeeping, doors: RoundPorts, has_history: bool) -> HealthLook:
    history = keeping.history(spec.name) if has_history else None
    return look_at(
        spec,
        storage_for=doors.storage_for,
        history=history,
        now=doors.clock.now(),
        state_root=keeping.state_root if has_history else "",
    )


def _record(look: HealthLook, verdict: Verdict, *, doors: RoundPorts) -> bool:
    """A log that can't be used takes no verdict: the look is kept all the same, and the next round tries again."""
    storage = doors.storage_for(look.spec.checkpoint)
    try:
        return record_verdict(
            look.spec, verdict, look.sample.rules, storage=storage, clock=doors.clock, author=doors.author
        )
    except StreamOpsError as error:
        log.warning("stream=%s its control log has no record of the verdict: %s", look.spec.name, error)
        return False
