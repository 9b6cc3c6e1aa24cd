"""Rules for a driver that is proven gone: what its end is called, and from which sign. Pure."""

from datetime import datetime

from streamops.control.drivers import ExitRecord
from streamops.control.records import Outcome
from streamops.control.state import EndWish
from streamops.supervision.decision import Action, Decision
from streamops.supervision.observation import EpochFacts


def record_end(facts: EpochFacts, evidence: str, *, superseded: bool = False, asked: EndWish | None = None) -> Decision:
    """Put an end on record, with the best known outcome."""
    exit_record = _telling_exit(facts)
    return Decision(
        action=Action.RECORD_END,
        reason=f"epoch {facts.epoch.number} has ended: {evidence}",
        epoch=facts.epoch.number,
        outcome=_outcome(facts, exit_record, superseded=superseded, asked=asked),
        exit=exit_record,
        last_sign_at=_last_sign(facts),
        last_batch=max((trace.heartbeat.batch for trace in facts.traces if trace.heartbeat), default=-1),
        query_id=next((trace.heartbeat.query_id for trace in facts.traces if trace.heartbeat), ""),
        exit_code=facts.status.exit_code if facts.status else None,
    )


def _last_sign(facts: EpochFacts) -> datetime | None:
    """The driver's own clock at its last beat or exit record; None where it left none that can be read."""
    signs = [sign.at for trace in facts.traces for sign in (trace.heartbeat, trace.exit) if sign]
    return max((moment for sign in signs if (moment := _moment(sign))), default=None)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _telling_exit(facts: EpochFacts) -> ExitRecord | None:
    """Of several instances the one that did the work: a second one halts with lease-lost and hides nothing."""
    records = [trace.exit for trace in facts.traces if trace.exit]
    return min(records, key=lambda record: (record.outcome is Outcome.LEASE_LOST, record.at), default=None)


def _outcome(facts: EpochFacts, exit_record: ExitRecord | None, *, superseded: bool, asked: EndWish | None) -> Outcome:
    """Its own word first; without one, what was done to it; and only then the plain fact that it is gone.

    A driver that was stuck has no word in this: that it then stopped when asked makes it no good end.
    """
    if asked and asked.is_stuck:
        return Outcome.KILLED
    if exit_record:
        return exit_record.outcome
    if asked:
        return Outcome.STOPPED
    was_there = bool(facts.traces)
    if superseded:
        return Outcome.LEASE_LOST if was_there or facts.epoch.submission else Outcome.NEVER_STARTED
    if facts.status is None:
        return Outcome.NEVER_STARTED
    if facts.epoch.kill and was_there:
        return Outcome.KILLED
    return Outcome.DIED if was_there else Outcome.LAUNCH_FAILED
