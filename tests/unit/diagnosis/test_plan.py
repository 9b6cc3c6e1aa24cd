"""What Spark 4.2 does with each damage that was tried on it (the codes), and what the plan says beforehand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.reader import read_checkpoint
from streamops.control.records import Position
from streamops.diagnosis.restart_plan import Safety, accepts
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.checkpoints import OTHER_QUERY_ID, QUERY_ID, offsets, write_checkpoint
from support.plans import plan_of
from support.specs import CHECKPOINT

SAFE, IF_IDEMPOTENT, FUTILE, UNSAFE = Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT, Safety.FUTILE, Safety.UNSAFE
KNOWN = Position(query_id=QUERY_ID, offset=4, commit=4)


def damaged(*, remove=(), put=()):
    """The base experiment: batches 0 to 4, all committed; then files removed or replaced."""
    storage = MemoryStorage()
    write_checkpoint(storage, CHECKPOINT, planned=range(5), committed=range(5))
    for file in remove:
        storage.delete(join(CHECKPOINT, file))
    for file, content in put:
        storage.write(join(CHECKPOINT, file), content)
    return read_checkpoint(storage, CHECKPOINT)


ALL_OFFSETS = [f"offsets/{batch}" for batch in range(5)]
ALL_COMMITS = [f"commits/{batch}" for batch in range(5)]


@pytest.mark.parametrize(
    ("facts", "safety", "next_batch", "reruns"),
    [
        pytest.param(damaged(), SAFE, 5, (), id="P0 none"),
        pytest.param(damaged(remove=["commits/4"]), IF_IDEMPOTENT, 4, (4,), id="P1 the normal shape after a crash"),
        pytest.param(damaged(remove=["offsets/4"]), UNSAFE, 3, (3,), id="P2 ran 3 again, then failed, at every start"),
        pytest.param(damaged(remove=["offsets/3"]), FUTILE, None, (), id="P4 batch 3 doesn't exist"),
        pytest.param(damaged(remove=["offsets/3", "commits/4"]), FUTILE, None, (), id="P4b previous batch 3 not found"),
        pytest.param(damaged(remove=["offsets/1"]), SAFE, 5, (), id="P5 an older hole is not noticed"),
        pytest.param(damaged(remove=["commits/3"]), SAFE, 5, (), id="P6 nor is an older commit"),
        pytest.param(damaged(remove=["commits/3", "commits/4"]), IF_IDEMPOTENT, 4, (4,), id="P6c only the newest runs"),
        pytest.param(damaged(put=[("offsets/4", b"")]), FUTILE, None, (), id="P7a newest offsets empty"),
        pytest.param(damaged(put=[("commits/4", b"")]), FUTILE, None, (), id="P7c newest commit empty"),
        pytest.param(damaged(put=[("offsets/3", b"")]), FUTILE, None, (), id="P7d previous offsets empty"),
        pytest.param(damaged(put=[("offsets/2", b"")]), SAFE, 5, (), id="P7e older offsets empty"),
        pytest.param(damaged(put=[("offsets/4", b"v1\n{")]), FUTILE, None, (), id="P8a header cut"),
        pytest.param(damaged(put=[("offsets/4", offsets('{"a":'))]), FUTILE, None, (), id="P8d source cut"),
        pytest.param(damaged(put=[("commits/4", b'v1\n{"')]), FUTILE, None, (), id="P8j commit cut"),
        pytest.param(damaged(put=[("commits/4", b"v1")]), SAFE, 5, (), id="P8k commit without its second line"),
        pytest.param(damaged(put=[("offsets/5.tmp", b""), ("offsets/foo", b"")]), SAFE, 5, (), id="P9 foreign names"),
        pytest.param(damaged(put=[("commits/5", b"v1\n{}")]), UNSAFE, 4, (4,), id="P10 ran 4 again, then failed"),
        pytest.param(damaged(put=[("commits/40", b"v1\n{}")]), UNSAFE, 4, (4,), id="P10 far ahead"),
        pytest.param(damaged(remove=["metadata"]), FUTILE, None, (), id="P11a metadata missing"),
        pytest.param(damaged(put=[("metadata", b"")]), FUTILE, None, (), id="P11b metadata empty"),
        pytest.param(damaged(put=[("metadata", b'{"id":"hello"}')]), FUTILE, None, (), id="P11d no UUID"),
        pytest.param(
            damaged(remove=["metadata", *ALL_OFFSETS]), FUTILE, None, (), id="P11e metadata and offsets missing"
        ),
        pytest.param(damaged(put=[("offsets/4", offsets(version="v99"))]), FUTILE, None, (), id="P15a newer version"),
        pytest.param(damaged(put=[("commits/4", b"v2\n{}")]), SAFE, 5, (), id="P15d commit v2 in a v1 query"),
        pytest.param(damaged(remove=ALL_COMMITS), IF_IDEMPOTENT, 4, (4,), id="P16a all commits missing"),
    ],
)
def test_what_is_said_of_a_damage(facts, safety, next_batch, reruns):
    plan = plan_of(facts, known=Position(query_id=QUERY_ID, offset=facts.last_offset, commit=facts.last_commit))

    assert plan.safety is safety, plan.summary
    assert plan.next_batch == next_batch
    assert plan.reruns == reruns
    assert plan.summary


@pytest.mark.parametrize(
    ("facts", "because"),
    [
        pytest.param(damaged(remove=["offsets/4", "commits/4"]), "4", id="P3 the last batch is gone from both logs"),
        pytest.param(damaged(remove=["offsets/4"]), "4", id="P2 known to have reached 4"),
        pytest.param(damaged(remove=[*ALL_OFFSETS, *ALL_COMMITS]), "4", id="P16c metadata alone is left"),
        pytest.param(
            CheckpointFacts(address=CHECKPOINT, query_id=None, last_offset=-1, last_commit=-1), "4", id="gone"
        ),
    ],
)
def test_a_checkpoint_behind_its_own_past_is_unsafe(facts, because):
    plan = plan_of(facts, known=KNOWN)

    assert plan.safety is UNSAFE
    assert f"batch {because}" in plan.summary


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(None, id="no log"),
        pytest.param(Position(query_id="", offset=4, commit=4), id="the past has no query id"),
        pytest.param(Position(query_id=OTHER_QUERY_ID, offset=9, commit=9), id="another query's past"),
        pytest.param(Position(query_id=QUERY_ID, offset=-1, commit=-1), id="no batch was ever seen"),
    ],
)
def test_a_past_that_is_not_its_own_says_nothing(known):
    assert plan_of(damaged(remove=["offsets/4", "commits/4"]), known=known).safety is SAFE


def test_a_new_checkpoint_begins_with_batch_zero():
    facts = CheckpointFacts(address=CHECKPOINT, query_id=None, last_offset=-1, last_commit=-1)

    plan = plan_of(facts)

    assert (plan.safety, plan.next_batch) == (SAFE, 0)


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        pytest.param(damaged(put=[("offsets/4", b"")]), "Incomplete log file", id="P7a"),
        pytest.param(damaged(remove=["offsets/3"]), "batch 3 doesn't exist", id="P4"),
        pytest.param(damaged(remove=["metadata"]), "STREAMING_CHECKPOINT_MISSING_METADATA_FILE", id="P11a"),
        pytest.param(damaged(put=[("commits/5", b"v1\n{}")]), "CONCURRENT_STREAM_LOG_UPDATE", id="P10"),
    ],
)
def test_the_error_that_spark_would_show_is_named(facts, error):
    assert plan_of(facts).expected_error == error


@pytest.mark.parametrize(
    ("guarantee", "accepted"),
    [
        (SinkGuarantee.IDEMPOTENT, {SAFE, IF_IDEMPOTENT}),
        (SinkGuarantee.IDEMPOTENT_BY_KEY, {SAFE, IF_IDEMPOTENT}),
        (SinkGuarantee.AT_LEAST_ONCE, {SAFE, IF_IDEMPOTENT}),
        (SinkGuarantee.EXACTLY_ONCE_OR_NOTHING, {SAFE}),
    ],
    ids=["idempotent", "idempotent by key", "at-least-once", "exactly-once"],
)
def test_what_a_sink_accepts_without_a_person(guarantee, accepted):
    assert {safety for safety in Safety if accepts(guarantee, safety)} == accepted


@given(st.integers(-1, 6), st.integers(-1, 6), st.none() | st.integers(-1, 6))
def test_no_plan_is_safe_while_something_is_repeated_or_lost(planned, committed, known_offset):
    facts = CheckpointFacts(address=CHECKPOINT, query_id=QUERY_ID, last_offset=planned, last_commit=committed)
    known = None if known_offset is None else Position(query_id=QUERY_ID, offset=known_offset, commit=known_offset)

    plan = plan_of(facts, known=known)

    if plan.safety is SAFE:
        assert planned == committed
        assert plan.next_batch == planned + 1
        assert known is None or known.offset <= planned
    if planned < 0 <= committed:
        assert plan.safety is FUTILE  # Spark 4.2 refuses it, whatever our log knows.
    elif planned < committed or (known and known.offset > planned):
        assert plan.safety is UNSAFE
