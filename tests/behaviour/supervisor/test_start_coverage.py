"""A start is not made where Kafka no longer has what it would read, and is made where Kafka only does not answer."""

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from streamops.control.layout import companion_checkpoint, control_folder
from streamops.control.records import TopicSeen
from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.retention.coverage_history import write_past
from streamops.retention.past import CoveragePast
from streamops.storage import join
from streamops.supervision.decision import Action
from support.checkpoints import OTHER_QUERY_ID, QUERY_ID, commit, metadata, offsets
from support.clock import START
from support.settings import a_project
from support.terminal import Terminal


@pytest.fixture
def terminal(tmp_path, capsys):
    """A stream of ours that was stopped after batch 1; it goes on at 150 in `orders-0`."""
    terminal = Terminal(a_project(tmp_path), capsys)
    terminal.declare("orders")
    terminal.started(batch=1)
    checkpoint = terminal.spec().checkpoint
    terminal.storage.write(join(checkpoint, "metadata"), metadata())
    for batch, text in enumerate(('{"orders":{"0":100}}', '{"orders":{"0":150}}')):
        terminal.storage.write(join(checkpoint, "offsets", str(batch)), offsets(text))
        terminal.storage.write(join(checkpoint, "commits", str(batch)), commit())
    terminal.obey()
    return terminal


def declare(terminal: Terminal, *, fails: bool) -> None:
    options: dict[str, Any] = {} if fails else {"options": {"failOnDataLoss": "false"}}
    terminal.declare("orders", source={"kafka": options})


def plan(terminal: Terminal) -> tuple[int, dict[str, Any]]:
    answer = terminal.run("plan", "orders", "--json")
    return answer.code, answer.document["plan"]


def test_records_that_are_gone_make_a_start_futile(terminal):
    terminal.broker.has("orders", (400, 450))

    decision = terminal.settle()
    code, told = plan(terminal)

    assert decision.action is Action.PARKED
    assert "a start now is futile: orders-0: 250 offsets [150, 400) that are needed are deleted" in decision.reason
    assert "release the stream with --accept-expired" in decision.reason
    assert terminal.kinds()[-1] == "parked"
    assert (code, told["safety"], told["expected_error"]) == (4, "futile", "Could not read records in offset")


def test_without_fail_on_data_loss_it_would_lose_them_in_silence(terminal):
    declare(terminal, fails=False)
    terminal.broker.has("orders", (400, 450))

    code, told = plan(terminal)

    assert (code, told["safety"], told["expected_error"]) == (4, "unsafe", "")
    assert told["summary"] == (
        "orders-0: 250 offsets [150, 400) that are needed are deleted: it goes on without them, and no error tells"
    )


def test_a_person_may_accept_the_loss(terminal):
    declare(terminal, fails=False)
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    terminal.run("release", "orders", "--accept-unsafe", "--reason", "replayed from the archive", "--yes")

    terminal.settle()

    assert terminal.newest().number == 2


ACCEPT_EXPIRED = ("release", "orders", "--accept-expired", "--reason", "replayed from the archive", "--yes")


def given_options(terminal: Terminal) -> dict[str, str]:
    """Of the source, as the newest driver was given them."""
    return dict(json.loads(terminal.newest().claim.spec)["source"]["options"])


def test_a_person_may_accept_the_loss_of_expired_records_for_one_start_alone(terminal):
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    told = terminal.run(*ACCEPT_EXPIRED)
    assert "passes over what is gone: orders-0: 250 offsets [150, 400)" in told.err

    terminal.settle()

    assert terminal.newest().number == 2
    assert given_options(terminal)["failOnDataLoss"] == "false"
    assert terminal.spec().fails_on_data_loss
    terminal.beat()
    (status,) = terminal.run("status", "orders", "--json").document["streams"]
    assert status["is_declared_differently"]

    terminal.fail()
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=1))
    decision = terminal.settle()

    assert terminal.newest().number == 2
    assert decision.action is Action.PARKED
    assert "that are needed are deleted" in decision.reason


def after_an_accepted_loss(terminal: Terminal) -> None:
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    terminal.run(*ACCEPT_EXPIRED)
    terminal.settle()
    goes_on(terminal)


def goes_on(terminal: Terminal) -> None:
    checkpoint = terminal.spec().checkpoint
    terminal.storage.write(join(checkpoint, "offsets", "2"), offsets('{"orders":{"0":450}}'))
    terminal.storage.write(join(checkpoint, "commits", "2"), commit())
    terminal.beat()


def test_what_was_given_up_is_told_until_somebody_acknowledges_it(terminal):
    after_an_accepted_loss(terminal)

    status = terminal.run("status", "orders")
    (told,) = terminal.run("status", "orders", "--json").document["streams"]
    found = terminal.run("reconcile", "--json").document["findings"]

    assert status.code == 3
    assert "epoch 2 at 2026" in status.out
    assert "250 Kafka offsets passed over" in status.out
    assert "streamops acknowledge orders" in status.out
    assert [(one["epoch"], one["given_up"]) for one in told["unsafe_starts"]] == [(2, 250)]
    assert [one["severity"] for one in found if one["kind"] == "unsafe-start"] == ["warning"]
    assert "250 Kafka offsets passed over" in terminal.run("explain", "orders").out

    answer = terminal.run("acknowledge", "orders", "--reason", "the archive has them", "--yes")

    assert (answer.code, terminal.kinds()[-1]) == (0, "acknowledged")
    assert terminal.run("status", "orders").code == 0
    assert "unsafe-start" not in terminal.run("reconcile").out
    history = terminal.run("history", "orders").out
    assert "start of epoch 2, unsafe start accepted, 250 Kafka offsets passed over" in history
    assert "unsafe starts up to epoch 2 acknowledged" in history


def test_where_nothing_was_given_up_there_is_nothing_to_acknowledge(terminal):
    answer = terminal.run("acknowledge", "orders", "--reason", "why not", "--yes")

    assert answer.code == 0
    assert "nothing to do" in answer.out
    assert "acknowledged" not in terminal.kinds()


def test_an_acceptance_that_was_not_needed_is_no_unsafe_start(terminal):
    """What was in the way is mended before the start."""
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    terminal.run("release", "orders", "--accept-unsafe", "--reason", "we lose some", "--yes")
    terminal.broker.has("orders", (100, 450))
    terminal.settle()
    goes_on(terminal)

    assert terminal.newest().claim.accepts_unsafe
    assert not terminal.newest().claim.is_unsafe
    assert terminal.run("status", "orders").code == 0


def test_the_start_after_the_accepted_one_fails_on_a_loss_again(terminal):
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    terminal.run(*ACCEPT_EXPIRED)
    terminal.settle()
    checkpoint = terminal.spec().checkpoint
    terminal.storage.write(join(checkpoint, "offsets", "2"), offsets('{"orders":{"0":450}}'))
    terminal.storage.write(join(checkpoint, "commits", "2"), commit())
    terminal.beat(batch=2)
    terminal.run("restart", "orders", "--reason", "back to the declaration", "--yes", "--no-wait")
    terminal.obey()
    terminal.settle()

    assert terminal.newest().number == 3
    assert "failOnDataLoss" not in given_options(terminal)


@pytest.mark.parametrize(
    ("partition", "why"),
    [
        ((0, 450), "Kafka has deleted no records that are needed"),
        ((0, 20), "not only deleted records are in the way: orders-0: it ends at 20"),
    ],
)
def test_nothing_but_expired_records_is_accepted_as_expired(terminal, partition, why):
    terminal.broker.has("orders", partition)
    terminal.settle()

    answer = terminal.run(*ACCEPT_EXPIRED)

    assert answer.code == 1
    assert why in answer.err
    assert terminal.kinds()[-1] != "released"


def test_whoever_accepts_expired_records_has_not_accepted_a_foreign_writer(terminal):
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    checkpoint = terminal.spec().checkpoint
    terminal.storage.write(join(checkpoint, "offsets", "2"), offsets('{"orders":{"0":160}}'))
    terminal.storage.write(join(checkpoint, "commits", "2"), commit())

    alone = terminal.run(*ACCEPT_EXPIRED)
    both = terminal.run(*ACCEPT_EXPIRED, "--accept-unsafe")

    assert alone.code == 1
    assert "a foreign writer was here" in alone.err
    assert "add --accept-unsafe" in alone.err
    assert both.code == 0


def test_what_was_accepted_stays_accepted_until_it_is_used(terminal):
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    terminal.run(*ACCEPT_EXPIRED)
    terminal.run("release", "orders", "--accept-unsafe", "--reason", "the rest, too", "--yes")

    terminal.settle()

    assert given_options(terminal)["failOnDataLoss"] == "false"


def test_an_end_below_the_offset_is_not_told_to_be_accepted_as_expired(terminal):
    terminal.broker.has("orders", (0, 20))

    reason = terminal.settle().reason

    assert "--accept-expired" not in reason
    assert 'set `failOnDataLoss: "false"`' in reason


def test_nothing_is_accepted_as_expired_while_kafka_does_not_answer(terminal):
    terminal.broker.has("orders", (400, 450))
    terminal.settle()
    terminal.broker.trouble = "away"

    answer = terminal.run(*ACCEPT_EXPIRED)

    assert answer.code == 1
    assert "Kafka did not say what it has deleted" in answer.err


def test_what_a_release_would_come_to_is_judged_with_what_it_accepts(terminal):
    terminal.broker.has("orders", (400, 450))
    terminal.settle()

    plain = terminal.run("release", "orders", "--reason", "why", "--dry-run")
    accepting = terminal.run(*ACCEPT_EXPIRED[:-1], "--dry-run")

    assert "a supervisor parks it again" in plain.out
    assert "a start now is unsafe: orders-0: 250 offsets" in accepting.out
    assert "a supervisor claims epoch 2" in accepting.out


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(lambda terminal: terminal.broker.has("orders", (0, 450)), id="everything is there"),
        pytest.param(lambda terminal: terminal.broker.has("orders", (150, 450), (0, 7)), id="and a new partition"),
        pytest.param(lambda terminal: None, id="the broker does not answer"),
    ],
)
def test_otherwise_it_is_started(terminal, arrange: Callable[[Terminal], None]):
    arrange(terminal)

    terminal.settle()

    assert terminal.newest().number == 2


def test_an_end_below_the_offset_is_asked_for_again_and_parks_when_it_stays(terminal):
    """In one go: each process has to come to the same, however short it lives."""
    terminal.broker.has("orders", (0, 20))

    decision = terminal.settle()

    assert decision.action is Action.PARKED
    assert "orders-0: it ends at 20, the query has reached 150;" in decision.reason
    assert terminal.clock.slept == [timedelta(seconds=3)]


def test_an_end_that_comes_back_is_no_reason_to_park(terminal):
    terminal.broker.has("orders", (0, 20))
    terminal.clock.on_sleep = lambda: terminal.broker.moves("orders", 0, latest=450)

    terminal.settle()

    assert terminal.newest().number == 2


def test_a_companion_without_a_batch_so_far_needs_nothing_of_an_old_topic(terminal):
    """Its driver died right after its first start: `metadata` is there, and no offsets."""
    companion = companion_checkpoint(terminal.spec().checkpoint, 0)
    terminal.storage.write(join(companion, "metadata"), metadata(OTHER_QUERY_ID))
    terminal.broker.has("orders", (120, 450))

    terminal.settle()

    assert terminal.newest().number == 2


def test_a_source_that_the_declaration_does_not_speak_of_keeps_nobody_from_starting(terminal):
    """A job may read another topic, of another cluster, with a reader of its own."""
    checkpoint = terminal.spec().checkpoint
    for batch in (0, 1):
        text = offsets(f'{{"orders":{{"0":{100 + 50 * batch}}}}}', '{"elsewhere":{"0":7}}')
        terminal.storage.write(join(checkpoint, "offsets", str(batch)), text)
    terminal.broker.has("orders", (0, 450))

    terminal.settle()

    assert terminal.newest().number == 2


def test_a_client_that_breaks_keeps_nobody_from_starting(terminal, monkeypatch):
    terminal.broker.has("orders", (0, 450))
    monkeypatch.setattr(terminal.broker, "scan", lambda topics: {}["no such thing"])

    terminal.settle()

    assert terminal.newest().number == 2


def test_a_restart_is_refused_while_the_living_driver_still_reads(terminal):
    """It has the offsets in memory; stopped, it could not go on."""
    terminal.broker.has("orders", (0, 450))
    terminal.settle()
    terminal.beat(batch=2)
    terminal.broker.has("orders", (400, 450))

    answer = terminal.run("restart", "orders", "--reason", "new job", "--yes", "--no-wait")

    assert answer.code == 1
    assert "a start on its checkpoint would be futile: orders-0: 250 offsets [150, 400)" in answer.err


def test_a_topic_that_was_created_anew_and_grew_past_the_offset_is_known_by_its_id(terminal):
    """Spark would go on in it and notice nothing; the rounds of retention coverage have kept the id."""
    terminal.broker.has("orders", (0, 450))
    checkpoint = terminal.spec().checkpoint
    past = CoveragePast().with_look({checkpoint: a_coverage()}, {"orders": "id-1"}, at=terminal.clock.now())
    write_past(terminal.storage, checkpoint, replace(past, topic_ids={"orders": "id-1"}, query_id=QUERY_ID))
    terminal.broker.topics["orders"] = replace(terminal.broker.topics["orders"], topic_id="id-2")

    code, told = plan(terminal)

    assert (code, told["safety"]) == (4, "unsafe")
    assert "the topic was created anew: its id was id-1, now it is id-2" in told["summary"]


def a_coverage() -> Coverage:
    one = PartitionCoverage(
        topic="orders", partition=0, standing=PartitionState.COVERED, start=150, earliest=0, latest=450
    )
    return Coverage(at=START, partitions=(one,))


# The ids that the control log remembers


def made_anew(terminal: Terminal, *ends: tuple[int, int], topic_id: str) -> None:
    """The topic is created (again): these ends, and another id."""
    terminal.broker.has("orders", *ends)
    terminal.broker.topics["orders"] = replace(terminal.broker.topics["orders"], topic_id=topic_id)


def run_and_die(terminal: Terminal) -> None:
    """A driver is started, beats and dies; the wait before the next one is over."""
    terminal.settle()
    terminal.beat(batch=1)
    terminal.launcher.end(terminal.launcher.drivers[-1])
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=30))


@pytest.fixture
def dead(terminal):
    """The second epoch has begun in topic id-1, and its driver is gone."""
    made_anew(terminal, (0, 450), topic_id="id-1")
    run_and_die(terminal)
    return terminal


def test_a_start_puts_the_topics_that_it_found_on_record(dead):
    assert dead.newest().claim.topics == (TopicSeen(topic="orders", id="id-1"),)


def test_before_the_first_batch_nothing_is_needed_and_no_cluster_is_waited_for(tmp_path, capsys):
    terminal = Terminal(a_project(tmp_path), capsys)
    terminal.declare("orders")
    made_anew(terminal, (20, 30), topic_id="id-1")

    terminal.settle()

    assert terminal.newest().claim.topics == ()
    assert terminal.broker.scans == []


def test_a_topic_that_was_made_anew_while_the_stream_was_dead_is_refused_though_nobody_kept_looks(dead):
    """It has grown past the offset already: nothing but the id tells, and no round of coverage has ever run."""
    made_anew(dead, (0, 900), topic_id="id-2")

    decision = dead.settle()

    assert "coverage.json" not in dead.storage.list(control_folder(dead.spec().checkpoint))
    assert decision.action is Action.PARKED
    assert "a start now is unsafe: orders-0: offset 150 is one of another topic" in decision.reason
    assert "its id was id-1, now it is id-2" in decision.reason


def test_lag_tells_it_too(dead):
    made_anew(dead, (0, 900), topic_id="id-2")

    answer = dead.run("lag", "orders")

    assert answer.code == 4
    assert "the topic was created anew: its id was id-1, now it is id-2" in answer.out


def test_the_log_goes_before_what_rounds_have_kept(dead):
    """A round that could not read the log may have taken over the new topic's id."""
    checkpoint = dead.spec().checkpoint
    write_past(dead.storage, checkpoint, CoveragePast(topic_ids={"orders": "id-2"}, query_id=QUERY_ID))
    made_anew(dead, (0, 900), topic_id="id-2")

    code, told = plan(dead)

    assert (code, told["safety"]) == (4, "unsafe")
    assert "its id was id-1, now it is id-2" in told["summary"]


def test_a_start_that_could_not_ask_keeps_what_is_on_record(dead):
    dead.broker.trouble = "away"
    run_and_die(dead)
    made_anew(dead, (0, 900), topic_id="id-2")

    decision = dead.settle()

    assert dead.newest().number == 3
    assert decision.action is Action.PARKED
    assert "its id was id-1, now it is id-2" in decision.reason


def test_an_accepted_start_puts_the_new_topic_on_record_and_the_next_one_is_quiet(dead):
    made_anew(dead, (0, 900), topic_id="id-2")
    assert "its id was id-1, now it is id-2" in dead.settle().reason
    dead.run("release", "orders", "--accept-unsafe", "--reason", "the old one was empty", "--yes")
    assert "created anew" not in dead.run("lag", "orders").out

    dead.settle()

    assert dead.newest().claim.topics == (TopicSeen(topic="orders", id="id-2"),)
    assert plan(dead)[1]["safety"] == "safe"
    assert "created anew" not in dead.run("lag", "orders").out


@pytest.fixture
def new(tmp_path, capsys):
    """A stream that was declared a moment ago; a server accepts connections."""
    terminal = Terminal(a_project(tmp_path), capsys)
    with socket.create_server(("127.0.0.1", 0)) as server:
        terminal.declare("orders", source={"kafka": {"bootstrap_servers": f"127.0.0.1:{server.getsockname()[1]}"}})
        yield terminal


def test_a_first_driver_waits_for_a_topic_that_is_not_there(new):
    new.broker.has("clicks", (0, 5))

    decision = new.settle()
    code, told = plan(new)

    assert decision.action is Action.WAIT
    assert "the cluster has no topic orders: create what is missing" in decision.waits_for
    assert new.kinds() == []
    assert (code, told["safety"]) == (4, "unknown")
    assert "the cluster has no topic orders" in told["summary"]


def test_the_first_driver_comes_by_itself_when_the_topic_does(new):
    new.broker.has("clicks", (0, 5))
    new.settle()
    new.broker.has("orders", (0, 0))
    new.clock.advance(timedelta(seconds=11))

    new.settle()

    assert new.newest().number == 1


def test_where_nobody_can_be_asked_the_first_driver_starts(new):
    new.broker.trouble = "away"

    new.settle()

    assert new.newest().number == 1
