"""What was foretold beside what Spark then did. Pure: no file is read here."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ANOTHER_SCHEMA = "another valid schema of state"
"""The one damage that no file tells of, and that Spark notices."""


class Result(StrEnum):
    """What a case says of the product."""

    AGREE = "agree"
    WRONG_SAFE = "wrong_safe"
    """A start was called safe, and it failed, lost or repeated."""
    WARNED = "warned"
    """The same, but the report warned of it in other words than those of the start."""
    WRONG_ALARM = "wrong_alarm"
    """A start was advised against, or something called critical, and all was well."""
    WRONG_KIND = "wrong_kind"
    """A start was advised against, for another reason than the true one."""
    WRONG_DETAIL = "wrong_detail"
    """Another batch, or another error, than was named."""
    UNKNOWABLE = "unknowable"
    """Called safe, and wrong by damage that no file tells of, see `unknowable`."""
    UNDECIDED = "undecided"
    """The report leaves it to a person, or doesn't know."""
    NO_ANSWER = "no_answer"
    """The command gave no report."""


class Went(StrEnum):
    """How the starts went; the worst that holds."""

    FINE = "fine"
    RERUNS = "reruns"
    REPEATS = "repeats"
    LOSES = "loses"
    FAILS = "fails"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the starts did to the data."""

    ran: tuple[int, ...] = ()
    """Batches of the first start."""
    ranges: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What each batch of it read of each source, by the id of the batch, as its progress says."""
    error: str = ""
    """Of the first start that failed."""
    error_again: str = ""
    """Of the start after one that failed."""
    lost: tuple[str, ...] = ()
    """Rows that an undamaged query would have delivered, and that the sink still had or was yet to get."""
    lost_before: tuple[str, ...] = ()
    """Rows that the damage itself took out of the sink."""
    extra: tuple[str, ...] = ()
    """Rows that an undamaged query would not have delivered."""
    reran: tuple[int, ...] = ()
    """Batches that an appending sink got a second time."""
    changed: tuple[int, ...] = ()
    """Those of them that came with other rows."""
    sink_error: str = ""
    """Why the sink can't be read afterwards."""
    unknowable: str = ""
    """Why nobody can know of the damage."""
    sees_batches: bool = False
    """Whether the sink knows batches by id."""
    took_again: bool = False
    """Whether a file source took a file that it had taken before, or a batch one that an earlier batch had."""

    @property
    def went(self) -> Went:
        """In one word."""
        if self.error:
            return Went.FAILS
        if self.lost or self.sink_error:
            return Went.LOSES
        if self.extra or self.changed:
            return Went.REPEATS
        return Went.RERUNS if self.reran and not self.sees_batches else Went.FINE

    @property
    def is_bad(self) -> bool:
        """Whether anything but the one batch in flight came otherwise than it should."""
        return self.went in (Went.FAILS, Went.LOSES, Went.REPEATS)

    @property
    def is_excused(self) -> bool:
        """Whether nobody could know; what Spark itself notices can be known, unless it takes the query's plan to notice."""
        return bool(self.unknowable) and (self.went is not Went.FAILS or self.unknowable == ANOTHER_SCHEMA)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A result and the reason for it."""

    result: Result
    why: str = ""


SAFE = frozenset({"safe", "safe-if-idempotent"})
ASYNC = "async progress tracking"
"""In a summary that says that input comes again in other batches, as it does with that even where nothing is damaged."""
DROPPED = "drops every batch up to that"
"""In a summary that foretells that the sink drops what batches read now. No file tells whether they read what they did before:
where a source is read in steps of one size, they do."""
READ_AGAIN = "read again"
"""In a report that foretells that files are taken a second time. No file tells what the state of the query makes of rows that it
has had: one that drops late or double ones delivers nothing else."""
UNDECIDED = frozenset({"blocked", "unknown"})


def judged(report: dict[str, Any], truth: Truth) -> Judgement:
    """The report of a check beside the truth."""
    safety = report["restart"]["safety"]
    if safety == "none":
        return Judgement(Result.NO_ANSWER, report.get("error", ""))
    if safety in UNDECIDED:
        return Judgement(Result.UNDECIDED, f"{safety}, and a start {truth.went}")
    if safety in SAFE:
        return _of_safe(report, truth)
    return _of_futile(report["restart"], truth) if safety == "futile" else _of_unsafe(report, truth)


def _of_safe(report: dict[str, Any], truth: Truth) -> Judgement:
    restart = report["restart"]
    came_again = truth.went is Went.RERUNS and restart["safety"] == "safe"
    if truth.is_excused and (truth.is_bad or came_again):
        return Judgement(Result.UNKNOWABLE, f"{truth.unknowable}, and it {truth.went}")
    if truth.went is Went.REPEATS and ASYNC in restart["summary"] and restart["safety"] == "safe-if-idempotent":
        return Judgement(Result.AGREE)
    if truth.is_bad:
        is_warned = report["verdict"] != "ok" and truth.went is not Went.FAILS
        return Judgement(Result.WARNED if is_warned else Result.WRONG_SAFE, f"{restart['safety']}, and it {truth.went}")
    if came_again:
        return Judgement(Result.WRONG_SAFE, f"safe, and batches {truth.reran} came again")
    if truth.lost_before and report["verdict"] == "ok":
        return Judgement(Result.WRONG_DETAIL, "the sink lacks rows of committed batches, and nothing was told")
    if truth.ran and restart["next_batch"] is not None and truth.ran[0] != restart["next_batch"]:
        return Judgement(Result.WRONG_DETAIL, f"batch {restart['next_batch']} was foretold, {truth.ran[0]} ran first")
    if differing := _differing_range(restart, truth):
        return Judgement(Result.WRONG_DETAIL, differing)
    critical = [finding["rule"] for finding in report["findings"] if finding["severity"] == "critical"]
    if critical and not truth.lost_before:
        return Judgement(Result.WRONG_ALARM, f"critical ({', '.join(critical)}), and nothing was wrong")
    return Judgement(Result.AGREE)


def _differing_range(restart: dict[str, Any], truth: Truth) -> str:
    """How the range that was foretold for a batch that runs again differs from what it read."""
    read = truth.ranges.get(str(restart["next_batch"]))
    told = [{side: _value(one[side]) for side in ("start", "end")} for one in restart["ranges"]]
    if not told or read is None or told == [{side: _value(one[side]) for side in ("start", "end")} for one in read]:
        return ""
    return f"the range {told} was foretold, and batch {restart['next_batch']} read {read}"


def _value(offset: Any) -> Any:
    """An offset as JSON value: the same one is written in many ways."""
    try:
        return json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return offset


def _of_futile(restart: dict[str, Any], truth: Truth) -> Judgement:
    if truth.went is not Went.FAILS:
        result = Result.WRONG_KIND if truth.is_bad else Result.WRONG_ALARM
        return Judgement(result, f"futile, and it {_went(truth)}")
    if not is_told(restart, truth.error):
        return Judgement(Result.WRONG_DETAIL, f"{restart['expected_error']!r} was foretold")
    if truth.ran and restart["next_batch"] is None:
        return Judgement(Result.WRONG_DETAIL, f"batches {truth.ran} ran before it failed")
    return Judgement(Result.AGREE)


def _of_unsafe(report: dict[str, Any], truth: Truth) -> Judgement:
    restart = report["restart"]
    if not truth.is_bad and truth.sees_batches and truth.reran and DROPPED in restart["summary"]:
        return Judgement(Result.UNDECIDED, "the batches that the sink dropped, as foretold, came out as before")
    told = (restart["summary"], *(finding["meaning"] for finding in report["findings"] if finding.get("at_start")))
    if not truth.is_bad and truth.took_again and any(READ_AGAIN in text for text in told):
        return Judgement(Result.UNDECIDED, "files were read again, as foretold, and the state dropped their rows")
    if not truth.is_bad:
        return Judgement(Result.WRONG_ALARM, f"unsafe, and it {_went(truth)}")
    if truth.went is Went.FAILS and not restart["expected_error"]:
        return Judgement(Result.WRONG_KIND, "loss or repetition in silence was foretold, and it fails")
    if truth.went is Went.FAILS and not is_told(restart, truth.error):
        return Judgement(Result.WRONG_DETAIL, f"{restart['expected_error']!r} was foretold")
    return Judgement(Result.AGREE)


def is_told(restart: dict[str, Any], error: str) -> bool:
    """Whether the error is the one that was foretold; where its text is not known, the reason stands for it."""
    return restart["expected_error"] in error or restart["expected_error"] in restart["summary"]


def _went(truth: Truth) -> str:
    return {Went.FINE: "went well", Went.RERUNS: "only ran the batch in flight again"}.get(truth.went, str(truth.went))
