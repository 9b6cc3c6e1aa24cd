"""Columns of a file source: what Spark takes passes, what it refuses is named."""

import pytest

from streamops.settings.resolve_places import refused_ddl


@pytest.mark.parametrize(
    "ddl",
    [
        "id BIGINT, amount DOUBLE",
        "a DECIMAL(38,38), b DEC, c numeric(10)",
        "a STRUCT<b: ARRAY<INT>, c MAP<STRING, DECIMAL(3,1)> NOT NULL COMMENT 'it''s'>",
        '`a-b` INT NOT NULL COMMENT "x, y"',
        "select INT, from STRING, struct STRING, 1a INT",
        "a TIMESTAMP WITHOUT TIME ZONE, b INTERVAL DAY TO SECOND, c STRING COLLATE UTF8_LCASE",
        "a INT -- the first\n, b /* the second */ INT",
    ],
)
def test_what_spark_takes_passes(ddl):
    assert refused_ddl(ddl) == ""


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        pytest.param("a BOOL", "'BOOL' is none, did you mean BOOLEAN", id="a type of another system"),
        pytest.param("a INT b STRING", "not understood from 'b STRING' on", id="no comma"),
        pytest.param("a INT,", "breaks off after 'a INT,'", id="a comma at the end"),
        pytest.param("a: INT", "not understood from ': INT' on", id="a colon outside of a struct"),
        pytest.param("a ARRAY<INT", "breaks off", id="a bracket left open"),
        pytest.param("a", "breaks off", id="no type"),
        pytest.param("a-b INT", "not understood from '-b INT' on", id="a name that needs quotes"),
        pytest.param("a DECIMAL(40,2)", "at most 38 digits", id="too many digits"),
        pytest.param("a ARRAY<DECIMAL(4,5)>", "found 5 of 4", id="more behind the point than in all"),
        pytest.param("a VARCHAR(10)", "STRING", id="varchar"),
        pytest.param("a TIME(7)", "at most 6 digits", id="time"),
        pytest.param("a INTERVAL MONTH TO YEAR", "found MONTH TO YEAR", id="units the wrong way round"),
        pytest.param("a INTERVAL", "no file holds", id="a bare interval"),
        pytest.param("a INT, A STRING", "found a 2 times", id="a column twice"),
        pytest.param("a STRUCT<b: INT, `b` INT>", "found b 2 times", id="a field twice"),
    ],
)
def test_what_spark_refuses_is_named(ddl, expected):
    assert expected in refused_ddl(ddl)


def test_columns_of_csv_hold_plain_values():
    assert refused_ddl("a INT, b DECIMAL(3,1)", nests=False) == ""
    assert "found ARRAY" in refused_ddl("a ARRAY<INT>", nests=False)
