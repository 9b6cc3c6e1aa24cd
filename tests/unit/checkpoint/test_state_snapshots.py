"""Whether RocksDB snapshots are whole, told from sizes."""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.state_snapshots import MAX_SNAPSHOTS, BrokenStateFile, StateFileFacts, read_snapshots
from streamops.errors import StorageError
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.base_checkpoint import ADDRESS, files, stored
from support.counting_storage import CountingStorage
from support.recordings import RECORDINGS
from support.rocksdb import EMPTY_SST, snapshot_zip, store_at
from support.state_files import CHANGES
from support.storage import SwitchableStorage

RECORDED = sorted(RECORDINGS.rglob("*.sst"))
"""SST files that real Spark wrote."""
SST, ZIP = "state/0/0/SSTs/000008-0a1b.sst", "state/0/0/5.zip"
V2_COMMIT = b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["0a1b2c3d-0000-4000-8000-00000000000a"]]}}'


def snapshots(found):
    return inspect_checkpoint(stored(files() | found), ADDRESS).snapshots


def test_a_whole_snapshot_is_opened_and_nothing_is_said():
    assert snapshots(store_at(5)) == StateFileFacts(checked=1, total=1)


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        pytest.param(
            {SST: EMPTY_SST[:3] + b"?" + EMPTY_SST[4:]},
            BrokenStateFile(file=ZIP, reason="SSTs/000008-0a1b.sst: its block at byte 0 is not as it was written"),
            id="a changed byte of what each start reads",
        ),
        pytest.param(
            {SST: b"1234"},
            BrokenStateFile(file=ZIP, reason=f"SSTs/000008-0a1b.sst has 4 bytes, the manifest says {len(EMPTY_SST)}"),
            id="B49: another size",
        ),
        pytest.param(
            {SST: None},
            BrokenStateFile(file=ZIP, reason="SSTs/000008-0a1b.sst is missing", lacks_files=True),
            id="B49: gone",
        ),
        pytest.param({ZIP: b"PK"}, BrokenStateFile(file=ZIP, reason=f"{ZIP} is cut or no zip file"), id="cut"),
        pytest.param({ZIP: b""}, BrokenStateFile(file=ZIP, reason=f"{ZIP} is empty"), id="0 bytes"),
        pytest.param(
            {ZIP: snapshot_zip({}, {"000009-0a1b.log": 3})},
            BrokenStateFile(file=ZIP, reason="logs/000009-0a1b.log is missing", lacks_files=True),
            id="a log of RocksDB",
        ),
    ],
)
def test_what_does_not_fit_the_manifest_is_told(change, broken):
    found = {name: content for name, content in (store_at(5) | change).items() if content is not None}

    assert snapshots(found).broken == (broken,)


def test_a_copy_of_another_file_of_the_same_size_is_told():
    """RocksDB refuses it, whatever its blocks say (`Mismatch in unique ID`, tried on Spark 4.2.0)."""
    real = next(file for file in RECORDED if not file.name.startswith("000008-"))
    number, content = int(real.name.partition("-")[0]), real.read_bytes()
    found = store_at(5, sst=content) | {ZIP: snapshot_zip({"000008-0a1b.sst": len(content)})}

    reason = f"SSTs/000008-0a1b.sst: it is a copy of the file with number {number}"
    assert snapshots(found).broken == (BrokenStateFile(file=ZIP, reason=reason),)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(
            store_at(5) | {"state/0/0/2.zip": snapshot_zip({"gone.sst": 5})}, id="an older snapshot than is loaded"
        ),
        pytest.param(
            store_at(5) | {"state/0/0/9.zip": snapshot_zip({"gone.sst": 5})}, id="of a version that no commit names"
        ),
        pytest.param(store_at(5) | {"state/0/0/SSTs/unused.sst": b"x"}, id="an SST file that nobody refers to"),
        pytest.param({"state/0/0/5.snapshot": CHANGES}, id="state of the other provider"),
    ],
)
def test_what_a_start_does_not_load_is_passed_over(found):
    assert snapshots(found).broken == ()


def test_changelogs_behind_a_snapshot_make_it_the_one_that_counts():
    found = store_at(3, sst=b"") | {f"state/0/0/{version}.changelog": CHANGES for version in (4, 5)}

    assert [broken.file for broken in snapshots(found).broken] == ["state/0/0/3.zip"]


def test_with_unique_ids_the_commit_names_the_snapshot():
    named, other = (f"state/0/0/5_0a1b2c3d-0000-4000-8000-00000000000{end}.zip" for end in "ab")
    found = files(commits_4=V2_COMMIT) | {named: snapshot_zip({}), other: snapshot_zip({"gone.sst": 5})}

    assert inspect_checkpoint(stored(found), ADDRESS).snapshots == StateFileFacts(checked=1, total=1)


def test_no_more_than_so_many_are_opened():
    found = files(partitions=MAX_SNAPSHOTS + 10)
    for partition in range(MAX_SNAPSHOTS + 10):
        found |= store_at(5, partition=partition)
    counting = CountingStorage(stored(found))

    facts = inspect_checkpoint(counting, ADDRESS).snapshots

    assert (facts.checked, facts.total) == (MAX_SNAPSHOTS, MAX_SNAPSHOTS + 10)
    assert counting.calls["details"] == MAX_SNAPSHOTS


def test_a_snapshot_that_was_cleaned_up_meanwhile_is_no_damage():
    class CleanedUp(MemoryStorage):
        def details(self, directory, *, only=None):
            self.delete(join(ADDRESS, ZIP))
            return ()

    storage = CleanedUp()
    storage.write(join(ADDRESS, ZIP), snapshot_zip({"gone.sst": 5}))

    assert read_snapshots(storage, ADDRESS, [ZIP]).broken == ()
    assert read_snapshots(storage, ADDRESS, [ZIP]).broken == ()


def test_a_place_that_cannot_be_asked_is_an_error():
    storage = SwitchableStorage(stored(files() | store_at(5)))
    storage.unreachable = "SSTs"

    with pytest.raises(StorageError):
        inspect_checkpoint(storage, ADDRESS)
