"""What a shard of a round hands on, and what is shown of all shards together: plain JSON of bounded size. Pure.

A fleet of 5 000 streams in trouble must neither fill Airflow's database nor its scheduler: each of its rows and tasks is
written and read several times. So the worst come first and have a task each, and the rest share one.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_store import RoundReport
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
