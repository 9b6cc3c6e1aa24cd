"""What a start meets beyond the logs: the logs of its sources, the input of its batch, and the state that it loads."""

from dataclasses import replace

from streamops.checkpoint.inspect import CheckpointSnapshot, FileSource
from streamops.restart.engines import Engine, WithoutOffsets
from streamops.restart.predict import Prediction, predict_start


def predict_in_depth(snapshot: CheckpointSnapshot, engine: Engine) -> Prediction:
    """As `predict_start`, and further where that finds nothing that keeps a batch from running.

    Order: sources are asked while a batch is planned, before state is loaded in its tasks.
    """
    prediction = predict_start(snapshot.facts, engine)
    if prediction.next_batch is None or not prediction.succeeds:
        return prediction
    if snapshot.facts.is_new:
        return _from_the_beginning(snapshot, prediction, engine)
    for source in snapshot.file_sources:
        if failure := _source_failure(snapshot, source, engine):
            return failure
    if snapshot.state and snapshot.state.unloadable_total:
        first = snapshot.state.unloadable[0]
        where = f"state/{first.operator}/{first.partition}"
        lacks = ", ".join(first.missing.names[:SHOWN])
        return _fails(
            f"the state that batch {prediction.next_batch} needs can't be loaded: {where} lacks {lacks}",
            engine.missing_state_error,
        )
    broken_state = [one for one in snapshot.broken_state if not (one.is_spare and engine.goes_round_snapshots)]
    if broken_state:
        broken = broken_state[0]
        return _fails(
            f"the state that batch {prediction.next_batch} needs can't be loaded: {broken.file}: {broken.reason}",
            "" if broken.is_schema else engine.missing_state_error if broken.lacks_files else engine.broken_state_error,
        )
    if snapshot.lost_inputs:
        return replace(
            prediction,
            summary=f"{len(snapshot.lost_inputs)} input files of batch {prediction.next_batch} are gone, the first is"
            f" {snapshot.lost_inputs[0]!r}: it runs without them, and no error tells",
            loses_input=True,
        )
    return _with_unreachable_sources(prediction, snapshot)


SHOWN = 3


def _from_the_beginning(snapshot: CheckpointSnapshot, prediction: Prediction, engine: Engine) -> Prediction:
    """[P16c] Nothing protects a stream that has run before, but for state that is there (4.1 on)."""
    if not snapshot.has_history:
        return _beside_a_twin(prediction, snapshot) if snapshot.twins else prediction
    if snapshot.state and snapshot.state.has_files and engine.without_offsets is WithoutOffsets.REFUSED:
        return _fails(
            "offsets and commits are empty while there is state: the start is refused",
            "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        )
    return replace(
        prediction,
        summary="offsets and commits are empty, but sources or state show that batches ran: batch 0 reads all input again,"
        " and no error tells",
        repeats=True,
    )


def _beside_a_twin(prediction: Prediction, snapshot: CheckpointSnapshot) -> Prediction:
    """SPARK-26824: the stream's past may lie under another spelling of the same path."""
    twin = snapshot.twins[0]
    summary = f"nothing is here, and {twin.address!r} has batches up to {twin.last_offset}: batch 0 begins anew"
    return replace(prediction, summary=summary, repeats=True)


def _source_failure(snapshot: CheckpointSnapshot, source: FileSource, engine: Engine) -> Prediction | None:
    """[P12, P18] The log of a file source must hold everything from its last compact file up to the offset."""
    found, path = snapshot.source(source.folder), f"sources/{source.folder}"
    if found and found.unreachable:
        return None
    latest = found.log.latest if found else -1
    if found is None or source.log_offset > latest:
        one = f"batch {source.log_offset} doesn't exist"
        return _fails(
            f"{path} ends at {latest}, the offset log has {source.log_offset}",
            one if source.log_offset == latest + 1 else "exist",
        )
    if found.broken:
        first = found.broken[0]
        return _fails(
            f"{first.file} can't be read: {first.reason}", "Incomplete log file" if "empty" in first.reason else ""
        )
    needed = found.log.needed_for(found.log.latest)
    if needed.is_complete:
        return None
    missing = found.log.file_name(needed.missing[0].first)
    return _fails(f"{path}/{missing} is missing, and each start reads it", "doesn't exist (latestId")


def _with_unreachable_sources(prediction: Prediction, snapshot: CheckpointSnapshot) -> Prediction:
    unreachable = [place for source in snapshot.sources.sources for place in source.unreachable]
    if not unreachable:
        return prediction
    first = unreachable[0]
    return replace(prediction, summary=f"{first.file} can't be asked: {first.reason}", is_undecided=True)


def _fails(summary: str, text: str) -> Prediction:
    return Prediction(summary=summary, expected_error=text or summary)
