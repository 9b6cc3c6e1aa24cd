"""What Spark does with a checkpoint if started on it now: which batch runs first, which runs again, which error comes.

Pure, from facts alone, without an opinion on whether that is acceptable. Codes in brackets name the damage of the matrix
that was tried on real Spark, see `engines`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from streamops.checkpoint import BrokenFile, CheckpointFacts, Damage
from streamops.checkpoint.layout import COMMITS, METADATA
from streamops.restart.engines import Engine, WithoutMetadata, WithoutOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRange:
    """What the first batch reads of one source, as the offset log has it; None for "not yet" and "not planned yet"."""

    start: str | None
    end: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One answer."""

    summary: str
    next_batch: int | None = None
    """The first batch that runs; None where none does."""
    reruns: tuple[int, ...] = ()
    """Batches that ran before and run again."""
    ranges: tuple[SourceRange, ...] = ()
    """Of a batch that runs again, for each source; empty where the batch is planned anew."""
    expected_error: str = ""
    """A piece of the error's text; empty where the start succeeds."""
    repeats: bool = False
    """Whether input is read again under another batch id, or from a beginning: no sink recognises that."""
    loses_identity: bool = False
    """Whether the query goes on under a new id, and sinks that know batches by it take them again."""
    loses_input: bool = False
    """Whether input of the batch is gone, and the batch passes over it in silence."""
    passed_over: range = range(0)
    """Batches without a commit that are not run again."""
    is_undecided: bool = False
    """Whether something that decides could not be asked; the rest is what happens if that is whole."""

    @property
    def succeeds(self) -> bool:
        """Whether the query comes to run."""
        return not self.expected_error


def predict_start(facts: CheckpointFacts, engine: Engine) -> Prediction:
    """The start of a micro-batch query on this checkpoint.

    Order: as Spark itself comes across it. `metadata` first, then the newest offset entry, the one below it, the newest
    commit; what is left are the shapes of two healthy logs.
    """
    for rule in _OBSTACLES:
        if prediction := rule(facts, engine):
            return prediction
    return _with_orphan_checksums(_healthy(facts), facts)


def _broken_metadata(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P11b-d]"""
    broken = _broken(facts, METADATA)
    if broken is None:
        return None
    text = "Invalid UUID string" if broken.damage is Damage.QUERY_ID else "end-of-input"
    return _fails(broken, text)


def _missing_metadata(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P11a, P11e] A checkpoint without logs gets a new id, which is what a first start does."""
    if facts.has_metadata or facts.is_new or engine.without_metadata is WithoutMetadata.NEW_ID:
        return None
    return Prediction(
        summary="metadata is missing while batches are logged: the start is refused",
        expected_error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    )


def _missing_offsets(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P16b, P11e]"""
    if facts.last_offset >= 0 or facts.last_commit < 0:
        return None
    if engine.without_offsets is WithoutOffsets.REFUSED:
        return Prediction(
            summary=f"offsets is empty while commits reach batch {facts.last_commit}: the start is refused",
            expected_error=engine.without_offsets_error,
        )
    return Prediction(
        summary=f"offsets is empty while commits reach batch {facts.last_commit}: batch 0 reads all input again, and then"
        " fails at its commit",
        next_batch=0,
        reruns=(0,),
        expected_error=engine.without_offsets_error,
        repeats=True,
    )


def _broken_offsets(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P7a, P7d, P8a-f, P15a-c]"""
    for batch in (facts.last_offset, facts.previous_batch):
        broken = _broken(facts, f"offsets/{batch}")
        if broken and broken.damage is Damage.SOURCE_ID and engine.reads_source_as_name:
            return Prediction(
                summary=f"{broken.file} names no source where v2 wants a name: the start takes part of its text for one and"
                f" reads the input of batch {batch} again",
                next_batch=_first_batch(facts),
                repeats=True,
            )
        if broken:
            return _fails(broken, _offsets_error(broken.damage))
    return None


def _unread_version(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P15a, P15d] A version that this engine is too old for."""
    entries = (
        (f"offsets/{facts.last_offset}", facts.newest, engine.offset_formats),
        (f"offsets/{facts.previous_batch}", facts.previous, engine.offset_formats),
        (f"{COMMITS}/{facts.last_commit}", facts.commit, engine.commit_formats),
    )
    for file, entry, formats in entries:
        if entry and entry.version not in formats:
            return Prediction(
                summary=f"{file} has version {entry.version}, Spark {engine.version} reads {', '.join(formats)}",
                expected_error="supported log version",
            )
    return None


def _missing_previous(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P4, P4b] Spark always reads the entry below the newest as well."""
    if facts.has_previous_offset:
        return None
    missing = facts.last_offset - 1
    text = engine.without_previous_error if facts.has_pending_batch else "batch {batch} doesn't exist"
    return Prediction(
        summary=f"offsets/{missing} is missing, and each start reads it", expected_error=text.format(batch=missing)
    )


def _broken_commit(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P7c, P8j]"""
    broken = _broken(facts, f"{COMMITS}/{facts.last_commit}")
    return _fails(broken, _COMMIT_ERRORS.get(broken.damage, "")) if broken else None


def _commits_ahead(facts: CheckpointFacts, engine: Engine) -> Prediction | None:
    """[P2, P10] No check: the batch runs again, and then its commit is there already."""
    if facts.last_commit <= facts.last_offset:
        return None
    batch = max(facts.last_offset, 0)
    return Prediction(
        summary=f"commits reach batch {facts.last_commit}, offsets only {facts.last_offset}: each start writes batch {batch}"
        " again before it fails",
        next_batch=batch,
        reruns=(batch,),
        ranges=_ranges(facts),
        expected_error="CONCURRENT_STREAM_LOG_UPDATE",
    )


def _first_batch(facts: CheckpointFacts) -> int:
    return facts.last_offset if facts.has_pending_batch else facts.last_offset + 1


_OBSTACLES: tuple[Callable[[CheckpointFacts, Engine], Prediction | None], ...] = (
    _broken_metadata,
    _missing_metadata,
    _missing_offsets,
    _broken_offsets,
    _unread_version,
    _missing_previous,
    _broken_commit,
    _commits_ahead,
)


def _healthy(facts: CheckpointFacts) -> Prediction:
    has_new_id = not facts.has_metadata and not facts.is_new
    if facts.is_new:
        return Prediction(summary="new checkpoint: batch 0 is the first", next_batch=0)
    if facts.has_pending_batch:
        return Prediction(
            summary=f"batch {facts.last_offset} was planned but not committed: it runs again with exactly its range",
            next_batch=facts.last_offset,
            reruns=(facts.last_offset,),
            ranges=_ranges(facts),
            loses_identity=has_new_id,
            passed_over=range(facts.last_commit + 1, facts.last_offset),
        )
    return Prediction(
        summary=f"batch {facts.last_commit} is committed: batch {facts.last_commit + 1} is planned next",
        next_batch=facts.last_commit + 1,
        loses_identity=has_new_id,
    )


def _with_orphan_checksums(prediction: Prediction, facts: CheckpointFacts) -> Prediction:
    """`.4.crc` without `4`: creating `4` fails, with words that blame a second query. Local file systems only; 4.2.0."""
    batch = prediction.next_batch
    if batch is None or not facts.address.startswith("file:"):
        return prediction
    is_planned = batch <= facts.last_offset
    if not is_planned and batch in facts.offsets_log.orphan_checksums:
        return Prediction(
            summary=f"offsets/.{batch}.crc is there without offsets/{batch}, which can't be written then",
            expected_error=_IN_THE_WAY,
        )
    if batch in facts.commits_log.orphan_checksums:
        what = f"commits/.{batch}.crc is there without commits/{batch}: batch {batch} runs, and fails at its commit"
    elif is_planned and batch + 1 in facts.offsets_log.orphan_checksums:
        what = f"offsets/.{batch + 1}.crc is there without offsets/{batch + 1}: batch {batch} runs, the next can't be planned"
    else:
        return prediction
    return replace(prediction, summary=what, expected_error=_IN_THE_WAY)


_IN_THE_WAY = "Multiple streaming queries are concurrently using"


def _ranges(facts: CheckpointFacts) -> tuple[SourceRange, ...]:
    """From the end of the entry below to the end of the newest one; sources pair up by position, or by id in v2."""
    newest, previous = facts.newest, facts.previous
    if newest is None or (previous is None and newest.batch > 0):
        return ()
    starts = dict(zip(previous.source_names, previous.sources, strict=True)) if previous else {}
    return tuple(
        SourceRange(start=starts.get(name), end=end)
        for name, end in zip(newest.source_names, newest.sources, strict=True)
    )


def _broken(facts: CheckpointFacts, file: str) -> BrokenFile | None:
    return next((broken for broken in facts.broken if broken.file == file), None)


def _fails(broken: BrokenFile, text: str) -> Prediction:
    return Prediction(summary=f"{broken.file} can't be read: {broken.reason}", expected_error=text or broken.reason)


def _offsets_error(damage: Damage) -> str:
    return _OFFSETS_ERRORS.get(damage, "")


_OFFSETS_ERRORS = {
    Damage.EMPTY: "Incomplete log file",
    Damage.VERSION: "supported log version",
    Damage.MALFORMED_VERSION: "malformed",
    Damage.NO_HEADER: "next on empty iterator",
    Damage.NO_SOURCE: "There are [0] sources in the checkpoint offsets",
    Damage.HEADER: "end-of-input",
    Damage.BLANK_HEADER: "WatermarkTracker.currentWatermark()",
    Damage.SOURCE: "end-of-input",
    Damage.SOURCE_ID: "supported log version",
}

_COMMIT_ERRORS = {
    Damage.EMPTY: "Incomplete log file in the offset commit log",
    Damage.VERSION: "supported log version",
    Damage.MALFORMED_VERSION: "malformed",
    Damage.BODY: "end-of-input",
}
