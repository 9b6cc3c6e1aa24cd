"""`streamops estimate`: from progress, from a declaration, and by hand."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamops.catalogue.watch import HealthSample
from streamops.cli.estimate import MOST_BYTES
from streamops.fleet.health_history import HealthEntry, HealthHistory
from streamops.verdict import Verdict
from support.clock import START
from support.progress import RECORDED, leave, ran
from support.terminal import Terminal


def batch(number: int, *, rows: int = 1000, took: int = 4, lag: int = 0, **more: Any) -> dict[str, Any]:
    """One batch every ten seconds."""
    return {
        "id": "q",
        "name": "orders",
        "batchId": number,
        "timestamp": (START + timedelta(seconds=10 * number)).isoformat(),
        "numInputRows": rows,
        "durationMs": {"addBatch": 1000 * took - 500, "walCommit": 100, "triggerExecution": 1000 * took},
        "sources": [{"description": "KafkaV2", "metrics": {"maxOffsetsBehindLatest": str(lag)}}],
        **more,
    }


def results(document: Any) -> dict[str, float]:
    return {figure["name"]: figure["value"] for one in document["estimates"] for figure in one["results"]}


def inputs(document: Any) -> dict[str, tuple[float, str]]:
    return {
        figure["name"]: (figure["value"], figure["origin"]) for one in document["estimates"] for figure in one["inputs"]
    }


@pytest.fixture
def known(terminal: Terminal) -> Terminal:
    """A stream with a trigger of ten seconds that has run three batches, each of 1000 records in four seconds."""
    terminal.declare("orders", trigger={"processing_time": "10s"})
    terminal.started()
    ran(terminal, *(batch(number) for number in range(3)))
    return terminal


# Latency


def test_latency_comes_from_the_declared_trigger_and_from_real_batches(known: Terminal) -> None:
    answer = known.run("estimate", "latency", "orders", "--json")

    assert answer.code == 0
    assert inputs(answer.document) == {"interval": (10.0, "declared"), "processing": (4.0, "measured")}
    assert results(answer.document) == {"soonest": 4.0, "minimum to plan with": 10.0, "maximum": 14.0}


def test_what_is_given_goes_before_what_is_known(known: Terminal) -> None:
    answer = known.run("estimate", "latency", "orders", "--interval", "1m", "--json")

    assert inputs(answer.document) == {"interval": (60.0, "given"), "processing": (4.0, "measured")}


def test_latency_by_hand_needs_no_stream(terminal: Terminal) -> None:
    answer = terminal.run("estimate", "latency", "--interval", "10s", "--processing", "3s")

    assert [line.split("  ")[0] for line in answer.out.splitlines()[:1]] == ["latency"]
    assert "  maximum               13 s  estimated: for a record that comes just after a trigger" in answer.out


def test_a_trigger_without_an_interval_is_no_base_for_a_latency(terminal: Terminal) -> None:
    terminal.declare("orders", mode="scheduled", schedule={"cron": "@hourly"}, trigger={"available_now": True})

    answer = terminal.run("estimate", "latency", "orders", "--processing", "3s")

    assert answer.code == 2
    assert "stream orders has the trigger available_now, from which no latency follows" in answer.err


# State


def test_the_size_of_state_is_rate_times_time_times_bytes(known: Terminal) -> None:
    answer = known.run("estimate", "state", "orders", "--window", "10m", "--lateness", "5m", "--bytes", "200", "--json")

    assert inputs(answer.document)["rate"] == (100.0, "measured")
    assert results(answer.document) == {"rows": 90_000.0, "state": 18_000_000.0}


def test_state_that_commits_slowly_is_named_with_what_to_set(known: Terminal) -> None:
    leave(known, (RECORDED / "state-rocksdb.jsonl").read_bytes())

    answer = known.run("estimate", "state", "orders")

    assert answer.code == 0
    assert "  rocksdb stateStoreSave: 2,000 rows, 35.9 KiB, memory 73.7 KiB, 4 partitions, RocksDB" in answer.out
    assert (
        "commits: a candidate: 194 ms for a partition in batches of 781 ms, 22.4 % or more (10 batches;" in answer.out
    )
    assert (
        "set state.changelog: true (spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled)"
        in answer.out
    )
    assert "asynchronous state checkpointing is a vendor's (Databricks)" in answer.out


def test_state_that_grows_all_day_is_told_by_the_checks_that_were_kept(known: Terminal) -> None:
    operator = {"operatorName": "stateStoreSave", "numRowsTotal": 400_000, "numShufflePartitions": 1}
    ran(known, batch(1, stateOperators=[operator]))
    root = known.project.address("data/state")
    history = HealthHistory(known.storage, root, "orders")
    for hour in range(25, 0, -1):
        at, rows = known.clock.now() - timedelta(hours=hour), 400_000 - 10_000 * hour
        history.append(HealthEntry(sample=HealthSample(at=at, verdict=Verdict.OK, state_rows=rows)))

    answer = known.run("estimate", "state", "orders")

    assert "  growing: 400,000 rows, 150% more than a day ago, 7,600,000 rows in 30 days at this pace\n" in answer.out


def test_a_query_without_state_is_unknown_and_says_so(known: Terminal) -> None:
    answer = known.run("estimate", "state", "orders")

    assert answer.code == 4
    assert "no batch with state is on record" in answer.out


def test_hostile_names_of_operators_are_shown_and_not_obeyed(known: Terminal) -> None:
    operator = {"operatorName": "\x1b[2J", "numRowsTotal": 1, "commitTimeMs": 1, "numShufflePartitions": 1}
    ran(known, batch(1, stateOperators=[operator]))

    answer = known.run("estimate", "state", "orders")

    assert "\x1b" not in answer.out
    assert "orders \\x1b[2J: 1 rows" in answer.out


# Watermark


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    file = tmp_path / "delays"
    file.write_text("# seconds\n0.5\n2\n\n1m\n500ms\n")
    return file


def test_a_sample_tells_what_a_watermark_lets_in_and_what_a_share_needs(terminal: Terminal, sample: Path) -> None:
    asked = ("estimate", "watermark", "--sample", str(sample), "--watermark", "2s", "--share", "75%", "--json")

    answer = terminal.run(*asked)

    assert results(answer.document) == {"included": 0.75, "watermark needed": 2.0}
    assert inputs(answer.document)["sample"] == (4, "measured")


def test_a_stream_tells_what_it_dropped(known: Terminal) -> None:
    operator = {"operatorName": "dedupe", "numRowsTotal": 1, "numRowsDroppedByWatermark": 20}
    ran(known, batch(1, stateOperators=[operator]))

    answer = known.run("estimate", "watermark", "orders")

    assert "  dropped as too late: 20 rows, 1,000 records read (2.0 %), in the last 1 batches" in answer.out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", "there is no delay in it", id="empty"),
        pytest.param(b"1\n-3\n", "line 2: '-3': a delay is not negative", id="negative"),
        pytest.param(b"1\n3 parsec\n", "line 2: '3 parsec': no delay", id="unit"),
        pytest.param(b"\xff\x1b[2J\n", "line 1: '\ufffd\\x1b[2J': no delay", id="binary"),
        pytest.param(b"nan\n", "line 1: 'nan': no delay", id="not a number"),
        pytest.param(b"9999999999\n", "longer than 3650 days", id="beyond all bounds"),
        pytest.param(b"999999999d\n", "longer than 3650 days", id="beyond all bounds, with a unit"),
    ],
)
def test_a_sample_that_is_none_is_refused_with_its_line(
    terminal: Terminal, tmp_path: Path, content: bytes, told: str
) -> None:
    file = tmp_path / "delays"
    file.write_bytes(content)

    answer = terminal.run("estimate", "watermark", "--sample", str(file), "--share", "99")

    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_a_sample_that_is_not_there_is_refused(terminal: Terminal, tmp_path: Path) -> None:
    answer = terminal.run("estimate", "watermark", "--sample", str(tmp_path / "delays"), "--share", "99")

    assert answer.code == 2
    assert "it can't be read: No such file or directory" in answer.err


@pytest.mark.parametrize("place", [os.devnull, os.curdir], ids=["device", "folder"])
def test_what_has_no_end_is_no_sample(terminal: Terminal, place: str) -> None:
    answer = terminal.run("estimate", "watermark", "--sample", place, "--share", "99")

    assert answer.code == 2
    assert "it is not a plain file" in answer.err


def test_a_sample_beyond_its_limit_is_refused_before_it_is_read(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "delays"
    with file.open("wb") as sparse:
        sparse.truncate(MOST_BYTES + 1)

    answer = terminal.run("estimate", "watermark", "--sample", str(file), "--share", "99")

    assert answer.code == 2
    assert "more than 16 MiB: take a sample of it" in answer.err


# Retention


def test_retention_adds_the_catch_up_by_measured_pace(known: Terminal) -> None:
    """What waits after 1.5 h at 100 a second is read at 250 a second."""
    ran(known, *(batch(number, lag=9) for number in range(3)))

    answer = known.run("estimate", "retention", "orders", "--outage", "1h", "--throughput", "250", "--json")

    assert inputs(answer.document) == {
        "outage": (3600.0, "given"),
        "restart": (1800.0, "assumed"),
        "rate": (100.0, "measured"),
        "throughput": (250.0, "given"),
        "waits then": (540_000.0, "estimated"),
        "catch-up": (3600.0, "estimated"),
    }
    assert results(answer.document) == {"retention needed": 9000.0}


def test_the_outage_may_be_declared(terminal: Terminal) -> None:
    terminal.declare("orders", source={"kafka": {"tolerated_outage": "72h"}})

    answer = terminal.run("estimate", "retention", "orders", "--catch-up", "2h", "--restart", "0s", "--json")

    assert inputs(answer.document)["outage"] == (259_200.0, "declared")
    assert results(answer.document) == {"retention needed": 266_400.0}


def test_a_query_that_never_catches_up_has_no_answer(terminal: Terminal) -> None:
    answer = terminal.run("estimate", "retention", "--outage", "1h", "--rate", "100", "--throughput", "90")

    assert answer.code == 4
    assert "it reads 90 records a second and 100 are written: as it is, it never catches up" in answer.out


# What is missing or wrong


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ("latency", "the trigger interval is not known: give --interval, or name a declared STREAM"),
        ("latency orders", "how long a batch takes is not known of stream orders: give --processing"),
        ("state", "how much comes in a second is not known: give --rate"),
        ("state --rate 5", "the window is not known: give --window"),
        ("state --rate 5 --window 1m", "what a row of state takes is not known: give --bytes"),
        ("watermark", "by what? `--sample FILE` with --watermark or --share, or a declared STREAM"),
        ("watermark --sample f", "what is asked of the sample? --watermark DURATION"),
        ("watermark orders --share 99", "are asked of a sample of delays: give --sample FILE"),
        ("retention", "the longest outage that is tolerated is not known: give --outage, or name a declared STREAM"),
        ("retention orders", "give --outage, or declare source.kafka.tolerated_outage"),
        ("retention orders --outage 1h --rate 5", "how much the query reads a second is not known of stream orders"),
        ("retention --outage 1h --rate nan", "'nan' is not a number above 0"),
        ("retention --outage 1h --rate 0", "'0' is not a number above 0"),
        ("state --window -5m", "'-5m' is not a duration such as"),
        ("watermark --sample f --share 101", "'101' is not a share in percent, above 0 and 100 at most"),
        ("latency --interval 3651d --processing 1s", "'3651d' is longer than 3650 days"),
        ("latency nobody", "no stream is called 'nobody'"),
    ],
)
def test_what_is_missing_or_wrong_is_asked_for_by_its_option(terminal: Terminal, argv: str, told: str) -> None:
    answer = terminal.run("estimate", *argv.split())

    assert (answer.code, answer.out) == (2, "")
    assert told in " ".join(answer.err.split())
