"""Builders of control records, and strategies that draw them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from streamops.control.codec import encode_record
from streamops.control.fold import fold
from streamops.control.layout import record_address
from streamops.control.records import (
    Acknowledged,
    ActBegun,
    ActEnded,
    Adopted,
    Author,
    Body,
    Claimed,
    ClaimMode,
    DriverEnded,
    DriverHandle,
    KillBegun,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Position,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
    Submitted,
    TopicSeen,
    VerdictChanged,
)
from streamops.control.state import LogState
from streamops.spec.wire import spec_text
from streamops.storage import WritableStorage
from support.clock import START
from support.specs import SUPERVISOR, a_stream

# Builders


def token_of(epoch: int) -> str:
    """The token that `a_claim` gives an epoch."""
    return f"token-{epoch}"


def a_handle(process: str = "100:5", host: str = "host-1") -> DriverHandle:
    """A driver of this host."""
    return DriverHandle(launcher="fake", host=host, process=process)


def a_claim(epoch: int = 1, *, stream: str = "orders", token: str = "", position: Position | None = None) -> Claimed:
    """A live claim."""
    return Claimed(
        stream=stream,
        epoch=epoch,
        token=token or token_of(epoch),
        mode=ClaimMode.LIVE,
        position=position or Position(),
        spec=spec_text(a_stream(stream)),
        job_sha256="0" * 64,
        library_version="0",
    )


def a_submit(epoch: int = 1) -> Submitted:
    """The submit of an epoch."""
    return Submitted(epoch=epoch, handle=a_handle(f"{100 + epoch}:5"))


def an_end(
    epoch: int = 1, outcome: Outcome = Outcome.DIED, *, commit: int = -1, offset: int | None = None
) -> DriverEnded:
    """A proven end, with the checkpoint at this commit."""
    position = Position(offset=commit if offset is None else offset, commit=commit)
    return DriverEnded(epoch=epoch, outcome=outcome, position=position)


def a_record(body: Body, number: int = 0, **changes: Any) -> Record:
    """One record; each comes a second after the one before."""
    fields: dict[str, Any] = {
        "number": number,
        "at": START + timedelta(seconds=number),
        "by": SUPERVISOR,
        "reason": f"reason {number}",
        "nonce": f"nonce-{number}",
        "body": body,
    }
    return Record(**{**fields, **changes})


def a_log(*bodies: Body) -> tuple[Record, ...]:
    """Records of these bodies, numbered from 0."""
    return tuple(a_record(body, number) for number, body in enumerate(bodies))


def a_state(*bodies: Body) -> LogState:
    """What a log of these bodies means."""
    return fold(a_log(*bodies))


def write_log(storage: WritableStorage, control: str, records: tuple[Record, ...]) -> None:
    """The records as files."""
    for record in records:
        storage.write(record_address(control, record.number), encode_record(record))


# Strategies

texts = st.text(max_size=8)
moments = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2040, 1, 1), timezones=st.just(UTC))
epochs = st.integers(0, 6)
positions = st.builds(Position, query_id=texts, offset=st.integers(-1, 50), commit=st.integers(-1, 50))
handles = st.builds(
    DriverHandle, launcher=texts, host=texts, boot_id=texts, pid_namespace=texts, process=texts, log=texts
)
authors = st.builds(Author, actor=texts, host=texts, pid=st.integers(0, 2**22))

BODIES: dict[type, st.SearchStrategy[Body]] = {
    Adopted: st.builds(Adopted, stream=texts, position=positions, epochs_seen=epochs, from_stream=texts),
    Claimed: st.builds(
        Claimed,
        stream=texts,
        epoch=epochs,
        token=texts,
        mode=st.sampled_from(ClaimMode),
        position=positions,
        spec=texts,
        job_sha256=texts,
        library_version=texts,
        accepts_unsafe=st.booleans(),
        is_unsafe=st.booleans(),
        given_up=st.integers(0, 10**12),
        topics=st.lists(st.builds(TopicSeen, topic=texts, id=texts), max_size=3).map(tuple),
    ),
    Submitted: st.builds(Submitted, epoch=epochs, handle=handles),
    KillBegun: st.builds(KillBegun, epoch=epochs),
    DriverEnded: st.builds(
        DriverEnded,
        epoch=epochs,
        outcome=st.sampled_from(Outcome),
        position=positions,
        error_classes=st.lists(texts, max_size=3).map(tuple),
        text=texts,
        instance=texts,
        failure_class=texts,
        remedy=texts,
        last_sign_at=st.none() | moments,
    ),
    StopRequested: st.builds(StopRequested, epoch=epochs, force=st.booleans()),
    StartRequested: st.builds(StartRequested),
    RestartRequested: st.builds(RestartRequested, epoch=epochs, force=st.booleans(), is_stuck=st.booleans()),
    MaintenanceBegun: st.builds(MaintenanceBegun, until=moments),
    MaintenanceEnded: st.builds(MaintenanceEnded),
    Parked: st.builds(Parked),
    Released: st.builds(Released, accepts_unsafe=st.booleans(), accepts_expired=st.booleans()),
    Acknowledged: st.builds(Acknowledged, epoch=epochs),
    ActBegun: st.builds(ActBegun, act=texts, plan=texts),
    ActEnded: st.builds(ActEnded, act=texts, plan=texts, outcome=texts),
    VerdictChanged: st.builds(VerdictChanged, after=texts, before=texts, rules=st.lists(texts, max_size=3).map(tuple)),
}

bodies: st.SearchStrategy[Body] = st.one_of(*BODIES.values())


def records_of(body: st.SearchStrategy[Body]) -> st.SearchStrategy[Record]:
    """One record with such a body."""
    return st.builds(
        Record, number=st.integers(0, 10**19), at=moments, by=authors, reason=texts, nonce=texts, body=body
    )


def _numbered(drawn: list[tuple[Body, datetime, Author, str]]) -> tuple[Record, ...]:
    return tuple(
        Record(number=number, at=at, by=by, reason=reason, nonce=f"n{number}", body=body)
        for number, (body, at, by, reason) in enumerate(drawn)
    )


logs: st.SearchStrategy[tuple[Record, ...]] = st.lists(st.tuples(bodies, moments, authors, texts), max_size=15).map(
    _numbered
)
"""Any sequence of records, sensible or not."""


CHOICES = ("claim", "submit", "end", "stop", "start", "restart", "park", "release")


def _lawful(steps: list[tuple[str, Outcome, int]]) -> tuple[Record, ...]:
    state, records = LogState(), []
    for choice, outcome, batch in steps:
        body = _next_body(state, choice, outcome, batch)
        if body is not None:
            records.append(a_record(body, len(records)))
            state = fold(records[-1:], state)
    return tuple(records)


def _next_body(state: LogState, choice: str, outcome: Outcome, batch: int) -> Body | None:
    position = Position(offset=batch, commit=batch)
    newest = state.newest
    match choice:
        case "claim":
            return a_claim(state.next_epoch, position=position)
        case "submit":
            return a_submit(newest.number) if newest and newest.is_open and not newest.submission else None
        case "end":
            return an_end(state.open_epochs[0].number, outcome, commit=batch) if state.open_epochs else None
        case "stop":
            return StopRequested(epoch=state.next_epoch - 1)
        case "start":
            return StartRequested()
        case "restart":
            return RestartRequested(epoch=state.next_epoch - 1)
        case "park":
            return Parked()
        case _:
            return Released()


def lawful_logs(max_size: int = 40) -> st.SearchStrategy[tuple[Record, ...]]:
    """Logs as supervisors write them: each record fits the fold before it."""
    steps = st.tuples(st.sampled_from(CHOICES), st.sampled_from(Outcome), st.integers(-1, 50))
    return st.lists(steps, max_size=max_size).map(_lawful)
