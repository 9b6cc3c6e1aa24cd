"""Reading a query's failure."""

import pytest

from streamops.control.records import Outcome
from streamops.control.texts import CLASS_LIMIT, CLASSES_KEPT, FAILURE_LIMIT
from streamops.spark.failure import error_classes, exit_record

FOREACH_BATCH = """\
Traceback (most recent call last):
  File "runner.py", line 1, in run
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 7b, runId = 0c] terminated with \
exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. \
SQLSTATE: 39000
JVM stacktrace:
org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated
Caused by: org.apache.spark.SparkException: [INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS] Cannot write
Caused by: java.io.IOException: disk full
Caused by: java.lang.OutOfMemoryError: Java heap space
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", (), id="no text"),
        pytest.param("all is lost", (), id="no class in it"),
        pytest.param("[STREAM_FAILED] Query", ("STREAM_FAILED",), id="one"),
        pytest.param(
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column",
            ("UNRESOLVED_COLUMN.WITH_SUGGESTION",),
            id="a class with a subclass",
        ),
        pytest.param(
            "java.io.IOException: [STREAM_FAILED] x", ("STREAM_FAILED", "java.io.IOException"), id="Spark's come first"
        ),
        pytest.param("[STREAM_FAILED] [STREAM_FAILED]", ("STREAM_FAILED",), id="each once"),
        pytest.param("[id = 7b] [INFO] [AB1]", ("INFO",), id="what is too short is no class"),
        pytest.param("at org.apache.spark.sql.Dataset.collect(Dataset.scala)", (), id="a frame is no exception"),
        pytest.param("java.lang.StackOverflowError", ("java.lang.StackOverflowError",), id="an error of the JVM"),
    ],
)
def test_every_class_in_the_text_is_found(text, expected):
    assert error_classes(text) == expected


def test_a_failure_inside_foreach_batch_keeps_its_cause():
    """The outermost class says only that the stream failed."""
    assert error_classes(FOREACH_BATCH) == (
        "STREAM_FAILED",
        "FOREACH_BATCH_USER_FUNCTION_ERROR",
        "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
        "pyspark.errors.exceptions.captured.StreamingQueryException",
        "org.apache.spark.sql.streaming.StreamingQueryException",
        "org.apache.spark.SparkException",
        "java.io.IOException",
        "java.lang.OutOfMemoryError",
    )


def test_an_exit_record_holds_the_classes_even_of_the_part_that_is_cut_out():
    text = "[STREAM_FAILED]" + "x" * FAILURE_LIMIT + "[DIVIDE_BY_ZERO]" + "x" * FAILURE_LIMIT

    record = exit_record(epoch=3, instance="0a0a0a0a", outcome=Outcome.FAILED, at="now", text=text, batch=7)

    assert record.error_classes == ("STREAM_FAILED", "DIVIDE_BY_ZERO")
    assert "DIVIDE_BY_ZERO" not in record.text
    assert (record.epoch, record.instance, record.batch) == (3, "0a0a0a0a", 7)


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.FINISHED, Outcome.LEASE_LOST])
def test_only_a_failure_has_error_classes(outcome):
    """The reason of a stop is a person's text, and may hold anything."""
    record = exit_record(epoch=1, instance="0a0a0a0a", outcome=outcome, at="now", text="[STREAM_FAILED] seen", batch=0)

    assert record.error_classes == ()
    assert record.text == "[STREAM_FAILED] seen"


def a_failure(text):
    return exit_record(epoch=1, instance="0a0a0a0a", outcome=Outcome.FAILED, at="now", text=text, batch=0)


def test_a_text_that_repeats_a_bad_record_yields_few_classes_and_keeps_the_first_and_the_last():
    """Six megabytes of distinct words in brackets, as a message of an application may hold them."""
    words = "".join(f"[WORD_{number}] " for number in range(400_000))

    record = a_failure(f"[STREAM_FAILED] {words}[DIVIDE_BY_ZERO] java.lang.ArithmeticException: / by zero")

    assert len(record.error_classes) <= CLASSES_KEPT
    assert record.error_classes[0] == "STREAM_FAILED"
    assert {"DIVIDE_BY_ZERO", "java.lang.ArithmeticException"} <= set(record.error_classes)


def test_a_class_as_long_as_a_book_is_cut():
    assert [len(name) for name in a_failure(f"[{'A' * 100_000}]").error_classes] == [CLASS_LIMIT]


def test_an_endless_line_of_dots_is_searched_in_linear_time():
    """Unbounded, the pattern of Java's classes would take hours for it."""
    assert a_failure("a." * 500_000).error_classes == ()
