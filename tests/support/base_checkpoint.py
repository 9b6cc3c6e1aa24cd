"""The checkpoint that the damage matrix begins with: batches 0 to 4 of a file source are committed."""

import json

from streamops.spec import FileFormat, FilesSource
from streamops.storage import join
from streamops.storage.memory import MemoryStorage

ADDRESS = "file:///checkpoints/base"
INPUT = "hdfs://cluster/input"
"""Nothing that a local disk can be asked for."""
SOURCE = FilesSource(path=INPUT, format=FileFormat.JSON, schema="n BIGINT")
"""What a stream on it declares."""
BASE_ID = "11111111-2222-3333-4444-555555555555"


def header(*, partitions=1):
    """With those settings of Spark 4.2 that each batch needs, and that tell the version."""
    conf = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
    }
    return json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1772366400000, "conf": conf}, separators=(",", ":"))


HEADER = header()


def entry(batch, *, source=None, header=HEADER, version="v1"):
    """An entry of the offset log, each a second after the one before."""
    own = json.dumps({"logOffset": batch}, separators=(",", ":"))
    timed = header.replace("1772366400000", str(1772366400000 + batch * 1000))
    return f"{version}\n{timed}\n{source or own}".encode()


def source_entry(batch):
    """An entry of the file source's log: one input file."""
    line = {"path": f"{INPUT}/{batch}.json", "timestamp": 1772366400000 + batch, "batchId": batch}
    return f"v1\n{json.dumps(line, separators=(',', ':'))}".encode()


def compacted(log_ids):
    """The lines of these entries in one file, as a compact file has them."""
    return b"\n".join([b"v1", *(source_entry(log_id).removeprefix(b"v1\n") for log_id in log_ids)])


def files(*, partitions=1, **changed):
    """Its files by name; `offsets_4=None` removes one, bytes replace it."""
    found = {"metadata": json.dumps({"id": BASE_ID}).encode()}
    found |= {f"offsets/{batch}": entry(batch, header=header(partitions=partitions)) for batch in range(5)}
    found |= {f"commits/{batch}": b'v1\n{"nextBatchWatermarkMs":0}' for batch in range(5)}
    found |= {f"sources/0/{batch}": source_entry(batch) for batch in range(5)}
    for name, content in changed.items():
        found[name.replace("_", "/", 1)] = content
    return {name: content for name, content in found.items() if content is not None}


def without(*logs):
    """Changes that remove all entries of a log."""
    return {f"{log}_{batch}": None for log in logs for batch in range(5)}


def stored(found):
    """A storage that holds these files."""
    storage = MemoryStorage()
    for batch in range(5):
        storage.write(join(INPUT, f"{batch}.json"), b"{}")
    for name, content in found.items():
        storage.write(join(ADDRESS, name), content)
    return storage
