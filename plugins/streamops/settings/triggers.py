"""From a declared trigger to that of a spec, and what Spark refuses to run under it.

Each rule was tried on Spark 4.2.0 (`tests/spark/test_low_latency.py`): without it the query would fail at its start, or lose
or repeat rows that the declaration promises to keep apart.
"""

from collections.abc import Iterator
from datetime import timedelta

from streamops.durations import format_duration
from streamops.settings.model import DeclaredStream, DeclaredTrigger
from streamops.settings.problems import Refusal, shown
from streamops.settings.yaml_file import Place
from streamops.spec import TRACKS_PROGRESS_ASYNC, Trigger, TriggerKind
from streamops.spec.sinks import SinkGuarantee

SHORTEST_BATCH = timedelta(seconds=5)
"""Of real time, as long as `_SHORTEST_BATCH_CONF` says nothing else (Spark 4.1 and 4.2)."""
_SHORTEST_BATCH_CONF = "spark.sql.streaming.realTimeMode.minBatchDuration"
_RATE_LIMITS = ("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay")

_BY_BATCHES = frozenset({TriggerKind.PROCESSING_TIME, TriggerKind.DEFAULT})
_LOW_LATENCY = frozenset({TriggerKind.CONTINUOUS, TriggerKind.REAL_TIME})

AVAILABLE_NOW = Trigger(kind=TriggerKind.AVAILABLE_NOW)


def trigger_of(declared: DeclaredTrigger) -> Trigger:
    """The trigger that is declared."""
    if declared.processing_time is not None:
        return Trigger(kind=TriggerKind.PROCESSING_TIME, interval=declared.processing_time)
    if declared.once:
        return Trigger(kind=TriggerKind.ONCE)
    if declared.continuous is not None:
        return Trigger(kind=TriggerKind.CONTINUOUS, interval=declared.continuous)
    if declared.real_time is not None:
        return Trigger(kind=TriggerKind.REAL_TIME, interval=declared.real_time)
    return AVAILABLE_NOW if declared.available_now else Trigger(kind=TriggerKind.DEFAULT)


def refused_trigger(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    """What of the stream does not go with its trigger."""
    if trigger.kind in _LOW_LATENCY:
        yield from _places(declared, trigger)
    if trigger.kind is TriggerKind.REAL_TIME:
        yield from _real_time(declared, trigger)
    yield from _async_progress(declared, trigger)


def _places(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    kind, guarantee = str(trigger.kind), declared.sink.guarantee
    if declared.source.kafka is None and declared.source.custom is None:
        yield _refusal(("trigger",), kind, "processing_time for this source: Spark runs Kafka alone under this trigger")
    if declared.sink.delta:
        expected = "processing_time for a Delta table: its sink takes batches alone, in foreachBatch too"
        yield _refusal(("trigger",), kind, expected)
    if trigger.kind is TriggerKind.CONTINUOUS and guarantee is not SinkGuarantee.AT_LEAST_ONCE:
        expected = (
            f"sink.guarantee: {SinkGuarantee.AT_LEAST_ONCE} beside it: continuous processing repeats what it did after its"
            " last epoch"
        )
        yield _refusal(("trigger",), kind, expected)


def _real_time(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    """A batch is logged at its end: one that a crash cuts comes again with other rows under the same number."""
    if declared.sink.guarantee not in (SinkGuarantee.AT_LEAST_ONCE, SinkGuarantee.IDEMPOTENT_BY_KEY):
        expected = (
            f"sink.guarantee: {SinkGuarantee.AT_LEAST_ONCE} or {SinkGuarantee.IDEMPOTENT_BY_KEY} beside it: real time writes"
            " rows before their batch is planned, so that a batch which runs again is another one under the same number"
        )
        yield _refusal(("trigger",), str(trigger.kind), expected)
    if trigger.interval < SHORTEST_BATCH and _SHORTEST_BATCH_CONF not in declared.launch.conf:
        expected = (
            f"{format_duration(SHORTEST_BATCH)} at least, or {_SHORTEST_BATCH_CONF} beside it: rows do not wait for it"
        )
        yield _refusal(("trigger", "real_time"), format_duration(trigger.interval), expected)
    kafka = declared.source.kafka
    for name, value in kafka.options.items() if kafka else ():
        if name.lower() in _RATE_LIMITS:
            expected = (
                "no such option under real_time: a batch takes what comes while it lasts, and Spark refuses limits"
            )
            yield _refusal(("source", "kafka", "options", name), value, expected)


def _async_progress(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    """Spark refuses availableNow, once and real time; of the others only micro-batches know the option."""
    kafka = declared.sink.kafka
    for name, value in kafka.options.items() if kafka else ():
        if name.lower() != TRACKS_PROGRESS_ASYNC or value.lower() != "true":
            continue
        place = ("sink", "kafka", "options", name)
        if trigger.kind not in _BY_BATCHES:
            expected = (
                f"trigger: processing_time or default beside it, found {trigger.kind}: only their queries can do it"
            )
            yield _refusal(place, value, expected)
        if declared.sink.guarantee is not SinkGuarantee.AT_LEAST_ONCE:
            expected = (
                f"sink.guarantee: {SinkGuarantee.AT_LEAST_ONCE} beside it: batches that were not logged run again"
            )
            yield _refusal(place, value, expected)


def _refusal(place: Place, value: str, expected: str) -> Refusal:
    return Refusal(place, shown(value, place=place), expected)
