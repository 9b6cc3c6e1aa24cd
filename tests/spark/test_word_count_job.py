"""J2's functions on batch frames: what a word is, and which records are no lines."""

import pytest

from support.job_frames import kafka_records, load_job

pytestmark = pytest.mark.spark

JOB = load_job("word_count")


@pytest.fixture
def counts(spark):
    """The counts of the words in these values."""

    def run(*values: bytes | None) -> dict[str, int]:
        return dict(map(tuple, JOB.word_counts(JOB.lines(kafka_records(spark, "words", values))).collect()))

    return run


def test_words_are_counted_over_all_lines_whatever_their_case(counts):
    assert counts(b"Ana saw ben", b"ANA saw") == {"ana": 2, "saw": 2, "ben": 1}


def test_blanks_around_words_are_none(counts):
    assert counts(b"  ana \t ben\n") == {"ana": 1, "ben": 1}


def test_a_line_without_words_counts_nothing(counts):
    assert counts(b"", b"   ") == {}


def test_what_is_no_text_is_not_counted(counts):
    assert counts(None, b"ana \xff", b"ben") == {"ben": 1}


def test_every_record_is_a_line_or_a_dead_letter_with_its_reason(spark):
    read = JOB.lines(kafka_records(spark, "words", [b"ana", b"", None, b"ana \xff"]))

    assert [row.reason for row in read.orderBy("offset").collect()] == [
        None,
        None,
        "the record is empty",
        "the record is not valid UTF-8",
    ]
