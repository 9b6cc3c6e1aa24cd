"""Delta tables read without Spark, whole and broken."""

import shutil
import sys
from contextlib import nullcontext

import pytest

from damage.checksums import rewrite
from streamops.deltalog import QueryWrites, read_delta_table
from streamops.deltalog.table import MAX_LOG_BYTES
from streamops.errors import BrokenDeltaLogError, DeltaLogError, MissingLibraryError, ObjectNotFoundError, StorageError
from streamops.storage.local import LocalStorage
from support.checkpoints import OTHER_QUERY_ID, QUERY_ID
from support.delta_table import TABLE_ID, creation, idempotent_write, streaming_update, write_table


def read(address, *applications):
    return read_delta_table(LocalStorage(), address, applications=applications)


@pytest.fixture
def five_batches(tmp_path):
    return write_table(tmp_path / "orders", *(streaming_update(QUERY_ID, batch) for batch in range(5)))


def test_a_table_that_delta_s_own_sink_writes(five_batches):
    facts = read(five_batches, QUERY_ID)

    assert (facts.table_id, facts.version) == (TABLE_ID, 5)
    assert facts.transaction(QUERY_ID) == 4
    assert facts.writes_of(QUERY_ID) == QueryWrites(query_id=QUERY_ID, newest_batch=4)


def test_nothing_is_known_of_a_query_that_never_wrote(five_batches):
    facts = read(five_batches, OTHER_QUERY_ID)

    assert facts.transactions == ()
    assert facts.transaction(OTHER_QUERY_ID) is None
    assert facts.writes_of(OTHER_QUERY_ID) is None


def test_a_foreach_batch_has_a_transaction_and_is_not_delta_s_own_sink(tmp_path):
    facts = read(write_table(tmp_path / "orders", idempotent_write("orders-job", 7)), "orders-job")

    assert facts.transaction("orders-job") == 7
    assert facts.recent_writers == ()


def test_the_latest_of_several_writers_comes_first(tmp_path):
    commits = (streaming_update(QUERY_ID, 8), streaming_update(OTHER_QUERY_ID, 0), streaming_update(OTHER_QUERY_ID, 1))

    facts = read(write_table(tmp_path / "orders", *commits))

    assert [(one.query_id, one.newest_batch) for one in facts.recent_writers] == [(OTHER_QUERY_ID, 1), (QUERY_ID, 8)]


def test_a_table_forgets_transactions_where_it_is_told_to(tmp_path):
    forgets = creation(configuration={"delta.setTransactionRetentionDuration": "interval 1 days"})

    facts = read(write_table(tmp_path / "orders", streaming_update(QUERY_ID, 4), creates=forgets), QUERY_ID)

    assert facts.transaction(QUERY_ID) is None


def test_parameters_of_a_commit_may_be_anything(tmp_path):
    odd = streaming_update(QUERY_ID, 1)
    odd[0]["commitInfo"]["operationParameters"] = {"queryId": QUERY_ID, "epochId": "-٣"}

    assert read(write_table(tmp_path / "orders", odd)).recent_writers == ()


@pytest.mark.parametrize("folder", ["", "_delta_log"])
def test_where_no_table_lies(tmp_path, folder):
    (tmp_path / "orders" / folder).mkdir(parents=True)

    with pytest.raises(ObjectNotFoundError, match="no Delta table"):
        read(f"file://{tmp_path}/orders")


def test_a_place_that_can_t_be_asked_is_not_an_empty_one(tmp_path):
    (tmp_path / "_delta_log").write_text("")

    with pytest.raises(StorageError, match="a file lies where a folder is expected"):
        read(f"file://{tmp_path}")


def damaged(name, content):
    def damage(log):
        (log / name).write_bytes(content)

    return damage


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(damaged(f"{3:020d}.json", b'{"txn":{"appId":"x'), "is no JSON", id="a commit is cut"),
        pytest.param(damaged(f"{3:020d}.json", b"\x00\x1b[31m\xff"), "is no JSON", id="a commit is no JSON"),
        pytest.param(damaged(f"{3:020d}.json", b'{"txn":{"appId":"\xee","version":3}}'), "is no JSON", id="no UTF-8"),
        pytest.param(
            damaged(f"{3:020d}.json", b'{"txnId":"x","protocol":{}}'), "no action of Delta", id="another file"
        ),
        pytest.param(damaged(f"{3:020d}.json", b'{"commitInfo":{}}\n\0\0'), "is no JSON", id="NUL behind its end"),
        pytest.param(damaged(f"{3:020d}.json", b""), "no action of Delta", id="a commit is empty"),
        pytest.param(
            damaged(f"{6:020d}.crc", b"{}"), "00006.json is gone, and the .crc", id="the newest commit is gone"
        ),
        pytest.param(lambda log: (log / f"{2:020d}.json").unlink(), "lacks version 2", id="a commit is gone"),
        pytest.param(lambda log: (log / f"{0:020d}.json").unlink(), "lacks version 0", id="the first commit is gone"),
        pytest.param(damaged(f"{4:020d}.checkpoint.parquet", b"PAR1xxPAR1"), "can't be read", id="a bad checkpoint"),
    ],
)
def test_a_broken_log_is_told_in_one_printable_line(five_batches, tmp_path, damage, words):
    damage(tmp_path / "orders" / "_delta_log")

    with pytest.raises(DeltaLogError) as raised:
        read(five_batches, QUERY_ID)

    assert str(raised.value).startswith(five_batches)
    assert words in str(raised.value)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500


def test_a_log_that_lacks_a_commit_is_told_apart_from_one_that_is_not_understood(five_batches, tmp_path):
    """Delta refuses such a table, for whoever reads or writes it."""
    (tmp_path / "orders" / "_delta_log" / f"{2:020d}.json").unlink()

    with pytest.raises(BrokenDeltaLogError, match="its log lacks version 2, and has newer ones"):
        read(five_batches)


@pytest.mark.parametrize(("version", "is_refused"), [(3, False), (2, True)], ids=["fits", "stale"])
def test_a_commit_that_its_side_file_does_not_fit_is_refused(five_batches, tmp_path, version, is_refused):
    """Delta reads its log through Hadoop, which asks for the side files of a local file system (tried on Delta 4.4)."""
    log = tmp_path / "orders" / "_delta_log"
    shutil.copy(log / f"{version:020d}.json", tmp_path / f"{3:020d}.json")
    rewrite(tmp_path / f"{3:020d}.json")
    shutil.copy(tmp_path / f".{3:020d}.json.crc", log)

    with pytest.raises(BrokenDeltaLogError, match=f"its log's {3:020d}.json is not") if is_refused else nullcontext():
        read(five_batches)


def test_a_table_of_a_newer_protocol_is_refused(tmp_path):
    with pytest.raises(DeltaLogError, match="reader version 9"):
        read(write_table(tmp_path / "orders", creates=creation(reader_version=9)))


def test_a_log_that_is_too_large_is_not_loaded(five_batches, tmp_path):
    with (tmp_path / "orders" / "_delta_log" / f"{5:020d}.json").open("ab") as file:
        file.truncate(MAX_LOG_BYTES + 1)

    with pytest.raises(DeltaLogError, match="more than is read here"):
        read(five_batches)


def test_old_commits_below_a_checkpoint_do_not_count(five_batches, tmp_path):
    from deltalake import DeltaTable

    DeltaTable(str(tmp_path / "orders")).create_checkpoint()
    with (tmp_path / "orders" / "_delta_log" / f"{2:020d}.json").open("ab") as file:
        file.truncate(MAX_LOG_BYTES + 1)

    assert read(five_batches, QUERY_ID).transaction(QUERY_ID) == 4


def test_the_lowest_commit_that_is_left_is_known(five_batches, tmp_path):
    from deltalake import DeltaTable

    DeltaTable(str(tmp_path / "orders")).create_checkpoint()
    for version in range(3):
        (tmp_path / "orders" / "_delta_log" / f"{version:020d}.json").unlink()

    assert read(five_batches).earliest_commit == 3


def test_without_the_library_the_extra_is_named(five_batches, monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)

    with pytest.raises(MissingLibraryError, match=r"streamops\[delta\]"):
        read(five_batches)
