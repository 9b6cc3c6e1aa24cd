"""What Spark told of a query, as it is written into `expected.json`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from recorder.catalogue import Recipe

Lines = list[dict[str, Any]]
"""The report of a process, see `scripts/record_queries.py`."""


def lines_of(lines: Lines, recipe: Recipe) -> Lines:
    """Those about one query."""
    return [line for line in lines if line["task"] == recipe.name]


def expected(recipe: Recipe, recording: Path, *, version: str, recorded: Lines, resumed: Lines) -> dict[str, Any]:
    """What Spark told of the query, and what lies in the folders: nothing of it comes from streamops."""
    batches = [line["batch"] for line in recorded if "batch" in line]
    ran = [batch["batchId"] for batch in batches]
    offsets, commits = (_ids(recording / "checkpoint" / log) for log in ("offsets", "commits"))
    return {
        "spark": version,
        "recipe": {key: value for key, value in asdict(recipe).items() if value and key not in ("name", "versions")},
        "id": next((line["id"] for line in recorded if "id" in line), ""),
        "ran": ran,
        "in_flight": offsets[-1] if offsets and offsets[-1] not in ran else None,
        "offsets": offsets,
        "commits": commits,
        "last": _told_of(batches[-1]) if batches else None,
        "state": next((line["state"] for line in resumed if "end" in line), []),
        "resumed": resumption(resumed),
    }


def resumption(resumed: Lines) -> dict[str, Any]:
    """How a start on a copy of the checkpoint went."""
    return {
        "error": next(line["error"] for line in resumed if "end" in line),
        "id": next((line["id"] for line in resumed if "id" in line), ""),
        "batches": [_told_of(line["batch"]) for line in resumed if "batch" in line],
    }


def _told_of(event: dict[str, Any]) -> dict[str, Any]:
    """Of a progress event what a checkpoint tells as well."""
    return {
        "batch": event["batchId"],
        "rows": event["numInputRows"],
        "sources": [
            {"description": source["description"], "start": source["startOffset"], "end": source["endOffset"]}
            for source in event["sources"]
        ],
        "operators": [
            {
                "name": operator["operatorName"],
                "partitions": operator["numShufflePartitions"],
                "stores": operator["numStateStoreInstances"],
            }
            for operator in event["stateOperators"]
        ],
    }


def _ids(log: Path) -> list[int]:
    return sorted(int(file.name) for file in log.iterdir() if file.name.isdecimal()) if log.exists() else []
