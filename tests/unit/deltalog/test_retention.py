"""What a table's properties say of how long it keeps things."""

from datetime import timedelta

import pytest

from streamops.deltalog import TableRetention
from streamops.deltalog.table import interval, retention_of


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("interval 30 days", timedelta(days=30)),
        ("interval 1 week", timedelta(weeks=1)),
        ("INTERVAL 36 HOURS", timedelta(hours=36)),
        ("1 day 2 hours 5 minutes", timedelta(hours=26, minutes=5)),
        ("interval 0 hours", timedelta(0)),
        ("interval 2 days -1 hours", timedelta(hours=47)),
        ("interval 1500 milliseconds", timedelta(seconds=1.5)),
        pytest.param("interval 1 month", None, id="of no fixed length: Delta refuses it, too"),
        pytest.param("interval -1 days", None, id="before it was written"),
        pytest.param("interval 999999999999 weeks", None, id="longer than a calendar"),
        pytest.param("30d", None, id="another language"),
        pytest.param("interval 30 days or so", None, id="words behind it"),
        pytest.param("interval", None, id="nothing said"),
        pytest.param("", None, id="empty"),
    ],
)
def test_an_interval(text, length):
    assert interval(text) == length


def test_a_table_that_says_nothing_keeps_what_delta_keeps():
    assert retention_of({}) == TableRetention(log=timedelta(days=30), cleans_log=True, deleted_files=timedelta(days=7))


def test_what_a_table_says_itself():
    properties = {
        "delta.logRetentionDuration": "interval 3 days",
        "delta.deletedFileRetentionDuration": "interval 1 month",
        "delta.enableExpiredLogCleanup": "FALSE",
    }

    assert retention_of(properties) == TableRetention(log=timedelta(days=3), cleans_log=False, deleted_files=None)
