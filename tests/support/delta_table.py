"""Writes the log of a Delta table as delta-spark 4.4 does. No data files: what is asked of a table here lies in its log."""

import json
from pathlib import Path

TABLE_ID = "7d6a3f0e-0000-4000-8000-000000000001"

_FIELD = {"name": "n", "type": "long", "nullable": True, "metadata": {}}


def creation(*, table_id=TABLE_ID, configuration=None, reader_version=1):
    """The first commit: protocol and metadata."""
    metadata = {
        "id": table_id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [_FIELD]}),
        "partitionColumns": [],
        "configuration": configuration or {},
        "createdTime": 1_772_366_400_000,
    }
    return [{"protocol": {"minReaderVersion": reader_version, "minWriterVersion": 2}}, {"metaData": metadata}]


def streaming_update(query_id, batch):
    """A batch of Delta's own streaming sink."""
    parameters = {"outputMode": "Append", "queryId": query_id, "epochId": str(batch)}
    commit_info = {"timestamp": 1, "operation": "STREAMING UPDATE", "operationParameters": parameters}
    return [{"commitInfo": commit_info}, {"txn": {"appId": query_id, "version": batch, "lastUpdated": 1}}]


def idempotent_write(application, version):
    """A write of a foreachBatch with `txnAppId` and `txnVersion`."""
    commit_info = {"timestamp": 1, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
    return [{"commitInfo": commit_info}, {"txn": {"appId": application, "version": version, "lastUpdated": 1}}]


def write_table(folder: Path, *commits, creates=None) -> str:
    """The address of a table with these commits after its creation; one without actions tells of its writer alone."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate((creates or creation(), *commits)):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions or [{"commitInfo": {}}])))
    return f"file://{folder}"
