"""What the inputs of the catalogue expect by plain Python is what Spark gives, wherever batches end.

Each wave is cut into parts whose records are in any order, one batch a part.
"""

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from streamops_sandbox.inputs import (
    USUAL,
    InputRecord,
    ad_clicks,
    clicks,
    events,
    impressions,
    purchases,
    sensor_readings,
)
from streamops_sandbox.inputs.shape import read_value

# Six queries at once, in one session: a busy machine takes minutes.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.catalogue, pytest.mark.timeout(900)]

INPUTS = (ad_clicks, clicks, events, impressions, purchases, sensor_readings)
SIZE = {"seed": 21, "count": 400, "shares": USUAL}
PARTS = 2
DELAY = "10 minutes"
MICROSECONDS = 1_000_000


@pytest.fixture(scope="module")
def records() -> dict[str, tuple[InputRecord, ...]]:
    return {module.TOPIC: module.records(**SIZE) for module in INPUTS}


@pytest.fixture(scope="module")
def results(
    spark: SparkSession, records: dict[str, tuple[InputRecord, ...]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Counter]:
    """The rows of each query after all waves. Times are microseconds since the epoch."""
    root = tmp_path_factory.mktemp("inputs")
    frames = {module.TOPIC: read(spark, root, module) for module in INPUTS}
    queries = [
        frame.writeStream.format("memory")
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", str(root / "checkpoints" / name))
        .start()
        for name, frame in queries_of(frames).items()
    ]
    for wave in range(6):
        for topic, all_records in records.items():
            put([record for record in all_records if record.wave == wave], root / topic, wave)
        for query in queries:
            query.processAllAvailable()
    for query in queries:
        query.stop()
    return {query.name: Counter(map(tuple, spark.table(query.name).collect())) for query in queries}


def read(spark: SparkSession, root: Path, module) -> DataFrame:
    """The good records of an input, each batch one part."""
    folder = root / module.TOPIC
    folder.mkdir()
    kinds = {"number": "DOUBLE", "time": "TIMESTAMP"}
    schema = ", ".join(f"`{name}` {kinds.get(kind, 'STRING')}" for name, kind in module.SHAPE.items())
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    return rows.withWatermark("event_time", DELAY)


def put(wave_records: list[InputRecord], folder: Path, wave: int) -> None:
    values = [record.value for record in wave_records if record.value and is_object(record.value)]
    random.Random(wave).shuffle(values)
    for part in range(PARTS):
        unfinished = folder / f".{wave}-{part}.json"
        unfinished.write_bytes(b"\n".join(values[part::PARTS]))
        unfinished.rename(folder / f"{wave}-{part}.json")


def is_object(value: bytes) -> bool:
    """Whether any of the inputs takes it: malformed ones are a job's business, not that of its windows and joins."""
    return any(read_value(value, module.SHAPE) is not None for module in INPUTS)


def queries_of(frames: dict[str, DataFrame]) -> dict[str, DataFrame]:
    return {
        "tumbling": device_windows(frames["sensor_readings"], f.window("event_time", "5 minutes")),
        "sliding": device_windows(frames["sensor_readings"], f.window("event_time", "10 minutes", "5 minutes")),
        "sessions": sessions(frames["clicks"]),
        "unique": frames["events"]
        .dropDuplicatesWithinWatermark(["event_id"])
        .select("event_id", "type", "user", "amount", f.unix_micros("event_time")),
        "clicked": clicked(frames["clicks"], frames["purchases"]),
        "shown": shown(frames["impressions"], frames["ad_clicks"]),
    }


def device_windows(readings: DataFrame, window) -> DataFrame:
    """Distinct users cannot be counted exactly in a stream: a set of them can be kept."""
    value = f.col("value")
    found = readings.groupBy("device", window.alias("w")).agg(
        f.count("*").alias("count"),
        f.sum(value).alias("sum"),
        f.avg(value).alias("avg"),
        f.min(value).alias("min"),
        f.max(value).alias("max"),
        f.size(f.collect_set("user")).alias("users"),
    )
    times = (f.unix_micros("w.start"), f.unix_micros("w.end"))
    return found.select("device", *times, "count", "sum", "avg", "min", "max", "users")


def sessions(clicked: DataFrame) -> DataFrame:
    at = f.struct("event_time", "click_id", "page")
    found = clicked.groupBy("user", f.session_window("event_time", "30 minutes").alias("s")).agg(
        f.count("*").alias("pages"), f.min(at).page.alias("entry"), f.max(at).page.alias("exit")
    )
    return found.select("user", f.unix_micros("s.start"), f.unix_micros("s.end"), "pages", "entry", "exit")


def clicked(left: DataFrame, right: DataFrame) -> DataFrame:
    c, p = left.alias("c"), right.alias("p")
    within = f.expr(
        "c.user = p.user AND p.event_time >= c.event_time AND p.event_time <= c.event_time + INTERVAL 30 MINUTES"
    )
    times = (f.unix_micros("c.event_time"), f.unix_micros("p.event_time"))
    return c.join(p, within, "leftOuter").select(
        "click_id", "c.user", "page", times[0], "purchase_id", "amount", times[1]
    )


def shown(left: DataFrame, right: DataFrame) -> DataFrame:
    i, k = left.alias("i"), right.alias("k")
    within = f.expr(
        "i.ad_id = k.ad_id AND k.event_time >= i.event_time AND k.event_time <= i.event_time + INTERVAL 10 MINUTES"
    )
    times = (f.unix_micros("i.event_time"), f.unix_micros("k.event_time"))
    return i.join(k, within).select("impression_id", "i.ad_id", "cost", times[0], "ad_click_id", times[1])


def us(moment) -> int | None:
    return None if moment is None else round(moment.timestamp() * MICROSECONDS)


def text(amount) -> str | None:
    return None if amount is None else str(amount)


@pytest.mark.parametrize("kind", ["tumbling", "sliding"])
def test_windows(kind: str, results: dict[str, Counter], records: dict[str, tuple[InputRecord, ...]]) -> None:
    expected = getattr(sensor_readings, f"expected_{kind}")(records["sensor_readings"])

    assert len(expected) > 10
    assert results[kind] == Counter(
        (w.device, us(w.start), us(w.end), w.count, w.sum, w.avg, w.min, w.max, w.users) for w in expected
    )


def test_sessions(results: dict[str, Counter], records: dict[str, tuple[InputRecord, ...]]) -> None:
    expected = clicks.expected_sessions(records["clicks"])

    assert len(expected) > 100
    assert results["sessions"] == Counter(
        (s.user, us(s.start), us(s.end), s.pages, s.entry_page, s.exit_page) for s in expected
    )


def test_unique_events(results: dict[str, Counter], records: dict[str, tuple[InputRecord, ...]]) -> None:
    expected = events.expected_unique(records["events"])

    assert len(expected) == 320  # of 400: 20 late, 40 repeated, 20 malformed
    assert results["unique"] == Counter(
        (e.event_id, e.type, e.user, text(e.amount), us(e.event_time)) for e in expected
    )


def test_clicks_with_their_purchases(results: dict[str, Counter], records: dict[str, tuple[InputRecord, ...]]) -> None:
    expected = purchases.expected_joined(records["clicks"], records["purchases"])

    assert len({pair.purchase_id for pair in expected}) > 50
    assert results["clicked"] == Counter(
        (p.click_id, p.user, p.page, us(p.clicked_at), p.purchase_id, text(p.amount), us(p.purchased_at))
        for p in expected
    )


def test_impressions_with_their_clicks(
    results: dict[str, Counter], records: dict[str, tuple[InputRecord, ...]]
) -> None:
    expected = ad_clicks.expected_joined(records["impressions"], records["ad_clicks"])

    assert len(expected) > 100
    assert results["shown"] == Counter(
        (p.impression_id, p.ad_id, text(p.cost), us(p.shown_at), p.ad_click_id, us(p.clicked_at)) for p in expected
    )
