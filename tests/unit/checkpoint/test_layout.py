"""What all files of a checkpoint have in common: which names count, and texts that mean harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.layout import batch_id, json_value, lines_of, long_or_none, quoted


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("7\n", None, id="a line end is no digit"),
        pytest.param(" 7", None, id="nor is a space"),
        pytest.param("0" * 60 + "4", 4, id="any number of zeros"),
        pytest.param("٣", 3, id="Java reads digits of other scripts"),
        pytest.param("７", 7, id="full-width ones too"),
        pytest.param("𝟘", None, id="but none beyond the first plane"),
        pytest.param("9" * 5000, None, id="more digits than Python converts"),
        pytest.param(str(2**63 - 1), 2**63 - 1, id="the largest long"),
        pytest.param(str(2**63), None, id="one more"),
        pytest.param(str(-(2**63)), -(2**63), id="the smallest long"),
    ],
)
def test_a_name_counts_as_a_batch_where_java_parses_a_long(name, expected):
    """The rows were tried on Long.parseLong of Java 17."""
    assert batch_id(name) == expected


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_is_the_name_of_its_batch(batch):
    assert batch_id(str(batch)) == batch


@given(st.text() | st.from_regex(r"[+-]?\d{0,30}\s?", fullmatch=True))
def test_any_name_is_a_long_or_none(name):
    batch = batch_id(name)

    assert batch is None or -(2**63) <= batch < 2**63


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"v1\n{}", ["v1", "{}"], id="as Spark writes it"),
        pytest.param(b"v1\n{}\n", ["v1", "{}"], id="a trailing newline"),
        pytest.param(b"v1\r\n{}\r\n", ["v1", "{}"], id="line ends of another system"),
        pytest.param(b"v1\n\n7", ["v1", "", "7"], id="a blank line in between"),
    ],
)
def test_lines_are_those_that_scala_reads(content, expected):
    assert lines_of(content) == expected


def test_bytes_that_are_no_text_are_refused_as_scala_refuses_them():
    """`Input length = 1`, a MalformedInputException, wherever they stand."""
    with pytest.raises(ValueError, match="byte 6 is no UTF-8"):
        lines_of(b"v1\n{}\xff\n-")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "column 1", id="nothing"),
        pytest.param('{"a":1', "column", id="cut"),
        pytest.param('{"a":NaN}', "NaN", id="not a number"),
        pytest.param('{"a":-Infinity}', "Infinity", id="endless"),
        pytest.param('{"a":1,"a":2}', "twice", id="a key twice"),
        pytest.param('{"a":"\t"}', "column", id="a control character"),
        pytest.param('{"a":"\x00"}', "column", id="a NUL"),
        pytest.param("[" * 100_000, "deep", id="deep and cut"),
        pytest.param("[" * 100_000 + "]" * 100_000, "deep", id="deep and whole"),
    ],
)
def test_what_spark_refuses_as_json_is_an_error_in_a_few_words(text, why):
    """Tried on CommitMetadata and OffsetSeqMetadata of Spark 4.2.0."""
    with pytest.raises(ValueError, match=why) as caught:
        json_value(text)
    assert len(str(caught.value)) < 80


@pytest.mark.parametrize("text", ["NaN", '{"a":1,"a":2}', "-Infinity"])
def test_a_source_may_write_what_spark_itself_would_not(text):
    json_value(text, is_spark_own=False)


@pytest.mark.parametrize(
    "number", [2**63, -(2**63) - 1, 10**5000 - 1], ids=["just too large", "just too small", "huge"]
)
def test_a_number_beyond_a_long_is_no_damage_and_no_integer(number):
    digits = "9" * 5000 if number > 2**64 else str(number)

    assert isinstance(json_value(digits), float)
    assert long_or_none(json_value(digits)) is None


@given(st.text())
def test_a_quoted_text_is_short_and_printable(text):
    shown = quoted(text)

    assert shown.isprintable()
    assert len(shown) <= 41


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "\u202egnp.exe", "\ud800", "\x00"])
def test_no_quoted_text_moves_a_cursor(text):
    assert quoted(text).isprintable()
    assert quoted(text).encode()


def test_a_short_text_is_quoted_whole():
    assert quoted("v99") == "'v99'"
