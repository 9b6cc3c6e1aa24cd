"""A checkpoint whose query runs on while it is read: what looks like damage for a moment is none."""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.storage import join
from support.base_checkpoint import ADDRESS, entry, files, source_entry, stored
from support.counting_storage import CountingStorage
from support.state_files import CHANGES, schema
from support.storage import InterruptibleStorage

COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


def with_state(*versions):
    """The checkpoint after batch 4, and these versions of its state."""
    found = files() | {f"state/0/0/{version}.delta": CHANGES for version in versions}
    return found | {"state/0/0/_metadata/schema": schema("n")}


def moving(found, *, before, change):
    """A storage in which a query does something right before a call is made for the first time."""
    inner = stored(found)
    waiting = [change]

    def tick(moment):
        if moment == before and waiting:
            waiting.pop()(inner)

    return InterruptibleStorage(inner, tick)


def next_batch(storage):
    """Batch 5 is committed, and its state takes the place of an older snapshot."""
    storage.write(join(ADDRESS, "sources/0/5"), source_entry(5))
    storage.write(join(ADDRESS, "offsets/5"), entry(5))
    storage.write(join(ADDRESS, "commits/5"), COMMIT)
    storage.write(join(ADDRESS, "state/0/0/6.snapshot"), CHANGES)
    storage.delete(join(ADDRESS, "state/0/0/5.delta"))


def test_state_that_was_cleaned_up_behind_the_reader_is_no_loss():
    storage = moving(with_state(1, 2, 3, 4, 5), before=f"before list {ADDRESS}/state/0/0", change=next_batch)

    seen = inspect_checkpoint(storage, ADDRESS)

    assert (seen.facts.last_commit, seen.state.version, seen.state.unloadable_total) == (5, 6, 0)


def test_an_entry_that_a_listing_did_not_show_yet_is_looked_for_once_more():
    """Entries 3 and 4 came while the folder was listed, and only 4 was seen."""
    storage = moving(
        {name: content for name, content in files().items() if name != "offsets/3"},
        before=f"before read {ADDRESS}/metadata",
        change=lambda inner: inner.write(join(ADDRESS, "offsets/3"), entry(3)),
    )

    assert inspect_checkpoint(storage, ADDRESS).facts.has_previous_offset


def test_a_checksum_that_a_listing_showed_without_its_batch_is_looked_at_once_more():
    storage = moving(
        files() | {"offsets/.5.crc": b"x"},
        before=f"before read {ADDRESS}/metadata",
        change=lambda inner: inner.write(join(ADDRESS, "offsets/5"), entry(5)),
    )

    assert inspect_checkpoint(storage, ADDRESS).facts.offsets_log.orphan_checksums == ()


def test_state_of_a_batch_that_was_planned_meanwhile_is_not_ahead_of_the_logs():
    def two_batches(inner):
        for batch in (5, 6):
            inner.write(join(ADDRESS, f"offsets/{batch}"), entry(batch))
            inner.write(join(ADDRESS, f"state/0/0/{batch + 1}.delta"), CHANGES)
            inner.write(join(ADDRESS, f"commits/{batch}"), COMMIT)

    storage = moving(with_state(1, 2, 3, 4, 5), before=f"before list {ADDRESS}/state/0/0", change=two_batches)

    snapshot = inspect_checkpoint(storage, ADDRESS)

    assert snapshot.state.newest_version == snapshot.facts.last_offset + 1


@pytest.mark.parametrize(
    ("found", "lists"),
    [
        pytest.param(with_state(1, 2, 3, 4, 5), 7, id="whole: nothing is looked at twice"),
        pytest.param(with_state(1, 2, 3, 4), 9, id="state lost: the logs once more, and they stand still"),
    ],
)
def test_damage_that_stays_is_told_without_reading_all_again(found, lists):
    storage = CountingStorage(stored(found))

    inspect_checkpoint(storage, ADDRESS)

    assert storage.calls["list"] == lists
