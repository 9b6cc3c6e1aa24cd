"""What is told of a damaged checkpoint, row by row of the damage matrix, and of the healthy shapes that stay quiet."""

from dataclasses import dataclass, field

import pytest

from streamops.catalogue import address_rules
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.control.records import Position
from streamops.control.registry import RegistryEntry
from streamops.diagnosis.judge import DEPTH_RULES, LOG_RULES, explanations
from streamops.engines import engine_of
from streamops.storage import join
from streamops.verdict import Severity, worst_first, worst_of
from support.base_checkpoint import (
    ADDRESS,
    BASE_ID,
    HEADER,
    INPUT,
    compacted,
    entry,
    files,
    header,
    source_entry,
    stored,
    without,
)
from support.delta_offsets import offset, reading
from support.plans import findings_on
from support.rocksdb import EMPTY_SST, store_at
from support.state_files import CHANGES, schema
from support.storage import SwitchableStorage

AGGREGATION = (
    b'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},'
    b'"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":1}]}'
)
NOTE, WARNING, UNKNOWN, CRITICAL = Severity.NOTE, Severity.WARNING, Severity.UNKNOWN, Severity.CRITICAL
UUID = "01234567-89ab-cdef-0123-456789abcdef"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A checkpoint, and the rules that speak."""

    because: str
    files: dict = field(hash=False)
    verdict: Severity
    rules: tuple = ()
    lost_inputs: tuple = ()
    unreachable: str = ""
    confs: tuple = ()
    idempotent: bool | None = None
    tracks_async: bool | None = None
    fails_on_data_loss: bool = True
    continuous: bool | None = None
    engine: str = "4.2"
    known: Position | None = None
    registered: RegistryEntry | None = None


def control_entry(batch):
    header = HEADER[:-1] + ',"controlBatchInfo":{"operationType":"repartition"}}'
    return entry(batch, header=header)


def kafka_entry(batch, text):
    return entry(batch, source=text)


ASYNC = files(**{f"{log}_{batch}": None for log in ("offsets", "commits") for batch in (1, 2, 3)})
ASYNC_IN_FLIGHT = files(offsets_1=None, offsets_3=None, commits_1=None, commits_3=None, commits_4=None)
# As Spark 4.2.0 wrote it: no header, and the positions of Kafka as in any other mode.
EPOCHS = {f"offsets_{epoch}": b'v1\n\n{"in":{"0":%d,"1":16}}' % (28 + epoch) for epoch in range(5)}
CONTINUOUS = files(**EPOCHS)

QUIET = [
    Row(
        because="a partition of which nothing was read is gone",
        files=files(offsets_3=kafka_entry(3, '{"t":{"0":9,"7":0}}'), offsets_4=kafka_entry(4, '{"t":{"0":12}}')),
        verdict=NOTE,
    ),
    Row(because="P0: nothing is wrong", files=files(), verdict=NOTE),
    Row(because="P1: a batch is in flight", files=files(commits_4=None), verdict=NOTE, rules=("pending-batch",)),
    Row(
        because="the first batch is in flight",
        files={name: content for name, content in files(**without("commits")).items() if name[-1] not in "1234"},
        verdict=NOTE,
        rules=("pending-batch",),
    ),
    Row(because="P5: a hole far below", files=files(offsets_1=None), verdict=NOTE, rules=("holes-in-history",)),
    Row(because="P6: a commit far below", files=files(commits_1=None), verdict=NOTE, rules=("holes-in-history",)),
    Row(
        because="a log that was purged begins above 0",
        files=files(**{f"{log}_{batch}": None for log in ("offsets", "commits") for batch in (0, 1)}),
        verdict=NOTE,
    ),
    Row(
        because="an older entry of the source's log has another number",
        files=files() | {"sources/0/3": source_entry(3).replace(b'"batchId":3', b'"batchId":9')},
        verdict=NOTE,
        rules=("renumbered-source-entries",),
    ),
    Row(because="P7e: an old entry is empty", files=files(offsets_1=b"", commits_1=b""), verdict=NOTE),
    Row(because="P8g: a newline at the end", files=files(offsets_4=entry(4) + b"\n"), verdict=NOTE),
    Row(because="P8k: a commit without its second line", files=files(commits_4=b"v1"), verdict=NOTE),
    Row(
        because="P9: leftovers of a crash and of an editor",
        files=files() | {f"offsets/.5.{UUID}.tmp": CHANGES, "offsets/4.bak": b"x", "commits/foo": b"x"},
        verdict=NOTE,
        rules=("leftovers", "leftovers"),
    ),
    Row(because="checksums of the local file system", files=files() | {"offsets/.4.crc": b"x"}, verdict=NOTE),
    Row(because="the trigger continuous, as declared", files=CONTINUOUS, verdict=NOTE, continuous=True),
    Row(
        because="the trigger continuous, as declared, and its first epoch alone",
        files={name: content for name, content in CONTINUOUS.items() if name[-1] not in "1234"},
        verdict=NOTE,
        continuous=True,
    ),
    Row(
        because="the trigger continuous, as declared, and two epochs are marked that no commit followed",
        files=files(**EPOCHS, commits_3=None, commits_4=None),
        verdict=NOTE,
        rules=("pending-batch",),
        continuous=True,
    ),
    Row(because="async progress, as declared", files=ASYNC, verdict=NOTE, tracks_async=True),
    Row(
        because="async progress, as declared, and a batch is in flight",
        files=ASYNC_IN_FLIGHT,
        verdict=NOTE,
        rules=("pending-batch",),
        tracks_async=True,
    ),
    Row(
        because="async progress, as declared, and the offsets are purged before the commits",
        files={name: content for name, content in ASYNC_IN_FLIGHT.items() if name != "offsets/0"},
        verdict=NOTE,
        rules=("pending-batch",),
        tracks_async=True,
    ),
    Row(
        because="metadata alone: an availableNow run without input",
        files={"metadata": files()["metadata"]},
        verdict=NOTE,
    ),
]

PARTITIONS = "spark.sql.shuffle.partitions"
PINNED = files(offsets_4=entry(4, header=HEADER.replace(f'"{PARTITIONS}":"1"', f'"{PARTITIONS}":"200"')))


def source_log(*names):
    """The base checkpoint with another log of its source, which ends at the newest offset."""
    found = {name: content for name, content in files().items() if not name.startswith("sources/")}
    ids = {str(name): int(str(name).removesuffix(".compact")) for name in names}
    newest = max(ids.values())
    found |= {
        f"sources/0/{name}": compacted(range(log_id + 1)) if name.endswith(".compact") else source_entry(log_id)
        for name, log_id in ids.items()
    }
    source = f'{{"logOffset":{newest}}}'
    return found | {"offsets/3": entry(3, source=source), "offsets/4": entry(4, source=source)}


QUIET += [
    Row(
        because="B48: a setting that the checkpoint pins otherwise",
        files=PINNED,
        confs=((PARTITIONS, "400"), ("spark.executor.memory", "4g")),
        verdict=NOTE,
        rules=("ignored-confs",),
    ),
    Row(because="B48: the same value", files=PINNED, confs=((PARTITIONS, " 200"),), verdict=NOTE),
    Row(because="B48: nothing is asked for", files=PINNED, verdict=NOTE),
    Row(because="B21: a compact file where it belongs", files=source_log(*range(9), "9.compact", 10), verdict=NOTE),
    Row(
        because="B21: the interval was 10, then 5",
        files=source_log("9.compact", "19.compact", "24.compact", 25),
        verdict=NOTE,
    ),
    Row(
        because="B21: the interval was 5, then 10: the first no longer counts",
        files=source_log("4.compact", "9.compact", "19.compact", 20),
        verdict=NOTE,
        rules=("compact-interval",),
    ),
    Row(because="a RocksDB snapshot that is whole", files=files() | store_at(5), verdict=NOTE),
]

LOUD = [
    Row(
        because="B49: an SST file of another size",
        files=files() | store_at(5, sst=b"1234"),
        verdict=CRITICAL,
        rules=("broken-state-file",),
    ),
    Row(
        because="B21: the newest compact file is gone",
        files=source_log(*range(9), 10, 11),
        verdict=CRITICAL,
        rules=("missing-source-log",),
    ),
    Row(because="an empty folder", files={}, verdict=UNKNOWN, rules=("no-checkpoint",)),
    Row(
        because="P1 with a sink that does not recognise it",
        files=files(commits_4=None),
        verdict=WARNING,
        rules=("pending-batch",),
        idempotent=False,
    ),
    Row(because="P2", files=files(offsets_4=None), verdict=CRITICAL, rules=("commits-ahead",)),
    Row(
        because="P4",
        files=files(offsets_3=None),
        verdict=CRITICAL,
        rules=("missing-previous-offsets",),
    ),
    Row(
        because="P4b",
        files=files(offsets_3=None, commits_4=None),
        verdict=CRITICAL,
        rules=("missing-previous-offsets", "pending-batch"),
    ),
    Row(
        because="P6c",
        files=files(commits_3=None, commits_4=None),
        verdict=WARNING,
        rules=("commits-missing-below-newest", "pending-batch"),
    ),
    Row(because="P7a", files=files(offsets_4=b""), verdict=CRITICAL, rules=("unreadable-newest-offsets",)),
    Row(
        because="P7b",
        files=files(offsets_4=b"", commits_4=None),
        verdict=CRITICAL,
        rules=("unreadable-newest-offsets", "pending-batch"),
    ),
    Row(because="P7c", files=files(commits_4=b""), verdict=CRITICAL, rules=("unreadable-last-commit",)),
    Row(because="P7d", files=files(offsets_3=b""), verdict=CRITICAL, rules=("unreadable-previous-offsets",)),
    Row(
        because="P8a",
        files=files(offsets_4=entry(4, header="{")),
        verdict=CRITICAL,
        rules=("unreadable-newest-offsets",),
    ),
    Row(because="P8b", files=files(offsets_4=b"v1"), verdict=CRITICAL, rules=("unreadable-newest-offsets",)),
    Row(
        because="P8d",
        files=files(offsets_4=entry(4, source='{"l')),
        verdict=CRITICAL,
        rules=("unreadable-newest-offsets",),
    ),
    Row(because="P8i", files=files(offsets_4=entry(4, source="-")), verdict=CRITICAL, rules=("source-offset-lost",)),
    Row(because="P8j", files=files(commits_4=b"v1\n{"), verdict=CRITICAL, rules=("unreadable-last-commit",)),
    Row(
        because="P9: a name that counts",
        files=files() | {"offsets/00003": b"x"},
        verdict=WARNING,
        rules=("odd-batch-names",),
    ),
    Row(because="P10", files=files(commits_40=b"v1"), verdict=CRITICAL, rules=("commits-ahead", "holes-in-history")),
    Row(because="P11a", files=files(metadata=None), verdict=CRITICAL, rules=("missing-metadata",)),
    Row(because="P11b", files=files(metadata=b""), verdict=CRITICAL, rules=("unreadable-metadata",)),
    Row(because="P11d", files=files(metadata=b'{"id":"hello"}'), verdict=CRITICAL, rules=("unreadable-metadata",)),
    Row(
        because="P11e",
        files=files(metadata=None, **without("offsets")),
        verdict=CRITICAL,
        rules=("missing-metadata", "missing-offsets"),
    ),
    Row(because="P15a", files=files(offsets_4=entry(4, version="v99")), verdict=CRITICAL, rules=("newer-format",)),
    Row(
        because="P15b",
        files=files(offsets_4=entry(4, version="vX")),
        verdict=CRITICAL,
        rules=("unreadable-newest-offsets",),
    ),
    Row(
        because="P15c",
        files=files(offsets_4=entry(4, version="v2")),
        verdict=CRITICAL,
        rules=("offsets-without-source-ids",),
    ),
    Row(
        because="P15d on 3.5",
        files=files(commits_4=b"v2\n{}"),
        verdict=CRITICAL,
        rules=("newer-format",),
        engine="3.5",
    ),
    Row(because="P16a", files=files(**without("commits")), verdict=WARNING, rules=("missing-commits", "pending-batch")),
    Row(because="P16b", files=files(**without("offsets")), verdict=CRITICAL, rules=("missing-offsets",)),
    Row(because="the trigger continuous, undeclared", files=CONTINUOUS, verdict=WARNING, rules=("continuous-entries",)),
    Row(
        because="the trigger continuous, and declared is another one",
        files=CONTINUOUS,
        verdict=CRITICAL,
        rules=("continuous-entries",),
        continuous=False,
    ),
    Row(because="async progress, undeclared", files=ASYNC, verdict=WARNING, rules=("async-progress-holes",)),
    Row(
        because="async progress, undeclared, and a batch is in flight",
        files=ASYNC_IN_FLIGHT,
        verdict=WARNING,
        rules=("async-progress-holes", "pending-batch"),
    ),
    Row(
        because="a hole right below a batch in flight is no sign of async progress",
        files=files(offsets_3=None, commits_3=None, commits_4=None),
        verdict=CRITICAL,
        rules=("missing-previous-offsets", "commits-missing-below-newest", "pending-batch"),
    ),
    Row(
        because="async progress, switched off",
        files=ASYNC,
        verdict=CRITICAL,
        rules=("missing-previous-offsets",),
        tracks_async=False,
    ),
    Row(
        because="a partition stands lower than before, another is gone",
        files=files(offsets_3=kafka_entry(3, '{"t":{"0":900,"1":880}}'), offsets_4=kafka_entry(4, '{"t":{"0":5}}')),
        verdict=CRITICAL,
        rules=("offsets-moved-back",),
    ),
    Row(
        because="a source more than in the entry below",
        files=files(offsets_4=entry(4) + b"\n-"),
        verdict=CRITICAL,
        rules=("source-count-differs",),
    ),
    Row(
        because="offsets as text, which Kafka's source refuses",
        files=files(offsets_3=kafka_entry(3, '{"t":{"0":9}}'), offsets_4=kafka_entry(4, '{"t":{"0":"10"}}')),
        verdict=CRITICAL,
        rules=("unlike-offsets",),
    ),
    Row(
        because="two entries that are no offsets of the source that the one below them names",
        files=files(
            offsets_2=kafka_entry(2, '{"offset":10,"timestamp":5000}'),
            offsets_3=kafka_entry(3, '{"offset":12,"timestamp":null}'),
            offsets_4=kafka_entry(4, '{"offsetx":14,"timestamp":7000}'),
        ),
        verdict=CRITICAL,
        rules=("unlike-offsets", "unjudged-source"),
    ),
    Row(
        because="-1 for latest, which only startingOffsets knows",
        files=files(offsets_3=kafka_entry(3, '{"t":{"0":-1}}'), offsets_4=kafka_entry(4, '{"t":{"0":-1}}')),
        verdict=CRITICAL,
        rules=("impossible-kafka-offsets",),
    ),
    Row(
        because="a watermark that goes back while a batch is in flight",
        files=files(
            offsets_3=entry(3, header=HEADER.replace('Ms":0', 'Ms":5000')),
            offsets_4=entry(4, header=HEADER.replace('Ms":0', 'Ms":4000')),
            commits_4=None,
        ),
        verdict=CRITICAL,
        rules=("watermark-moved-back", "pending-batch"),
    ),
    Row(
        because="a watermark that the header of the batch in flight does not say",
        files=files(
            offsets_3=entry(3, header=HEADER.replace('Ms":0', 'Ms":5000')),
            offsets_4=entry(4, header=HEADER.replace('"batchWatermarkMs":0,', "")),
            commits_4=None,
        ),
        verdict=CRITICAL,
        rules=("watermark-moved-back", "pending-batch"),
    ),
    Row(
        because="a watermark of the year 2100",
        files=files(commits_4=b'v1\n{"nextBatchWatermarkMs":4102444800000}'),
        verdict=WARNING,
        rules=("watermark-ahead",),
    ),
    Row(
        because="a clock that was set back",
        files=files(offsets_4=entry(4, header=HEADER.replace("1772366400000", "1772366300000"))),
        verdict=WARNING,
        rules=("planned-backwards",),
    ),
    Row(
        because="state of an aggregation without its format",
        files=files()
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
        | {"state/0/_metadata/metadata": AGGREGATION, "state/0/0/_metadata/schema": schema("n")}
        | {"offsets/4": entry(4, header=HEADER)},
        verdict=CRITICAL,
        rules=("unfit-state-confs",),
    ),
    Row(
        because="the entry of the batch in flight has another number",
        files=files(commits_4=None) | {"sources/0/4": source_entry(4).replace(b'"batchId":4', b'"batchId":9')},
        verdict=CRITICAL,
        rules=("renumbered-source-entries", "pending-batch"),
    ),
    Row(
        because="991:22: the entry of the batch in flight stands twice in its file",
        files=files(commits_4=None) | {"sources/0/4": source_entry(4) + source_entry(4).removeprefix(b"v1")},
        verdict=CRITICAL,
        rules=("repeated-source-entries", "pending-batch"),
    ),
    Row(
        because="the entry of the batch in flight names the file of the batch before",
        files=files(commits_4=None) | {"sources/0/4": source_entry(4).replace(b"/4.json", b"/3.json")},
        verdict=CRITICAL,
        rules=("repeated-source-entries", "pending-batch"),
    ),
    Row(
        because="the entry of a committed batch names the file of another one, whose own is new then",
        files=files() | {"sources/0/2": source_entry(2).replace(b"/2.json", b"/3.json")},
        verdict=CRITICAL,
        rules=("repeated-source-entries",),
    ),
    Row(
        because="the entry of a committed batch stands twice in its file, which only says twice what was read",
        files=files() | {"sources/0/4": source_entry(4) + source_entry(4).removeprefix(b"v1")},
        verdict=NOTE,
    ),
    Row(
        because="a file that was written anew after maxFileAge is rightly named twice",
        files=files()
        | {"sources/0/4": source_entry(4).replace(b"/4.json", b"/3.json").replace(b"1772366400004", b"1773000000000")},
        verdict=NOTE,
    ),
    Row(
        because="input is gone that the source has written down for the next batch",
        files=files(offsets_4=None, commits_4=None),
        verdict=CRITICAL,
        rules=("lost-input",),
        lost_inputs=("4.json",),
    ),
    Row(
        because="state of a batch that the logs do not have",
        files=files() | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 8)},
        verdict=CRITICAL,
        rules=("state-ahead",),
    ),
    Row(
        because="state in the place of other state, by the side file of Hadoop",
        files=files()
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
        | {"state/0/0/.5.delta.crc": b"crc\0\0\0\2\0\1\2\3\4"},
        verdict=CRITICAL,
        rules=("changed-state-file",),
    ),
    Row(
        because="a file of state without Hadoop's side file between two that have theirs",
        files=files()
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
        | dict.fromkeys((f"state/0/0/.{version}.delta.crc" for version in (1, 2, 4, 5)), b""),
        verdict=WARNING,
        rules=("unchecked-state-file",),
    ),
    Row(
        because="files of state without Hadoop's side files since some version, as on another file system",
        files=files()
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
        | dict.fromkeys((f"state/0/0/.{version}.delta.crc" for version in (1, 2)), b""),
        verdict=NOTE,
        rules=(),
    ),
    Row(
        because="a schema in the place of another, by the side file of Hadoop",
        files=files()
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
        | {"state/0/0/_metadata/schema": schema("k"), "state/0/0/_metadata/.schema.crc": b"crc\0\0\0\2\0\1\2\3\4"},
        verdict=CRITICAL,
        rules=("changed-state-file",),
    ),
    Row(
        because="entries in the place of others, by the side files of Hadoop",
        files=files() | dict.fromkeys(("commits/.4.crc", "sources/0/.3.crc"), b"crc\0\0\0\2\0\1\2\3\4"),
        verdict=WARNING,
        rules=("changed-entry",),
    ),
    Row(
        because="the batch in flight is a copy of the one below",
        files=files(offsets_4=entry(3), commits_4=None),
        verdict=CRITICAL,
        rules=("copied-entry", "pending-batch"),
    ),
    Row(
        because="the state of the first operator is gone",
        files=files() | {f"state/1/0/{version}.delta": CHANGES for version in range(1, 6)},
        verdict=CRITICAL,
        rules=("lost-operators",),
    ),
    Row(
        because="the metadata of the state names an operator that Spark has not",
        files=files()
        | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
        | {"state/0/_metadata/metadata": AGGREGATION.replace(b"stateStoreSave", b"stateStoreSqve")},
        verdict=CRITICAL,
        rules=("unknown-operators",),
    ),
    Row(
        because="shuffle partitions that are no number",
        files=files(offsets_4=entry(4, header=HEADER.replace(f'"{PARTITIONS}":"1"', f'"{PARTITIONS}":"x"'))),
        verdict=CRITICAL,
        rules=("impossible-confs",),
    ),
    Row(
        because="a batch in flight with other shuffle partitions than the one below",
        files=files(offsets_4=entry(4, header=header(partitions=7)), commits_4=None),
        verdict=CRITICAL,
        rules=("changed-partitions", "pending-batch"),
    ),
    Row(
        because="the folder of the state holds no operator",
        files=files() | {"state/.keep": b""},
        verdict=CRITICAL,
        rules=("emptied-state",),
    ),
    Row(
        because="a batch without input, for state that is not there",
        files=files(offsets_4=entry(4, source='{"logOffset":3}', header=HEADER.replace('Ms":0', 'Ms":5000'))),
        verdict=CRITICAL,
        rules=("lost-operators",),
    ),
    Row(
        because="a compact file that is a copy of another entry",
        files={name: content for name, content in files().items() if not name.startswith("sources/0/")}
        | {"sources/0/4.compact": source_entry(0)},
        verdict=CRITICAL,
        rules=("misplaced-source-entries",),
    ),
    Row(
        because="the entry below the newest is of another Delta table, and all is committed",
        files=reading(offset(5), offset(4, table_id="another")),
        verdict=CRITICAL,
        rules=("changed-delta-table",),
    ),
    Row(
        because="async progress tracking: a committed entry that ends where the one below it ends",
        files={name: content for name, content in files().items() if not name.startswith("sources/")}
        | {f"offsets/{batch}": entry(batch, source=f'{{"orders":{{"0":{min(batch, 3)}}}}}') for batch in range(5)},
        tracks_async=True,
        verdict=CRITICAL,
        rules=("copied-entry",),
    ),
    Row(
        because="async progress tracking: a commit without its offsets",
        files=files(offsets_3=None, commits_4=None),
        tracks_async=True,
        verdict=CRITICAL,
        rules=("missing-offsets-of-last-commit", "pending-batch"),
    ),
    Row(
        because="a compact file, and below it a single one whose place another compact file has taken",
        files={name: content for name, content in files().items() if name != "sources/0/4"}
        | {"sources/0/3": compacted(range(3)), "sources/0/4.compact": compacted(range(5))},
        verdict=NOTE,
        rules=(),
    ),
    Row(
        because="a compact file that lacks an entry",
        files={name: content for name, content in files().items() if not name.startswith("sources/0/")}
        | {"sources/0/4.compact": compacted((0, 1, 3, 4))},
        verdict=CRITICAL,
        rules=("misplaced-source-entries",),
    ),
    Row(
        because="an offset of files below the first, where a start begins",
        files=files(offsets_3=entry(3, source='{"logOffset":-2}')),
        verdict=CRITICAL,
        rules=("impossible-file-offsets",),
    ),
    Row(
        because="a commit that names files of state by ids, and nobody has said that the run asks for them",
        files=files(commits_4=b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"]]}}')
        | {f"state/0/0/{version}_{'a' if version == 5 else version}.changelog": CHANGES for version in range(1, 6)},
        verdict=NOTE,
        rules=("unsaid-checkpoint-format",),
    ),
    Row(
        because="a negative offset of files",
        files=files(offsets_3=entry(3, source="-1"), offsets_4=entry(4, source="-1")),
        verdict=CRITICAL,
        rules=("impossible-file-offsets",),
    ),
    Row(
        because="two lines for one source",
        files=files(
            offsets_3=entry(3, version="v2", source='0:{"logOffset":3}'),
            offsets_4=entry(4, version="v2", source='0:{"logOffset":4}\n0:{"logOffset":3}'),
        ),
        verdict=CRITICAL,
        rules=("repeated-source-ids",),
    ),
    Row(
        because="the newest entry is a copy of the one below",
        files=files(offsets_4=entry(3)),
        verdict=CRITICAL,
        rules=("copied-entry",),
    ),
    Row(
        because="the offset in which the batch in flight begins is gone",
        files=files(offsets_3=entry(3, source="-"), commits_4=None),
        verdict=CRITICAL,
        rules=("source-offset-lost", "pending-batch"),
    ),
    Row(
        because="a setting that no Spark takes, of a query without state",
        files=files(offsets_4=entry(4, header=HEADER.replace("false", "foo"))),
        verdict=CRITICAL,
        rules=("impossible-confs",),
    ),
    Row(
        because="a batch in flight that does not pin its shuffle partitions",
        files=files(offsets_4=entry(4, header=HEADER.replace(PARTITIONS, "spark.x")), commits_4=None),
        verdict=CRITICAL,
        rules=("unpinned-partitions", "pending-batch"),
    ),
    Row(
        because="the topics of a source are gone from its newest entry",
        files=files(offsets_3=kafka_entry(3, '{"t":{"0":9}}'), offsets_4=kafka_entry(4, "{}")),
        verdict=CRITICAL,
        rules=("offsets-moved-back",),
    ),
    Row(
        because="a Delta offset of a form that there is not",
        files=reading(offset(5).replace('"sourceVersion":1', '"sourceVersion":-1'), offset(4)),
        verdict=CRITICAL,
        rules=("impossible-delta-offsets",),
    ),
    Row(
        because="a file source that goes back",
        files=files(offsets_4=entry(4, source='{"logOffset":2}')),
        verdict=CRITICAL,
        rules=("backward-range",),
    ),
    Row(
        because="a rate that goes back while a batch is in flight",
        files=files(
            offsets_3=entry(3, source='{"offset":5,"timestamp":9}'),
            offsets_4=entry(4, source='{"offset":3,"timestamp":9}'),
            commits_4=None,
        ),
        verdict=CRITICAL,
        rules=("backward-range", "pending-batch"),
    ),
    Row(
        because="991:290: the time of a rate goes back while a batch is in flight",
        files=files(
            offsets_3=entry(3, source='{"offset":5,"timestamp":9}'),
            offsets_4=entry(4, source='{"offset":6,"timestamp":-2}'),
            commits_4=None,
        ),
        verdict=CRITICAL,
        rules=("backward-range", "pending-batch"),
    ),
    Row(
        because="a partition is gone from the batch in flight, another ends before it begins",
        files=files(
            offsets_3=kafka_entry(3, '{"t":{"0":9,"1":8}}'), offsets_4=kafka_entry(4, '{"t":{"0":5}}'), commits_4=None
        ),
        verdict=CRITICAL,
        rules=("backward-range", "pending-batch"),
    ),
    Row(
        because="a partition is gone from the batch in flight of a query without failOnDataLoss",
        files=files(
            offsets_3=kafka_entry(3, '{"t":{"0":9,"1":8}}'), offsets_4=kafka_entry(4, '{"t":{"0":9}}'), commits_4=None
        ),
        verdict=CRITICAL,
        rules=("offsets-moved-back", "pending-batch"),
        fails_on_data_loss=False,
    ),
    Row(
        because="another partition below: either entry may be the one that was edited",
        files=files(offsets_3=kafka_entry(3, '{"t":{"0":9,"7":8}}'), offsets_4=kafka_entry(4, '{"t":{"0":10,"1":9}}')),
        verdict=CRITICAL,
        rules=("offsets-moved-back",),
    ),
    Row(
        because="a commit that can't be read, and no entry of its batch",
        files=files(offsets_4=None, commits_4=b"v1\n{"),
        verdict=CRITICAL,
        rules=("unreadable-last-commit", "commits-ahead"),
    ),
    Row(
        because="an entry of v2 with an empty line",
        files=files(offsets_3=entry(3) + b"\n", offsets_4=entry(4).replace(b"v1", b"v2") + b"\n\n"),
        verdict=CRITICAL,
        rules=("unreadable-newest-offsets",),
    ),
    Row(
        because="a rate that goes back",
        files=files(offsets_3=entry(3, source="5"), offsets_4=entry(4, source="3")),
        verdict=CRITICAL,
        rules=("offsets-moved-back",),
    ),
    Row(
        because="a version of a table that goes back",
        files=reading(offset(3), offset(4)),
        verdict=CRITICAL,
        rules=("offsets-moved-back",),
    ),
    Row(
        because="the entry in which the batch in flight begins goes back",
        files=files(offsets_3=entry(3, source='{"logOffset":1}'), commits_4=None),
        verdict=CRITICAL,
        rules=("offsets-moved-back", "pending-batch"),
    ),
    Row(
        because="the entry in which the batch in flight begins is a copy",
        files=files(offsets_3=entry(2), commits_4=None),
        verdict=CRITICAL,
        rules=("copied-entry", "pending-batch"),
    ),
    Row(
        because="a source that nobody here knows",
        files=files(**{f"offsets_{batch}": entry(batch, source=f'{{"shard":"{batch}"}}') for batch in range(5)}),
        verdict=NOTE,
        rules=("unjudged-source",),
    ),
    Row(
        because="a copy of another entry in a source's log",
        files=files(**{"sources_0/4": source_entry(3)}),
        verdict=CRITICAL,
        rules=("misplaced-source-entries",),
    ),
    Row(
        because="P16c",
        files=files(**without("offsets", "commits")),
        verdict=CRITICAL,
        rules=("emptied-logs",),
    ),
    Row(
        because="P12a",
        files={name: content for name, content in files().items() if name != "sources/0/4"},
        verdict=CRITICAL,
        rules=("missing-source-log",),
    ),
    Row(
        because="P12c",
        files=files() | {"sources/0/4": b""},
        verdict=CRITICAL,
        rules=("unreadable-source-log",),
    ),
    Row(
        because="P12e",
        files={name: content for name, content in files().items() if name != "sources/0/2"},
        verdict=CRITICAL,
        rules=("missing-source-log",),
    ),
    Row(
        because="a source's folder does not answer",
        files=files(),
        unreachable="sources/0",
        verdict=UNKNOWN,
        rules=("unreachable-source-log",),
    ),
    Row(
        because="P20",
        files=files(commits_4=None),
        lost_inputs=("4.json",),
        verdict=CRITICAL,
        rules=("lost-input", "pending-batch"),
    ),
    Row(
        because="a state file is missing",
        files=files() | {"state/0/0/1.delta": CHANGES},
        verdict=CRITICAL,
        rules=("unloadable-state",),
    ),
    Row(
        because="a commit was deleted, its checksum was left",
        files=files(commits_4=None) | {"commits/.4.crc": b"x", "commits/.3.crc": b"x"},
        verdict=CRITICAL,
        rules=("orphan-checksums", "pending-batch"),
    ),
    Row(
        because="a repartition was cut off",
        files=files(commits_4=None, offsets_4=control_entry(4)),
        verdict=CRITICAL,
        rules=("unfinished-control-batch", "pending-batch"),
    ),
    Row(
        because="P3: an older copy was put back",
        files=files(),
        verdict=CRITICAL,
        rules=("behind-control-log",),
        known=Position(query_id=BASE_ID, offset=6, commit=6),
    ),
    Row(
        because="its volume is not mounted",
        files={},
        verdict=CRITICAL,
        rules=("missing-checkpoint", "no-checkpoint"),
        registered=RegistryEntry(stream="orders", checkpoint=ADDRESS, sink="", query_id=BASE_ID),
    ),
]


def findings_of(row):
    expected = {
        "engine": engine_of(row.engine),
        "is_sink_idempotent": row.idempotent,
        "tracks_progress_async": row.tracks_async,
        "fails_on_data_loss": row.fails_on_data_loss,
        "is_continuous": row.continuous,
        "confs": row.confs,
        "known": row.known,
        "registered": row.registered,
    }
    storage = stored(row.files)
    for name in row.lost_inputs:
        storage.delete(join(INPUT, name))
    seen = SwitchableStorage(storage)
    seen.unreachable = row.unreachable
    return worst_first(findings_on(inspect_checkpoint(seen, ADDRESS), **expected))


@pytest.mark.parametrize("row", [*QUIET, *LOUD], ids=lambda row: row.because)
def test_a_damage_is_told_by_its_rules_and_by_no_others(row):
    findings = findings_of(row)

    assert tuple(finding.rule for finding in findings) == row.rules
    assert worst_of(findings) is row.verdict


@pytest.mark.parametrize("row", LOUD, ids=lambda row: row.because)
def test_whatever_counts_says_what_it_saw_and_what_to_do(row):
    for finding in findings_of(row):
        if finding.severity > NOTE:
            assert finding.evidence
            assert finding.meaning
            assert finding.repair
        assert finding.evidence.isprintable()


def test_each_rule_speaks_in_some_row_and_can_be_explained():
    spoken = {finding.rule for row in [*QUIET, *LOUD] for finding in findings_of(row)}

    about_contents = {rule for rule in (*LOG_RULES, *DEPTH_RULES) if rule.__module__ != address_rules.__name__}
    assert spoken == {rule.__name__.replace("_", "-") for rule in about_contents}
    assert spoken <= set(explanations())
    assert all(explanations().values())


def test_the_way_out_of_a_hole_never_leaves_commits_ahead_of_offsets():
    """SPARK-38033: dropping the newest entry is right only where neither batch is committed."""
    (kept,) = findings_of(Row(because="", files=files(offsets_3=None), verdict=CRITICAL))
    dropped = findings_of(
        Row(because="", files=files(offsets_3=None, commits_3=None, commits_4=None), verdict=CRITICAL)
    )[0]

    assert "write offsets/3 anew" in kept.repair
    assert "move offsets/4 aside" in dropped.repair


@pytest.mark.parametrize(
    ("names", "way_out"),
    [
        pytest.param(
            (*range(9), 10, 11),
            "9.compact is `v1`, then the lines of 0 to 8, which are still there, then one line for each input file of 9",
            id="all it was made of is still there",
        ),
        pytest.param(
            ("9.compact", *range(10, 19), 20),
            "19.compact is `v1`, then all lines of 9.compact and of 10 to 18, which are still there",
            id="the second one",
        ),
        pytest.param((*range(3, 9), 10, 11), "a compact file holds all lines up to its id", id="some of it is gone"),
    ],
)
def test_a_compact_file_is_made_anew_of_what_is_still_there(names, way_out):
    """SPARK-26949: rebuilt like that, a start read nothing again."""
    (found,) = findings_of(Row(because="", files=source_log(*names), verdict=CRITICAL))

    assert way_out in found.repair


def test_nobody_asks_where_a_committed_batch_began():
    """The entry below the newest is not what the next batch begins at."""
    assert not findings_of(Row(because="", files=files(offsets_3=entry(2)), verdict=NOTE))


def test_a_snapshot_that_is_damaged_says_how_many_were_opened():
    (found,) = findings_of(Row(because="", files=files() | store_at(5, sst=b""), verdict=CRITICAL))

    assert found.file == "state/0/0/5.zip"
    assert found.evidence == (
        f"SSTs/000008-0a1b.sst has 0 bytes, the manifest says {len(EMPTY_SST)} (1 of 1 snapshots were opened)"
    )
