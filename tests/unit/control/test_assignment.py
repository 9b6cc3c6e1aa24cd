"""What a driver reads out of its claim."""

import json
from dataclasses import replace

import pytest

from streamops.control.assignment import DeltaInput, FilesInput, KafkaInput, assignment_of
from streamops.control.records import Claimed, ClaimMode
from streamops.errors import ControlLogError
from streamops.spec import DeltaTableSource, FileFormat, FilesSource, KafkaSource
from streamops.spec.wire import spec_text
from support.records import a_claim
from support.specs import a_stream

SOURCES = {
    "kafka": (
        KafkaSource(bootstrap_servers="b:9092", topics=("orders",), options=(("a", "1"),)),
        KafkaInput(bootstrap_servers="b:9092", topics=("orders",), options=(("a", "1"),)),
    ),
    "delta": (
        DeltaTableSource(table="file:///data/raw", options=(("startingVersion", "3"),)),
        DeltaInput(table="file:///data/raw", options=(("startingVersion", "3"),)),
    ),
    "files": (
        FilesSource(path="file:///in", format=FileFormat.CSV, schema="id INT", options=(("latestFirst", "true"),)),
        FilesInput(path="file:///in", format="csv", schema="id INT", options=(("latestFirst", "true"),)),
    ),
}


def a_claim_of(text: str) -> Claimed:
    return replace(a_claim(), mode=ClaimMode.LIVE, spec=text)


@pytest.mark.parametrize(("declared", "told"), SOURCES.values(), ids=SOURCES)
def test_a_driver_is_told_the_source_that_is_declared(declared, told):
    assert assignment_of(a_claim_of(spec_text(a_stream(source=declared)))).source == told


def test_a_claim_of_a_release_that_knew_kafka_only_is_read():
    fields = json.loads(spec_text(a_stream()))
    fields["source"] = {
        "bootstrap_servers": "b:9092",
        "connection": "",
        "options": [["startingOffsets", "earliest"]],
        "tolerated_outage": 0.0,
        "topics": ["orders"],
    }

    source = assignment_of(a_claim_of(json.dumps(fields))).source

    assert source == KafkaInput(
        bootstrap_servers="b:9092", topics=("orders",), options=(("startingOffsets", "earliest"),)
    )


def test_a_kafka_source_is_written_as_releases_before_read_it():
    assert "kind" not in json.loads(spec_text(a_stream()))["source"]


@pytest.mark.parametrize("source", [{"kind": "socket", "options": []}, {"kind": "delta", "options": []}, [], "kafka"])
def test_a_source_that_is_not_understood_is_an_error_that_says_what_to_do(source):
    fields = {**json.loads(spec_text(a_stream())), "source": source}

    with pytest.raises(ControlLogError, match="must run the same streamops"):
        assignment_of(a_claim_of(json.dumps(fields)))
