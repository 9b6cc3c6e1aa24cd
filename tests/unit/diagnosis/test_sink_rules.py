"""What is told of a sink beside its checkpoint, and what stays quiet."""

from dataclasses import dataclass, field, replace

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.judge import SINK_RULES, explanations
from streamops.places.sink import FileSink, MissingSink, Sink, SinkView, UnreadSink
from streamops.places.sink_log import SinkLogFacts
from streamops.verdict import Severity, worst_of
from support.base_checkpoint import ADDRESS, files, stored, without
from support.checkpoints import OTHER_QUERY_ID
from support.plans import by_rules
from support.rocksdb import snapshot_zip
from support.sinks import TABLE, delta_sink, file_sink, still
from support.state_files import CHANGES

NOTE, WARNING, UNKNOWN, CRITICAL = Severity.NOTE, Severity.WARNING, Severity.UNKNOWN, Severity.CRITICAL


@dataclass(frozen=True, kw_only=True)
class Row:
    """A sink beside a checkpoint whose batches 0 to 4 are committed unless `files` says otherwise."""

    because: str
    sink: Sink = field(hash=False)
    files: dict = field(hash=False, default_factory=files)
    verdict: Severity = NOTE
    rules: tuple = ()


FOREACH_BATCH = delta_sink(4, writers=(), applications=("orders-job",))
NEW = {"metadata": files()["metadata"]}

QUIET = [
    Row(because="Delta: the sink stands at the last commit", sink=delta_sink(4)),
    Row(because="files: the sink stands at the last commit", sink=file_sink(0, 1, 2, 3, 4)),
    Row(because="files: after a compaction", sink=file_sink("3.compact", 4)),
    Row(
        because="files: a compact file that has grown large",
        sink=FileSink(log=replace(file_sink("3.compact", 4).log, compact_bytes=16 << 20)),
        rules=("large-sink-log",),
    ),
    Row(
        because="Delta: killed between the write and the commit",
        sink=delta_sink(4),
        files=files(commits_4=None),
        rules=("sink-has-pending-batch",),
    ),
    Row(
        because="files: killed between the write and the commit",
        sink=file_sink(0, 1, 2, 3, 4),
        files=files(commits_4=None),
        rules=("sink-has-pending-batch",),
    ),
    Row(
        because="a batch that the sink drops, and its state is there",
        sink=delta_sink(4),
        files=files(commits_4=None) | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)},
        rules=("sink-has-pending-batch",),
    ),
    Row(because="Delta: killed before the write", sink=delta_sink(3), files=files(commits_4=None)),
    Row(because="a foreachBatch under an id of its own", sink=FOREACH_BATCH),
    Row(because="a foreachBatch without any id", sink=delta_sink(), rules=("unknown-to-sink",)),
    Row(
        because="a table that another query fills as well",
        sink=delta_sink(writers=((OTHER_QUERY_ID, 900),)),
        rules=("unknown-to-sink",),
    ),
    Row(because="Delta: before the first batch", sink=delta_sink(), files=NEW),
    Row(because="files: before the first batch", sink=file_sink(), files=NEW),
    Row(because="there is no sink before the first batch", sink=MissingSink(address=TABLE), files=NEW),
    Row(
        because="this installation can't read Delta tables",
        sink=UnreadSink(address=TABLE, reason="needs the extra `delta`", lacks_library=True),
        rules=("unread-sink",),
    ),
]

LOUD = [
    Row(
        because="Delta: a commit of the table's log is gone",
        sink=UnreadSink(address=TABLE, reason="its log lacks version 2", is_broken=True),
        verdict=CRITICAL,
        rules=("unread-sink",),
    ),
    Row(
        because="a batch that the sink drops, so that its state is never written",
        sink=delta_sink(4),
        files=files(commits_4=None) | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 5)},
        verdict=CRITICAL,
        rules=("dropped-batch-without-state", "sink-has-pending-batch"),
    ),
    Row(
        because="the state after the batch that the sink drops is cut",
        sink=delta_sink(4),
        files=files(commits_4=None)
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 5)}
        | {"state/0/0/5.delta": CHANGES[:-30]},
        verdict=CRITICAL,
        rules=("dropped-batch-without-state", "sink-has-pending-batch"),
    ),
    Row(
        because="a batch that the sink drops, and whose commit is to name the files of its state",
        sink=delta_sink(4),
        files=files(commits_4=None, commits_3=b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["u"]]}}')
        | {"state/0/0/4_u.zip": snapshot_zip({})},
        verdict=CRITICAL,
        rules=("dropped-batch-without-ids", "sink-has-pending-batch"),
    ),
    Row(
        because="files: a new checkpoint and an old directory",
        sink=file_sink(*range(9), "9.compact", 10),
        verdict=CRITICAL,
        rules=("sink-ahead",),
    ),
    Row(
        because="Delta: both logs were deleted", sink=delta_sink(4), files=NEW, verdict=CRITICAL, rules=("sink-ahead",)
    ),
    Row(because="Delta: an older copy was restored", sink=delta_sink(9), verdict=CRITICAL, rules=("sink-ahead",)),
    Row(
        because="a foreachBatch whose id outlived its checkpoint",
        sink=delta_sink(9, writers=(), applications=("orders-job",)),
        verdict=CRITICAL,
        rules=("sink-ahead",),
    ),
    Row(
        because="offsets were deleted, commits were not",
        sink=delta_sink(4),
        files=files(**without("offsets")),
        verdict=CRITICAL,
        rules=("sink-ahead",),
    ),
    Row(
        because="the entry of a written batch is broken",
        sink=delta_sink(4),
        files=files(offsets_4=b"", commits_4=None),
        verdict=WARNING,
        rules=("sink-has-pending-batch",),
    ),
    Row(because="Delta: the table was restored", sink=delta_sink(2), verdict=CRITICAL, rules=("sink-behind",)),
    Row(
        because="a foreachBatch that did not write the last batches",
        sink=delta_sink(2, writers=(), applications=("orders-job",)),
        verdict=WARNING,
        rules=("sink-behind",),
    ),
    Row(because="files: a log without entries", sink=file_sink(), verdict=CRITICAL, rules=("sink-behind",)),
    Row(
        because="files: an old checkpoint and a new directory",
        sink=file_sink(4),
        verdict=CRITICAL,
        rules=("incomplete-sink-log",),
    ),
    Row(
        because="files: an entry of the compact file came back under a later batch",
        sink=FileSink(
            log=SinkLogFacts(output="file:///out", lowest=0, highest=4, repeated=("file:///out/part-0.parquet",))
        ),
        verdict=WARNING,
        rules=("repeated-sink-file",),
    ),
    Row(
        because="the query id was exchanged",
        sink=delta_sink(writers=((OTHER_QUERY_ID, 4),)),
        verdict=WARNING,
        rules=("unknown-to-sink",),
    ),
    Row(because="no sink at all", sink=MissingSink(address=TABLE), verdict=UNKNOWN, rules=("missing-sink",)),
    Row(
        because="an unreadable sink",
        sink=UnreadSink(address=TABLE, reason="Permission denied"),
        verdict=UNKNOWN,
        rules=("unread-sink",),
    ),
]


def findings_of(row):
    return by_rules(SINK_RULES, inspect_checkpoint(stored(row.files), ADDRESS), still(row.sink))


@pytest.mark.parametrize("row", [*QUIET, *LOUD], ids=lambda row: row.because)
def test_a_sink_is_told_by_its_rules_and_by_no_others(row):
    findings = findings_of(row)

    assert tuple(finding.rule for finding in findings) == row.rules
    assert worst_of(findings) is row.verdict


@pytest.mark.parametrize("row", LOUD, ids=lambda row: row.because)
def test_whatever_counts_says_what_it_saw_and_what_to_do(row):
    for finding in findings_of(row):
        assert finding.evidence
        assert finding.meaning
        assert finding.repair or finding.severity is NOTE
        assert finding.evidence.isprintable()


def test_each_rule_speaks_in_some_row_and_can_be_explained():
    spoken = {finding.rule for row in [*QUIET, *LOUD] for finding in findings_of(row)}

    assert spoken == {rule.__name__.replace("_", "-") for rule in SINK_RULES}
    assert spoken <= explanations().keys()


def test_the_lost_batches_are_named():
    (one,) = findings_of(Row(because="", sink=delta_sink(5)))
    (several,) = findings_of(Row(because="", sink=delta_sink(9)))

    assert one.meaning.startswith("batch 5 will run, be committed, and be dropped")
    assert several.meaning.startswith("batches 5 to 9 will run")


def test_names_from_a_table_are_shown_harmless():
    hostile = "\x1b]0;owned\x07" * 10

    (finding,) = findings_of(Row(because="", sink=delta_sink(writers=((hostile, 4),))))

    assert (finding.evidence + finding.meaning + finding.repair).isprintable()
    assert len(finding.evidence) < 300


@pytest.mark.parametrize(
    ("before", "latest"),
    [
        pytest.param(3, 4, id="a batch was written and committed meanwhile"),
        pytest.param(3, 6, id="several were"),
        pytest.param(None, 5, id="the first batch was"),
    ],
)
def test_a_query_that_moves_on_while_it_is_looked_at_stays_quiet(before, latest):
    snapshot = inspect_checkpoint(stored(files()), ADDRESS)

    assert by_rules(SINK_RULES, snapshot, SinkView(before=delta_sink(before), latest=delta_sink(latest))) == ()
