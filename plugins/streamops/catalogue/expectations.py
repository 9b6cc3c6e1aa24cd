"""What a judgement takes for granted about the query behind a checkpoint."""

from dataclasses import dataclass
from datetime import timedelta

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.source_offsets import OffsetForm
from streamops.control.records import Position
from streamops.control.registry import RegistryEntry
from streamops.engines import PINNED, Engine
from streamops.spec.sources import MAX_FILE_AGE

RETAINED_BATCHES = 100
"""Spark's own `spark.sql.streaming.minBatchesToRetain`, 3.5 to 4.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What the checkpoint itself does not tell."""

    engine: Engine = PINNED
    """The Spark of the next start."""
    known: Position | None = None
    """Where the control log has seen the query last; None without a log."""
    registered: RegistryEntry | None = None
    """What the registry knows of the stream."""
    is_declared: bool = True
    """Whether a stream is meant to begin where nothing is yet."""
    is_sink_idempotent: bool | None = None
    """Whether the sink recognises a batch that it has had already; None where nobody has said."""
    tracks_progress_async: bool | None = None
    """Whether the query runs with async progress tracking, which leaves holes in both logs; None for unsaid."""
    is_continuous: bool | None = None
    """Whether the query runs by the trigger continuous, which leaves headers blank; None for unsaid."""
    source_form: OffsetForm | None = None
    """Of the offsets of the declared source; None where nobody has said, or its form is not known."""
    fails_on_data_loss: bool = True
    """The option `failOnDataLoss` of a Kafka source."""
    stateful_operators: int = 0
    """As many as the query's newest batch told of; 0 where nobody knows."""
    retained_batches: int = RETAINED_BATCHES
    """How many batches the query keeps in its logs and its state."""
    confs: tuple[tuple[str, str], ...] = ()
    """Settings that the next run is given."""
    state_confs: frozenset[str] = frozenset()
    """Those of them by which its owner says how state is kept (`state` of a stream)."""
    master: str = ""
    """Where the next run is submitted to; empty where nobody has said."""
    max_file_age: timedelta = MAX_FILE_AGE
    """The option `maxFileAge` of a file source."""
    drops_batch_in_flight: bool = False
    """Whether the sink was seen to have the batch in flight, and drops it by its id."""
    has_driver: bool = False
    """Whether a driver is known that may be at the batch in flight."""

    def leaves_holes(self, facts: CheckpointFacts) -> bool:
        """Whether holes in both logs are the query's own doing: as declared, or as it looks where nobody has said."""
        return facts.looks_async if self.tracks_progress_async is None else self.tracks_progress_async

    def runs_continuously(self, facts: CheckpointFacts) -> bool:
        """Whether the entries are those of a continuous query: as declared, or as they look."""
        return bool(self.is_continuous) or facts.looks_continuous
