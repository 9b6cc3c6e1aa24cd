"""What a job may ask of its context, without Spark."""

import pytest

from streamops.control.assignment import DeltaInput, FilesInput, KafkaInput
from streamops.errors import SettingsError
from streamops.spark.context import StreamContext
from support.assignments import an_assignment

KAFKA = KafkaInput(bootstrap_servers="b:9092", topics=("orders",))
DELTA = DeltaInput(table="file:///data/raw")
FILES = FilesInput(path="file:///in", format="text", schema="")


@pytest.mark.parametrize(
    ("declared", "asked", "told"),
    [
        pytest.param(KAFKA, "from_delta", "declared with source.kafka, and its job calls from_delta", id="delta"),
        pytest.param(DELTA, "from_kafka", "declare source.kafka, or let the job call from_delta", id="kafka"),
        pytest.param(DELTA, "from_files", "declare source.files, or let the job call from_delta", id="files"),
        pytest.param(FILES, "from_kafka", "declared with source.files, and its job calls from_kafka", id="of files"),
    ],
)
def test_a_job_that_asks_for_another_source_is_told_both(declared, asked, told):
    context = StreamContext(an_assignment(source=declared))

    with pytest.raises(SettingsError, match=told):
        getattr(context, asked)(None)
