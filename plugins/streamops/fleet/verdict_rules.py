"""When a verdict counts as changed, who is told, and what is recorded. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.fleet.health_history import HealthEntry, KeptChange, NotedChange
from streamops.fleet.observe_health import HealthLook
from streamops.verdict import Verdict

_ORDER = tuple(Verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What a look gives cause to."""

    settled: Verdict
    """The verdict that counts from now on."""
    change: NotedChange | None = None
    """The change that it is, if it is one."""
    untold: NotedChange | None = None
    """An earlier change that nobody has been told of: the round that noted it came to an end before."""
    is_recorded: bool = False
    """Whether the control log is known to have the settled verdict."""
    is_record_due: bool = False
    """Whether the control log is to be given it now, unless it has it."""


def upkeep_of(
    look: HealthLook, *, previous: HealthEntry | None, kept: KeptChange | None, patience: timedelta
) -> Upkeep:
    """What is to be kept and told after a look.

    `previous`: the look before. `kept`: the newest change. `patience`: what a round may need between noting and telling.
    """
    at, before = look.sample.at, _verdict(kept)
    settled = settled_verdict(before, previous=previous.sample.verdict if previous else None, seen=look.verdict)
    change = None
    if settled is not (before or Verdict.OK):
        number = kept.noted.number + 1 if kept else 0
        change = NotedChange(
            number=number, at=at, after=str(settled), before=str(before or ""), rules=look.sample.rules
        )
    is_recorded = change is None and has_record(previous, kept)
    return Upkeep(
        settled=settled,
        change=change,
        untold=kept.noted if kept and not change and is_untold(kept, at, patience=patience) else None,
        is_recorded=is_recorded,
        # Where the checkpoint can't be read, the log beside it can't be either.
        is_record_due=look.verdict is settled and not look.trouble and not is_recorded,
    )


def settled_verdict(before: Verdict | None, *, previous: Verdict | None, seen: Verdict) -> Verdict:
    """The verdict that counts: a worse one at once, a better one and `unknown` when two looks in a row have seen it.

    Damage does not go away by waiting. But a place that does not answer for a moment is the ordinary cause of `unknown`,
    and a verdict that comes and goes must not wake anybody each time. Where nothing is on record, all was well.
    """
    counts = before or Verdict.OK
    is_worse = _ORDER.index(seen) > _ORDER.index(counts)
    if seen is previous or (is_worse and seen is not Verdict.UNKNOWN):
        return seen
    return counts


def is_untold(kept: KeptChange, now: datetime, *, patience: timedelta) -> bool:
    """Whether the newest change waits for a round to take its telling over, which one may do once.

    A change from the future was noted by a clock that is wrong, and counts as old.
    """
    return (
        not (kept.is_told or kept.is_taken_over) and abs(now - kept.noted.at) >= patience and _verdict(kept) is not None
    )


def has_record(previous: HealthEntry | None, kept: KeptChange | None) -> bool:
    """Whether the look before says that the control log has the verdict that counts.

    It does not where it is older than the newest change: that round noted the change and came to an end before the rest.
    """
    if previous is None or not previous.is_recorded:
        return False
    return kept is None or previous.sample.at >= kept.noted.at


def _verdict(kept: KeptChange | None) -> Verdict | None:
    """None where none was kept, or one that this version does not know."""
    try:
        return Verdict(kept.noted.after) if kept else None
    except ValueError:
        return None
