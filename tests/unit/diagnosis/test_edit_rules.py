"""Entries that a person changed, told by the times of the files; and copies, which only look like it."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.catalogue.watch import Watch
from streamops.checkpoint.batch_times import read_batch_times
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.base_checkpoint import ADDRESS, entry, files, source_entry
from support.plans import findings_on

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def written(found, order):
    """The files in this order, a minute between two."""
    minutes = iter(range(1000))
    storage = MemoryStorage(now=lambda: AT + timedelta(minutes=next(minutes)))
    for name in order:
        storage.write(join(ADDRESS, name), found[name])
    return storage


def rules(storage):
    snapshot = inspect_checkpoint(storage, ADDRESS)
    watch = Watch(now=AT + timedelta(days=1), times=read_batch_times(storage, snapshot.facts))
    return [finding.rule for finding in findings_on(snapshot, watch=watch)]


def as_spark_writes(found):
    batches = sorted({int(name.rpartition("/")[2]) for name in found if "/" in name})
    names = [f"{folder}/{batch}" for batch in batches for folder in ("sources/0", "offsets", "commits")]
    return ["metadata", *(name for name in names if name in found)]


def test_a_committed_entry_that_was_edited_is_told():
    found = files(offsets_4=entry(4, source='{"logOffset":3}'))
    order = as_spark_writes(found)

    assert rules(written(found, [*(name for name in order if name != "offsets/4"), "offsets/4"])) == [
        "copied-entry",
        "edited-offsets",
    ]


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(as_spark_writes, id="as Spark writes"),
        pytest.param(sorted, id="copied without times, commits first"),
        pytest.param(lambda found: sorted(found, reverse=True), id="copied without times, offsets first"),
    ],
)
def test_what_nobody_edited_stays_quiet(order):
    assert rules(written(files(), order(files()))) == []


def test_a_single_batch_has_nothing_to_be_compared_with():
    found = {name: content for name, content in files().items() if name == "metadata" or name.endswith("/0")}

    assert rules(written(found, ["metadata", "sources/0/0", "commits/0", "offsets/0"])) == []


@pytest.mark.parametrize(("days", "told"), [(7, []), (9, ["future-input"])], ids=["a clock ahead", "beyond maxFileAge"])
def test_a_file_from_the_future_makes_all_others_too_old(days, told):
    """`maxFileAge` is seven days; a check is made a day after `AT`."""
    moment = int((AT + timedelta(days=days)).timestamp() * 1000)
    edited = files() | {"sources/0/4": source_entry(4).replace(b"1772366400004", str(moment).encode())}

    assert rules(written(edited, as_spark_writes(edited))) == told
