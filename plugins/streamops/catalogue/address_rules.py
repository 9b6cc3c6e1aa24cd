"""Rules about the place of a checkpoint: one that the next run will not find again, or finds under another name."""

import re
from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.verdict import AtStart, Finding, Severity, StartEffect

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TEMPORARY = re.compile(rf"temporary-{_UUID}", re.IGNORECASE)
"""What Spark makes below `java.io.tmpdir` for a query without `checkpointLocation` (StreamingQueryManager, 3.5 to 4.3)."""
_OF_ONE_RUN = (
    (
        "an application id",
        re.compile(r"application_\d{10,}_\d{4,}|\bapp-\d{14}-\d{4}\b|\blocal-\d{13}\b|\bspark-[0-9a-f]{32}\b"),
    ),
    ("an Airflow run id", re.compile(r"\b(?:manual|scheduled|backfill|dataset_triggered|asset_triggered)__")),
    ("a template that nobody filled in", re.compile(r"\{\{|\}\}|\$\{")),
)


def temporary_address(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The folder is one that Spark makes for a query without `checkpointLocation`: the next run begins anew."""
    parts = [part for part in _parts(facts.address) if _TEMPORARY.fullmatch(part)]
    if parts:
        yield Finding(
            rule="temporary-address",
            severity=Severity.WARNING,
            file="",
            evidence=f"{parts[0]!r} is a name that Spark gives to the checkpoint of a query that has none",
            meaning="the next run gets another one, and reads its input from the beginning or from now on",
            repair="set `checkpointLocation`; to keep the position, copy this folder there while no query runs",
        )


def run_dependent_address(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A part of the address belongs to one run or one application: the next one begins anew (airbnb/chronon#1146)."""
    for part in _parts(facts.address):
        for what, pattern in _OF_ONE_RUN:
            if pattern.search(part):
                yield Finding(
                    rule="run-dependent-address",
                    severity=Severity.WARNING,
                    file="",
                    evidence=f"{part!r} holds {what}",
                    meaning="the next run looks elsewhere, finds nothing, and reads all its input again or loses what came"
                    " meanwhile",
                    repair="give the query an address that stays the same; to keep the position, copy this folder there while no"
                    " query runs",
                )
                break


def local_checkpoint(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The checkpoint is on a local file system, and the query runs on a cluster: all hosts must see the same (SPARK-19407)."""
    is_cluster = expected.master and not expected.master.startswith("local")
    if is_cluster and facts.address.startswith("file:"):
        yield Finding(
            rule="local-checkpoint",
            severity=Severity.NOTE,
            file="",
            evidence=f"the address begins with `file:`, the master is {expected.master!r}",
            meaning="it must be a mount that all hosts share: a driver on another host otherwise begins anew, and state is on the"
            " disks of executors",
        )


def twin_address(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The same path is there in another spelling, with batches: Spark 2.x escaped special characters (SPARK-26824)."""
    is_new = snapshot.facts.is_new
    for twin in snapshot.twins:
        yield Finding(
            rule="twin-address",
            severity=Severity.CRITICAL if is_new else Severity.NOTE,
            file="",
            evidence=f"{twin.address!r} has batches up to {twin.last_offset}, here"
            f" {'is none' if is_new else f'they reach {snapshot.facts.last_offset}'}",
            meaning="an older Spark wrote there what was meant for here: a start begins anew"
            if is_new
            else "one of the two is what an older Spark, or a tool, made of the same path",
            repair="move that folder to this name while no query runs" if is_new else "",
            not_when="when the other folder belongs to another query" if is_new else "",
            start=StartEffect(
                kind=AtStart.REPEATS,
                summary=f"nothing is here, and {twin.address!r} has batches up to {twin.last_offset}: batch 0 begins anew",
            )
            if is_new
            else None,
        )


def _parts(address: str) -> list[str]:
    return address.partition("://")[2].split("/")
