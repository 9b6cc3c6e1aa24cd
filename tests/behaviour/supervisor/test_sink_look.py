"""A checkpoint and its sink, looked at together."""

import json
from datetime import UTC, datetime

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.checkup import check_stream
from streamops.diagnosis.declared_places import SinkPlace, look_around, look_at_both
from streamops.diagnosis.restart_plan import Safety
from streamops.errors import SettingsError
from streamops.places.sink import newest_batch
from streamops.storage.local import LocalStorage
from streamops.verdict import Verdict
from support.checkpoints import QUERY_ID, commit, offsets, write_checkpoint
from support.delta_table import streaming_update, write_table
from support.specs import a_stream

NOW = datetime(2026, 3, 1, 13, tzinfo=UTC)


@pytest.fixture
def storage():
    return LocalStorage()


@pytest.fixture
def stream(tmp_path):
    """A declared stream whose places are folders of this test."""
    spec = a_stream(checkpoint=f"file://{tmp_path}/checkpoint")
    sink = type(spec.sink)(table=f"file://{tmp_path}/table", dead_letters=f"file://{tmp_path}/dead")
    return a_stream(checkpoint=spec.checkpoint, sink=sink)


def checkup(stream):
    return check_stream(stream, storage_for=lambda _: LocalStorage(), now=NOW)


def rules(found):
    return [finding.rule for finding in found.findings]


def test_a_declared_stream_is_judged_with_its_table(stream, storage, tmp_path):
    write_checkpoint(storage, stream.checkpoint, planned=range(2), committed=range(2))
    write_table(tmp_path / "table", *(streaming_update(QUERY_ID, batch) for batch in range(5)))

    found = checkup(stream)

    assert (found.verdict, found.restart.safety) == (Verdict.CRITICAL, Safety.UNSAFE)
    assert rules(found) == ["sink-ahead"]


def test_a_declared_table_that_is_not_there_is_not_held_against_the_stream(stream, storage):
    write_checkpoint(storage, stream.checkpoint, planned=range(2), committed=range(2))

    found = checkup(stream)

    assert found.verdict is Verdict.OK
    assert found.sink is None


def test_a_table_in_a_store_that_can_t_be_asked_leaves_the_rest_to_be_judged(stream, storage):
    def storage_for(address):
        if address == stream.sink.table:
            raise SettingsError("not supported yet")
        return storage

    write_checkpoint(storage, stream.checkpoint, planned=range(2), committed=range(2))

    found = check_stream(stream, storage_for=storage_for, now=NOW)

    assert (found.verdict, found.sink) == (Verdict.OK, None)


class RunningQuery(LocalStorage):
    """A storage in which the query ends a batch between the look at its sink and the look at its checkpoint."""

    def __init__(self, checkpoint, table):
        super().__init__()
        self._checkpoint = checkpoint
        self._table = table
        self._looks = 0

    def list(self, directory, *, after=""):
        self._looks += directory == f"{self._checkpoint}/commits"
        if self._looks == 2:
            self._looks += 1
            self._end_batch(2)
        return super().list(directory, after=after)

    def _end_batch(self, batch):
        self.write(f"{self._checkpoint}/offsets/{batch}", offsets(batch=batch))
        self._add_to_table(batch)
        self.write(f"{self._checkpoint}/commits/{batch}", commit())

    def _add_to_table(self, batch):
        lines = "\n".join(map(json.dumps, streaming_update(QUERY_ID, batch)))
        self.write(f"{self._table}/_delta_log/{batch + 1:020d}.json", lines.encode())


def test_a_batch_that_ends_between_the_looks_is_no_gap(stream, storage, tmp_path):
    write_checkpoint(storage, stream.checkpoint, planned=range(2), committed=range(2))
    table = write_table(tmp_path / "table", *(streaming_update(QUERY_ID, batch) for batch in range(2)))
    running = RunningQuery(stream.checkpoint, table)

    snapshot, view = look_at_both(running, stream.checkpoint, SinkPlace(storage=running, address=table))

    assert snapshot.facts.last_commit == 2
    assert (newest_batch(view.before), newest_batch(view.latest)) == (1, 2)


class Asked(LocalStorage):
    """A storage that keeps of which folders it was asked for details: a Delta log's are asked for once a reading."""

    def __init__(self):
        super().__init__()
        self.details_of = []

    def details(self, directory, *, only=None):
        self.details_of.append(directory)
        return super().details(directory, only=only)


@pytest.mark.parametrize(
    "commits",
    [
        pytest.param([], id="nothing of the query"),
        pytest.param([streaming_update(QUERY_ID, 0)], id="less than was committed"),
        pytest.param([streaming_update(QUERY_ID, 1)], id="all that was committed"),
    ],
)
def test_a_table_that_nobody_has_written_to_meanwhile_is_read_once(stream, tmp_path, commits):
    storage = Asked()
    write_checkpoint(storage, stream.checkpoint, planned=range(2), committed=range(2))
    table = write_table(tmp_path / "table", *commits)

    _, view = look_at_both(storage, stream.checkpoint, SinkPlace(storage=storage, address=table))

    assert storage.details_of.count(f"{table}/_delta_log") == 1
    assert view.latest is view.before


def test_a_table_that_was_read_for_another_query_is_read_again(stream, tmp_path):
    """The checkpoint got its id between the two looks: what the table knows of that id was not asked."""
    storage = LocalStorage()
    write_checkpoint(storage, stream.checkpoint, planned=range(2), committed=range(2))
    table = write_table(tmp_path / "table", streaming_update(QUERY_ID, 1))
    place = SinkPlace(storage=storage, address=table)

    _, view = look_around(place, None, inspect=lambda: (inspect_checkpoint(storage, stream.checkpoint),))

    assert (newest_batch(view.before), newest_batch(view.latest)) == (None, 1)
