"""Reports about Kafka, Event Hubs and Delta sources that end in an error: what each is worth."""

from datetime import timedelta

import pytest

from streamops.control.records import Outcome
from streamops.control.state import Failure
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import RestartPolicy, advise_restart
from support.clock import START


def verdict(text):
    found = classify(DriverEvidence(outcome=Outcome.FAILED, text=text))
    return found.failure_class, found.remedy


GUARDS = {
    "mismatched": "[MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED] Kafka data source in Trigger.AvailableNow"
    " should provide the same topic partitions in pre-fetched offset to end offset for each microbatch.",
    "greater": "[END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED] For Kafka data source with"
    " Trigger.AvailableNow, end offset should have lower or equal offset per each topic partition than pre-fetched offset.",
    "lost": "[LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW] Some of partitions in Kafka topic(s) have been"
    " lost during running query with Trigger.AvailableNow.",
    "put-back": "[END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW] Some of partitions"
    " in Kafka topic(s) report available offset which is less than end offset during running query with Trigger.AvailableNow.",
}
ADVICE = " The error could be transient - restart your query, and report if you still see the same issue."


@pytest.mark.fault("B38")
@pytest.mark.parametrize("has_class", [True, False], ids=["with its class", "as it was seen"])
@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_of_available_now_is_tried_again_twice_and_then_parked(guard, has_class):
    """SPARK-41387: its text calls it transient; whether the topic was reset, the coverage before the next start tells.

    Real Spark, 4.0.1 and 4.2.0, says it without the error class; an exit record may name it.
    """
    text = GUARDS[guard] + ADVICE if has_class else GUARDS[guard].partition("] ")[2] + ADVICE
    failure_class, remedy = verdict(f"[STREAM_FAILED] Query terminated with exception: {text}")

    assert (failure_class, remedy) == (FailureClass.TRANSIENT, Remedy.RETRY_FEW)
    assert [timing_after(times, failure_class, remedy) for times in (1, 2, 3)] == ["now", "now", "park"]


def timing_after(times, failure_class, remedy):
    """Long after so many equal failures in a row."""
    failures = [
        Failure(
            epoch=epoch,
            at=START,
            outcome=Outcome.FAILED,
            has_progressed=False,
            error_classes=(),
            failure_class=str(failure_class),
            remedy=str(remedy),
        )
        for epoch in range(1, times + 1)
    ]
    return advise_restart(failures, policy=RestartPolicy(), now=START + timedelta(minutes=30)).timing


@pytest.mark.fault("B42")
@pytest.mark.parametrize(
    "text",
    [
        "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed",
        "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]",
        "token (HDFS_DELEGATION_TOKEN token 5 for ana) is expired",
    ],
)
def test_credentials_that_have_run_out_are_a_class_of_their_own(text):
    """SPARK-25501, SPARK-27002: after renewal a restart is right, and until then each one fails at once."""
    assert verdict(text) == (FailureClass.CREDENTIALS, Remedy.RETRY_FEW)


@pytest.mark.fault("B44")
def test_a_sequence_number_that_has_expired_is_lost_for_good():
    """Azure/azure-event-hubs-spark#462: each restart failed, and a new checkpoint lost more."""
    text = "request seqNo 52608085 is less than the received seqNo 52608090. The earliest seqNo is 52608090"

    assert verdict(text) == (FailureClass.DATA_LOSS, Remedy.NEVER)


@pytest.mark.fault("B61")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "[DELTA_SOURCE_TABLE_IGNORE_CHANGES] Detected a data update",
            (FailureClass.DATA_LOSS, Remedy.NEVER),
            id="an update in the source: a person decides",
        ),
        pytest.param(
            "[DELTA_SCHEMA_CHANGED_WITH_VERSION] Detected schema change in version 7",
            (FailureClass.SCHEMA_CHANGE, Remedy.RETRY_FEW),
            id="another schema: a new process reads it",
        ),
        pytest.param(
            "[DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART] The analyzed schema does not match",
            (FailureClass.SCHEMA_CHANGE, Remedy.RETRY_FEW),
            id="the same, by a later release",
        ),
        pytest.param(
            "java.io.FileNotFoundException: /t/_delta_log/00000000000000000017.json",
            (FailureClass.UNKNOWN, Remedy.RETRY_FEW),
            id="a stale cache: a new process is right",
        ),
    ],
)
def test_a_delta_source_stops_for_reasons_of_three_kinds(text, expected):
    """delta-io/delta#693, delta-io/delta#2590, delta-io/delta#5032."""
    assert verdict(text) == expected
