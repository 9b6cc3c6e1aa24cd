"""J17: word counts and joins with DStreams, the older API of Spark: for comparison, and for who has such code to move.

A plain script without any supervision. Spark calls the API deprecated since 3.4; 4.2.0 still runs it.

    spark-submit jobs/dstream_word_count.py socket 127.0.0.1 9999
    spark-submit jobs/dstream_word_count.py folder /data/lines

| with DStreams | in a job of the catalogue |
|---|---|
| counts of one batch, gone with it | counts of all that came, in a state that outlives the driver: `word_count` |
| `textFileStream` sees files that come while it runs | `source.files` reads each file once, those of an outage too: `files_etl` |
| `socketTextStream` can't read a line twice: a crash loses it | a topic, from which a batch is read again |
| `queueStream` for tests | functions from frame to frame, tested on batch frames |
| a static side, read once at the start | a static frame, or one read anew in each batch: `fraud_alerts` |
| a join of what arrived in the same seconds | a join by event time with a watermark: `clicks_purchases`, `ad_impressions` |
| a checkpoint that holds the code, and refuses changed code | a checkpoint that holds positions and state alone |
| `spark.streaming.backpressure.enabled` | `maxOffsetsPerTrigger` |
| `spark.streaming.stopGracefullyOnShutdown` | `streamops stop` |
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.streaming import DStream, StreamingContext

    Counted = tuple[str, int]
    Joined = tuple[str, tuple[str, str]]

BATCH_SECONDS = 2


def word_counts(lines: "DStream[str]") -> "DStream[Counted]":
    """How often each word comes in one batch, in lower case; a word is what stands between blanks."""
    words = lines.flatMap(lambda line: line.lower().split())
    return words.map(lambda word: (word, 1)).reduceByKey(lambda one, other: one + other)


def counts_of_known(
    counts: "DStream[Counted]", kinds: "RDD[tuple[str, str]]"
) -> "DStream[tuple[str, tuple[int, str]]]":
    """A static join: counted words that are on a list, with what the list says of them."""
    return counts.transform(lambda counted: counted.join(kinds))


def visits_of_impressions(
    impressions: "DStream[tuple[str, str]]", visits: "DStream[tuple[str, str]]", seconds: int
) -> "DStream[Joined]":
    """A join of two streams by ad: pairs of which both sides arrived within the last `seconds`.

    Each batch gives all pairs of its window, so that a pair comes again while the window holds both.
    """
    return impressions.window(seconds, BATCH_SECONDS).join(visits.window(seconds, BATCH_SECONDS))


def main(argv: Sequence[str]) -> int:
    """Count words until somebody stops it."""
    arguments = _arguments(argv)
    from pyspark import SparkContext
    from pyspark.streaming import StreamingContext

    context = SparkContext.getOrCreate()
    streaming = StreamingContext(context, BATCH_SECONDS)
    word_counts(_lines(streaming, arguments)).pprint()
    streaming.start()
    streaming.awaitTermination()
    return 0


def _lines(streaming: "StreamingContext", arguments: argparse.Namespace) -> "DStream[str]":
    if arguments.source == "socket":
        return streaming.socketTextStream(arguments.host, arguments.port)
    return streaming.textFileStream(arguments.path)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dstream_word_count", description="Count words, batch by batch.")
    sources = parser.add_subparsers(dest="source", required=True)
    socket = sources.add_parser("socket", help="lines that a server sends; needs two cores, one receives")
    socket.add_argument("host")
    socket.add_argument("port", type=int)
    folder = sources.add_parser("folder", help="lines of text files that are moved into a folder while it runs")
    folder.add_argument("path")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
