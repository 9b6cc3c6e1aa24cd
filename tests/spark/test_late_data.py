"""The reference case of late data, to the row and in all three output modes.

Windows of ten minutes, one every five; a watermark ten minutes behind the newest event; counts per device. The input comes
in four steps, and after each the query has run all batches that were due, those without input too.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

STEPS = (
    # The watermark stands at 11:58 afterwards.
    (("a", "12:02"), ("a", "12:07"), ("b", "12:08")),
    # 12:04 comes after 12:11, and counts: the watermark is behind it. Afterwards it stands at 12:01.
    (("a", "12:11"), ("a", "12:04")),
    # Afterwards the watermark stands at 12:11: the windows that end at 12:05 and 12:10 are closed.
    (("a", "12:21"),),
    # Both windows of 12:04 are closed, and of those of 12:08 the one that ends at 12:10. Afterwards it stands at 12:15.
    (("a", "12:04"), ("b", "12:08"), ("b", "12:25")),
)

UPDATED = (
    {
        ("11:55", "a", 1),
        ("12:00", "a", 2),
        ("12:00", "b", 1),
        ("12:05", "a", 1),
        ("12:05", "b", 1),
    },
    {
        ("11:55", "a", 2),
        ("12:00", "a", 3),
        ("12:05", "a", 2),
        ("12:10", "a", 1),
    },
    {
        ("12:15", "a", 1),
        ("12:20", "a", 1),
    },
    {
        ("12:05", "b", 2),
        ("12:20", "b", 1),
        ("12:25", "b", 1),
    },
)
"""Of each step the windows that have changed."""

APPENDED = (
    set(),
    set(),
    {
        ("11:55", "a", 2),
        ("12:00", "a", 3),
        ("12:00", "b", 1),
    },
    {
        ("12:05", "a", 2),
        ("12:05", "b", 2),
    },
)
"""Of each step the windows that the watermark has passed, each once and for good."""

COMPLETED = (
    UPDATED[0],
    {
        ("11:55", "a", 2),
        ("12:00", "a", 3),
        ("12:00", "b", 1),
        ("12:05", "a", 2),
        ("12:05", "b", 1),
        ("12:10", "a", 1),
    },
    {
        ("11:55", "a", 2),
        ("12:00", "a", 3),
        ("12:00", "b", 1),
        ("12:05", "a", 2),
        ("12:05", "b", 1),
        ("12:10", "a", 1),
        ("12:15", "a", 1),
        ("12:20", "a", 1),
    },
    {
        ("11:55", "a", 3),
        ("12:00", "a", 4),
        ("12:00", "b", 2),
        ("12:05", "a", 2),
        ("12:05", "b", 2),
        ("12:10", "a", 1),
        ("12:15", "a", 1),
        ("12:20", "a", 1),
        ("12:20", "b", 1),
        ("12:25", "b", 1),
    },
)
"""All windows each time. Nothing is ever dropped, so that the late ones of the last step count as well."""


@pytest.fixture
def outcome(spark, tmp_path: Path) -> Callable[[str], list[list[tuple[str, str, int]]]]:
    """What comes out in an output mode after each step: start of the window, device, count."""
    inputs = tmp_path / "in"
    inputs.mkdir()

    def run(mode: str) -> list[list[tuple[str, str, int]]]:
        came: list[tuple[str, str, int]] = []
        counts = counted(spark.readStream.schema("device STRING, at TIMESTAMP").json(str(inputs)))
        writer = counts.writeStream.outputMode(mode).foreachBatch(
            lambda rows, _: came.extend((row.start, row.device, row["count"]) for row in rows.collect())
        )
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            return [_step(query, came, inputs / f"{number}.json", step) for number, step in enumerate(STEPS)]
        finally:
            query.stop()

    return run


def counted(readings):
    """Readings per device and window."""
    from pyspark.sql import functions as f

    window = f.window("at", "10 minutes", "5 minutes")
    counts = readings.withWatermark("at", "10 minutes").groupBy(window, "device").count()
    return counts.select(f.date_format("window.start", "HH:mm").alias("start"), "device", "count")


def _step(query, came, file: Path, readings) -> list[tuple[str, str, int]]:
    lines = "".join(json.dumps({"device": device, "at": f"2026-03-01T{at}:00Z"}) + "\n" for device, at in readings)
    before = len(came)
    unseen = file.with_name("." + file.name)
    unseen.write_text(lines)
    os.rename(unseen, file)
    query.processAllAvailable()
    return sorted(came[before:])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("update", UPDATED, id="update: what has changed"),
        pytest.param("append", APPENDED, id="append: what is closed, once"),
        pytest.param("complete", COMPLETED, id="complete: everything"),
    ],
)
def test_an_event_counts_until_the_watermark_has_passed_the_end_of_its_window(outcome, mode, expected):
    assert outcome(mode) == [sorted(rows) for rows in expected]
