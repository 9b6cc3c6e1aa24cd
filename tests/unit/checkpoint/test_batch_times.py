"""How long batches took, from the times of files."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.checkpoint.batch_times import RECENT, BatchTimes, read_batch_times
from streamops.checkpoint.reader import read_checkpoint
from streamops.errors import StorageError
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.base_checkpoint import ADDRESS, entry, files
from support.counting_storage import CountingStorage
from support.storage import SwitchableStorage

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


def written(*files_at):
    """Files with the second at which each was written."""
    moments = iter([at for _, at, _ in files_at])
    storage = MemoryStorage(now=lambda: AT + timedelta(seconds=next(moments)))
    for name, _, content in files_at:
        storage.write(join(ADDRESS, name), content)
    return storage


def times(storage):
    return read_batch_times(storage, read_checkpoint(storage, ADDRESS))


def test_a_batch_took_from_its_plan_to_its_commit():
    storage = written(
        ("offsets/0", 0, entry(0)),
        ("commits/0", 7, COMMIT),
        ("offsets/1", 10, entry(1)),
        ("commits/1", 12, COMMIT),
        ("offsets/2", 20, entry(2)),
    )

    assert times(storage) == BatchTimes(
        committed_at=AT + timedelta(seconds=12), durations=(timedelta(seconds=7), timedelta(seconds=2))
    )


def test_what_a_copy_turned_round_is_no_duration():
    assert times(written(("commits/0", 1, COMMIT), ("offsets/0", 5, entry(0)))).durations == ()


def test_plans_that_are_younger_than_their_commits_are_told():
    storage = written(
        ("offsets/0", 0, entry(0)),
        ("commits/0", 1, COMMIT),
        ("commits/1", 10, COMMIT),
        ("offsets/1", 11, entry(1)),
        ("commits/2", 20, COMMIT),
        ("offsets/2", 22, entry(2)),
    )

    assert times(storage).planned_after_commit == (2,)


def test_a_batch_whose_plan_was_purged_has_no_duration():
    found = times(written(("commits/0", 1, COMMIT), ("offsets/1", 5, entry(1)), ("commits/1", 6, COMMIT)))

    assert found.durations == (timedelta(seconds=1),)


def test_a_checkpoint_without_commits_has_no_times():
    assert times(written(("offsets/0", 1, entry(0)))) == BatchTimes()


def test_two_questions_however_long_the_logs():
    found = files()
    for batch in range(5, 500):
        found |= {f"offsets/{batch}": entry(batch), f"commits/{batch}": COMMIT}
    storage = CountingStorage(MemoryStorage())
    for name, content in found.items():
        storage.write(join(ADDRESS, name), content)
    facts = read_checkpoint(storage, ADDRESS)

    assert len(read_batch_times(storage, facts).durations) == RECENT
    assert storage.calls["details"] == 2


def test_files_that_cannot_be_asked_are_an_error():
    storage = SwitchableStorage(written(("offsets/0", 0, entry(0)), ("commits/0", 7, COMMIT)))
    facts = read_checkpoint(storage, ADDRESS)
    storage.unreachable = "commits"

    with pytest.raises(StorageError):
        read_batch_times(storage, facts)
