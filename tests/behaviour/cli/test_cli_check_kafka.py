"""`streamops check --kafka`: whether what the next start reads is still there, for any checkpoint."""

import pytest

from streamops.storage import join
from support.checkpoints import commit, metadata, offsets
from support.terminal import Terminal


@pytest.fixture
def checkpoint(terminal: Terminal, tmp_path) -> str:
    """Nobody has declared it; its query goes on at 150 in `orders-0`."""
    address = f"file://{tmp_path.resolve()}/elsewhere"
    terminal.storage.write(join(address, "metadata"), metadata())
    for batch, text in enumerate(('{"orders":{"0":100}}', '{"orders":{"0":150}}')):
        terminal.storage.write(join(address, "offsets", str(batch)), offsets(text))
        terminal.storage.write(join(address, "commits", str(batch)), commit())
    return address


def check(terminal: Terminal, checkpoint: str, *options: str):
    return terminal.run("check", checkpoint, "--kafka", "broker:9092", *options)


def test_everything_is_there(terminal: Terminal, checkpoint: str) -> None:
    terminal.broker.has("orders", (0, 450))

    answer = check(terminal, checkpoint)

    assert answer.code == 0
    assert "A start with Spark 4.2 is safe: batch 1 is committed: batch 2 is planned next." in answer.out


def test_lost_records_are_critical_with_their_range_and_the_error(terminal: Terminal, checkpoint: str) -> None:
    terminal.broker.has("orders", (400, 450))

    answer = check(terminal, checkpoint, "--json")

    restart, (finding,) = answer.document["restart"], answer.document["findings"]
    assert (answer.code, answer.document["verdict"]) == (4, "critical")
    assert (restart["safety"], restart["expected_error"]) == ("futile", "Could not read records in offset")
    assert (finding["rule"], finding["severity"]) == ("lost-kafka-records", "critical")
    assert finding["evidence"] == "orders-0: 250 offsets [150, 400) that are needed are deleted"


def test_an_end_below_the_offset_counts_at_the_second_look(terminal: Terminal, checkpoint: str) -> None:
    terminal.broker.has("orders", (0, 20))

    answer = check(terminal, checkpoint, "--json")

    assert [finding["rule"] for finding in answer.document["findings"]] == ["kafka-topic-reset"]
    assert len(terminal.broker.scans) == 2


def test_a_topic_that_is_gone(terminal: Terminal, checkpoint: str) -> None:
    terminal.broker.trouble = ""

    answer = check(terminal, checkpoint, "--json")

    assert [finding["rule"] for finding in answer.document["findings"]] == ["kafka-partitions-gone"]
    assert answer.document["restart"]["expected_error"] == "UnknownTopicOrPartitionException"


def test_a_broker_that_is_away_makes_it_unknown_and_no_start_futile(terminal: Terminal, checkpoint: str) -> None:
    answer = check(terminal, checkpoint, "--json")

    assert (answer.code, answer.document["verdict"]) == (4, "unknown")
    assert answer.document["restart"]["safety"] == "safe"
    assert [finding["rule"] for finding in answer.document["findings"]] == ["unread-kafka"]


def test_damage_of_the_checkpoint_is_still_told_first(terminal: Terminal, checkpoint: str) -> None:
    terminal.storage.write(join(checkpoint, "commits", "1"), b"")
    terminal.broker.has("orders", (400, 450))

    answer = check(terminal, checkpoint, "--json")

    assert answer.document["restart"]["expected_error"] == "Incomplete log file in the offset commit log"
    assert [finding["rule"] for finding in answer.document["findings"]] == [
        "unreadable-last-commit",
        "lost-kafka-records",
    ]


@pytest.mark.parametrize("rule", ["lost-kafka-records", "kafka-topic-reset", "kafka-partitions-gone", "unread-kafka"])
def test_each_rule_can_be_explained(terminal: Terminal, rule: str) -> None:
    answer = terminal.run("check", "--explain", rule)

    assert answer.code == 0
    assert answer.out.startswith(f"{rule}: ")


@pytest.fixture
def in_flight(terminal: Terminal, checkpoint: str) -> str:
    """Batch 1 broke off, and then the topic got a second partition."""
    terminal.storage.delete(join(checkpoint, "commits", "1"))
    terminal.broker.has("orders", (0, 450), (0, 7))
    return checkpoint


@pytest.mark.parametrize(
    ("options", "code", "severity", "safety"),
    [
        pytest.param(["--spark-version", "4.0.1", "--available-now", "yes"], 4, "critical", "futile", id="each time"),
        pytest.param(
            ["--spark-version", "4.0.1"],
            3,
            "warning",
            "safe-if-idempotent",
            id="if that is the trigger, which nobody said",
        ),
        pytest.param(
            ["--spark-version", "4.0", "--available-now", "yes"],
            3,
            "warning",
            "safe-if-idempotent",
            id="if that is the patch release, which nobody said",
        ),
    ],
)
def test_partitions_that_a_batch_in_flight_was_not_planned_for(
    terminal: Terminal, in_flight: str, options: list[str], code: int, severity: str, safety: str
) -> None:
    answer = check(terminal, in_flight, *options, "--sink-idempotent", "yes", "--json")

    (finding,) = [one for one in answer.document["findings"] if one["rule"] == "changed-kafka-partitions"]
    assert (answer.code, answer.document["restart"]["safety"]) == (code, safety)
    assert (finding["severity"], finding["file"]) == (severity, "offsets/1")
    assert finding["evidence"] == "orders-1: no batch has read it yet: the next start begins it at 0"
    assert "finish that batch with another trigger" in finding["repair"]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--available-now", "yes"], id="the pinned Spark goes on"),
        pytest.param(["--spark-version", "4.0.1", "--available-now", "no"], id="other triggers do, too"),
    ],
)
def test_otherwise_they_are_nothing_to_it(terminal: Terminal, in_flight: str, options: list[str]) -> None:
    answer = check(terminal, in_flight, *options, "--sink-idempotent", "yes", "--json")

    assert "changed-kafka-partitions" not in [finding["rule"] for finding in answer.document["findings"]]
    assert answer.document["restart"]["safety"] == "safe-if-idempotent"
