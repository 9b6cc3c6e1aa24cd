"""J17: each of its streams counts and joins right, on a real StreamingContext."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.job_frames import load_job
from support.waiting import eventually

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.catalogue,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:DStream is deprecated"),
]

LINES = ["To be or not", "to be  that is", "the question"]
COUNTS = Counter({"to": 2, "be": 2, "or": 1, "not": 1, "that": 1, "is": 1, "the": 1, "question": 1})
LIMIT_SECONDS = 120


@pytest.fixture(scope="module")
def job() -> ModuleType:
    return load_job("dstream_word_count")


@pytest.fixture
def streaming() -> Iterator[Any]:
    """A context with batches of a second. The SparkContext is of the test alone, unless another one of this process lives."""
    from pyspark import SparkConf, SparkContext
    from pyspark.streaming import StreamingContext

    conf = SparkConf().setMaster("local[2]").setAppName("dstreams").set("spark.ui.enabled", "false")
    is_ours = SparkContext._active_spark_context is None
    context = SparkContext.getOrCreate(conf)
    context.setLogLevel("ERROR")
    streaming = StreamingContext(context, 1)
    try:
        yield streaming
    finally:
        streaming.stop(stopSparkContext=is_ours, stopGraceFully=False)


def test_words_of_a_queue_are_counted_batch_by_batch(job: ModuleType, streaming: Any) -> None:
    queue = streaming.queueStream([LINES[:2], LINES[2:]])

    batches = batches_of(streaming, job.word_counts(queue), until=lambda found: len(found) >= 2)

    assert [dict(batch) for batch in batches[:2]] == [
        {"to": 2, "be": 2, "or": 1, "not": 1, "that": 1, "is": 1},
        {"the": 1, "question": 1},
    ]


def test_words_of_files_are_counted_that_come_while_it_runs(job: ModuleType, streaming: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    (folder / "before.txt").write_text("never read")

    def come() -> None:
        (tmp_path / "new.txt").write_text("\n".join(LINES))
        (tmp_path / "new.txt").rename(folder / "new.txt")

    lines = streaming.textFileStream(str(folder))
    batches = batches_of(streaming, job.word_counts(lines), until=bool, then=come)

    assert total(batches) == COUNTS


def test_words_from_a_socket_are_counted(job: ModuleType, streaming: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        lines = streaming.socketTextStream(*server.getsockname())

        batches = batches_of(streaming, job.word_counts(lines), until=lambda found: total(found) == COUNTS)

    assert total(batches) == COUNTS


def test_a_static_join_leaves_the_words_that_are_on_the_list(job: ModuleType, streaming: Any) -> None:
    kinds = streaming.sparkContext.parallelize([("be", "verb"), ("question", "noun"), ("answer", "noun")])
    counts = job.word_counts(streaming.queueStream([LINES]))

    batches = batches_of(streaming, job.counts_of_known(counts, kinds), until=bool)

    assert sorted(batches[0]) == [("be", (2, "verb")), ("question", (1, "noun"))]


def test_impressions_meet_visits_that_come_within_the_window(job: ModuleType, streaming: Any) -> None:
    impressions = streaming.queueStream([[("a", "i1"), ("b", "i2")]])
    # Nothing for two batches, and then the visits: of one ad that was shown, and of one that was not.
    visits = streaming.queueStream([[], [], [("a", "v1"), ("c", "v2")]])

    batches = batches_of(streaming, job.visits_of_impressions(impressions, visits, 20), until=bool)

    assert batches[0] == [("a", ("i1", "v1"))]


def batches_of(
    streaming: Any,
    stream: Any,
    *,
    until: Callable[[list[list[Any]]], bool],
    then: Callable[[], None] = lambda: None,
) -> list[list[Any]]:
    """What the batches that are not empty came to; `then` happens after the start."""
    found: list[list[Any]] = []
    empty = 0

    def keep(rdd: Any) -> None:
        nonlocal empty
        rows = rdd.collect()
        empty += not rows
        if rows:
            found.append(rows)

    stream.foreachRDD(keep)
    streaming.start()
    # A file is taken if it is younger than the first batch.
    time.sleep(2)
    then()
    assert eventually(lambda: until(found), within=LIMIT_SECONDS), f"{found}, and {empty} empty batches"
    return found


def total(batches: list[list[Any]]) -> Counter[str]:
    return sum((Counter(dict(batch)) for batch in batches), Counter())


def serve(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        client.sendall("".join(f"{line}\n" for line in LINES).encode())
        time.sleep(LIMIT_SECONDS)
