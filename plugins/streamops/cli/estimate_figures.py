"""Inputs of estimates: by hand first, then as declared or measured; what is missing is asked for by name."""

from dataclasses import dataclass, field
from datetime import timedelta

from streamops.catalogue.time_rules import growth_told
from streamops.catalogue.watch import Watch
from streamops.cli.wiring import Session
from streamops.control.layout import control_folder
from streamops.cost.figure import Figure, Origin, Unit, lasting
from streamops.cost.state import bytes_per_row, input_rate, of_stream, processing_time
from streamops.diagnosis.last_progress import last_progress
from streamops.errors import SettingsError
from streamops.fleet.health_history import HealthHistory
from streamops.progress import ProgressHistory
from streamops.retention.growth import throughput_of
from streamops.retention.lag import MARGIN
from streamops.retention.observe_lag import MOST_OFFSETS
from streamops.spec import StreamSpec, TriggerKind
from streamops.storage.kinds import storage_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a stream; nothing where none was named."""

    spec: StreamSpec | None = None
    history: ProgressHistory = field(default_factory=ProgressHistory)
    """Of the stream's own query."""
    all_queries: ProgressHistory = field(default_factory=ProgressHistory)
    """Of its companions, too."""


def known_of(session: Session, stream: str) -> Known:
    """A declared stream with the progress of its driver; nothing for an empty name."""
    if not stream:
        return Known()
    spec = session.spec(stream)
    history = last_progress(storage_for(spec.checkpoint), control_folder(spec.checkpoint))
    return Known(spec=spec, history=of_stream(history, stream), all_queries=history)


def growth_of(session: Session, known: Known) -> str:
    """How the stream's state has grown in the last day, by the checks that rounds have kept; empty where it has not."""
    state = known.history.newest_state
    if known.spec is None or not state:
        return ""
    root, now = session.settings().state_root, session.clock.now()
    before = HealthHistory(storage_for(root), root, known.spec.name).past(now).samples
    rows, memory = sum(one.rows for one in state), sum(one.memory_bytes for one in state)
    return growth_told(Watch(now=now, before=before, state_rows=rows, state_memory=memory))


def interval_of(known: Known, given: timedelta | None) -> Figure:
    """The trigger interval. SettingsError where there is none."""
    if given is not None:
        return lasting("interval", given, Origin.GIVEN)
    if known.spec is None:
        raise _missing("the trigger interval", "--interval", known)
    trigger = known.spec.trigger
    match trigger.kind:
        case TriggerKind.PROCESSING_TIME:
            return lasting("interval", trigger.interval, Origin.DECLARED, "trigger processing_time")
        case TriggerKind.DEFAULT:
            return lasting(
                "interval", timedelta(0), Origin.DECLARED, "trigger default: a batch follows the other at once"
            )
        case _:
            raise SettingsError(
                f"stream {known.spec.name} has the trigger {trigger.kind}, from which no latency follows: it is an estimate for"
                " batches at an interval. To see it with one, give --interval"
            )


def processing_of(known: Known, given: timedelta | None) -> Figure:
    """How long a batch takes. SettingsError where it is not known."""
    if given is not None:
        return lasting("processing", given, Origin.GIVEN)
    return processing_time(known.history) or _raise("how long a batch takes", "--processing", known)


def rate_of(known: Known, given: float | None) -> Figure:
    """Records a second. SettingsError where it is not known."""
    if given is not None:
        return Figure(name="rate", value=given, unit=Unit.RECORDS_PER_SECOND, origin=Origin.GIVEN)
    return input_rate(known.history) or _raise("how much comes in a second", "--rate", known)


def row_of(known: Known, given: float | None) -> Figure:
    """Bytes of a row of state. SettingsError where they are not known."""
    if given is not None:
        return Figure(name="bytes of a row", value=given, unit=Unit.BYTES, origin=Origin.GIVEN)
    return bytes_per_row(known.history) or _raise("what a row of state takes", "--bytes", known)


def window_of(known: Known, given: timedelta | None) -> Figure:
    """How long an event belongs to its window. SettingsError where nobody has said."""
    return lasting("window", given, Origin.GIVEN) if given is not None else _raise("the window", "--window", known)


def lateness_of(given: timedelta | None) -> Figure:
    """The watermark's delay; none where nobody has said."""
    if given is not None:
        return lasting("allowed lateness", given, Origin.GIVEN)
    return lasting(
        "allowed lateness", timedelta(0), Origin.ASSUMED, "none: give --lateness, the delay of the watermark"
    )


def outage_of(known: Known, given: timedelta | None) -> Figure:
    """The longest outage that is tolerated. SettingsError where nobody has said."""
    if given is not None:
        return lasting("outage", given, Origin.GIVEN)
    spec = known.spec
    if spec and spec.reads_kafka and spec.kafka.tolerated_outage:
        return lasting("outage", spec.kafka.tolerated_outage, Origin.DECLARED, "source.kafka.tolerated_outage")
    raise _missing("the longest outage that is tolerated", "--outage", known, "declare source.kafka.tolerated_outage")


def restart_of(given: timedelta | None) -> Figure:
    """What a restart takes."""
    if given is not None:
        return lasting("restart", given, Origin.GIVEN)
    return lasting("restart", MARGIN, Origin.ASSUMED, "to see the alarm and to start the query, as in `streamops lag`")


def throughput_figure(known: Known, given: float | None) -> tuple[Figure, bool]:
    """Records a second that the query can read, and whether it can read no more. SettingsError where it is not known."""
    if given is not None:
        return Figure(name="throughput", value=given, unit=Unit.RECORDS_PER_SECOND, origin=Origin.GIVEN), True
    found = throughput_of(known.history, most=_most(known.spec), interval=_pace(known.spec))
    if found is None:
        raise _missing("how much the query reads a second", "--throughput, or --catch-up", known)
    note = "as its batches went that left records behind" if found.is_loaded else "at least: it never had more to read"
    figure = Figure(
        name="throughput",
        value=found.records_per_second,
        unit=Unit.RECORDS_PER_SECOND,
        origin=Origin.MEASURED,
        note=note,
    )
    return figure, found.is_loaded


def _most(spec: StreamSpec | None) -> int | None:
    """Records of one batch, where a limit is declared."""
    options = spec.kafka.options if spec and spec.reads_kafka else ()
    declared = {name.lower(): value for name, value in options}.get(MOST_OFFSETS, "")
    return int(declared) if declared.isascii() and declared.isdecimal() and len(declared) < 19 else None


def _pace(spec: StreamSpec | None) -> timedelta:
    is_timed = spec and spec.trigger.kind is TriggerKind.PROCESSING_TIME
    return spec.trigger.interval if spec and is_timed else timedelta(0)


def _raise(what: str, option: str, known: Known) -> Figure:
    raise _missing(what, option, known)


def _missing(what: str, option: str, known: Known, otherwise: str = "") -> SettingsError:
    if known.spec:
        return SettingsError(
            f"{what} is not known of stream {known.spec.name}: give {option}{f', or {otherwise}' if otherwise else ''}"
        )
    return SettingsError(f"{what} is not known: give {option}, or name a declared STREAM")
