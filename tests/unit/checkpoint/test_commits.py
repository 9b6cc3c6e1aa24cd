"""The commit log's text: what Spark reads, and what stops it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.commits import check_commit
from streamops.errors import CheckpointError
from support.checkpoints import commit

ADDRESS = "commits/4"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(commit(), id="as Spark writes it"),
        pytest.param(commit("v2", '{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["u"]]}}'), id="with state ids"),
        pytest.param(commit("v3", '{"sinkMetadataMap":{}}'), id="with sink metadata"),
        pytest.param(b"v1", id="P8k version only"),
        pytest.param(b"v1\n{}", id="P8l empty object"),
        pytest.param(commit() + b"\n", id="trailing newline"),
    ],
)
def test_what_spark_reads_is_fine(content):
    check_commit(content, address=ADDRESS)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        pytest.param(b"", "is empty", id="P7c 0 bytes"),
        pytest.param(b" \n", "is empty", id="blank"),
        pytest.param(b'v1\n{"nextBatch', "line 2", id="P8j cut"),
        pytest.param(b"v9\n{}", "line 1.*'v9'.*supported: v1, v2, v3", id="a newer version"),
        pytest.param(b"{}", "line 1", id="no version"),
    ],
)
def test_what_stops_spark_is_an_error_with_file_and_line(content, where):
    with pytest.raises(CheckpointError, match=f"{ADDRESS}.*{where}"):
        check_commit(content, address=ADDRESS)


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_worse_than_that(content):
    with suppress(CheckpointError):
        check_commit(content, address=ADDRESS)
