"""Rounds of retention coverage over a real broker: a topic that is made anew, a broker that stands still or dies."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Event
from time import monotonic

import pytest

from streamops.clock import SystemClock
from streamops.control.layout import control_folder
from streamops.diagnosis.companions import inspect_checkpoints
from streamops.fleet.coverage_round import CoveragePace, CoveragePorts, run_coverage_round
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.retention import PartitionState
from streamops.retention.coverage_history import read_past
from streamops.retention.past import topics_seen
from streamops.retention.source_coverage import SourceCoverage, cluster_of
from streamops.spec import KafkaSource
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.checkpoints import commit, metadata, offsets
from support.records import a_claim, a_log, write_log
from support.specs import a_stream
from support.state_root import init
from support.waiting import eventually

pytestmark = pytest.mark.kafka

STATE_ROOT = "file:///data/state"


class Rounds:
    """Streams of one partition that read topics of the real broker."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.storage = MemoryStorage()
        init(self.storage, STATE_ROOT)
        self.specs = []
        self.told = []

    def reads(self, name, *, up_to):
        """A stream of this name reads a topic of this name, and has committed so far."""
        source = KafkaSource(bootstrap_servers=self.cluster.bootstrap, topics=(name,))
        spec = a_stream(name, checkpoint=f"file:///data/checkpoints/{name}", source=source)
        self.storage.write(f"{spec.checkpoint}/metadata", metadata())
        self.storage.write(f"{spec.checkpoint}/offsets/0", offsets(f'{{"{name}":{{"0":{up_to}}}}}'))
        self.storage.write(f"{spec.checkpoint}/commits/0", commit())
        self.specs = [*(known for known in self.specs if known.name != name), spec]

    def round(self, *, limit=timedelta(seconds=20)):
        """The verdicts of one round, by stream."""
        doors = CoveragePorts(
            storage_for=lambda address: self.storage,
            access_for=lambda spec: KafkaAccess(bootstrap=spec.source.bootstrap_servers),
            broker_for=lambda access: ConfluentBroker(access, SystemClock(), limit=limit),
            clock=SystemClock(),
            on_change=lambda change: self.told.append(str(change)),
        )
        report = run_coverage_round(
            self.specs, state_root=STATE_ROOT, doors=doors, pace=CoveragePace.within(timedelta(minutes=5))
        )
        assert report.troubles == ()
        return {look.spec.name: look.verdict for look in report.looks}

    def past(self, name):
        return read_past(self.storage, f"file:///data/checkpoints/{name}")


@pytest.fixture
def rounds(cluster):
    return Rounds(cluster)


def test_a_dead_query_is_told_before_its_records_go_and_a_read_one_is_quiet(cluster, rounds):
    now = SystemClock().now()
    cluster.create("round_old", retention_ms=str(2 * 3_600_000))
    cluster.produce("round_old", 20, at_ms=round((now - timedelta(hours=1)).timestamp() * 1000))
    cluster.create("round_read")
    cluster.produce("round_read", 20)
    rounds.reads("round_old", up_to=5)
    rounds.reads("round_read", up_to=20)

    found = rounds.round()

    assert found == {"round_old": Verdict.WARNING, "round_read": Verdict.OK}
    assert rounds.told == ["round_old: no verdict -> warning (deadline-near)"]


def test_a_topic_that_was_deleted_and_made_anew_is_noticed_though_it_has_grown_past_the_offset(cluster, rounds):
    """Spark goes on in it and notices nothing."""
    cluster.create("round_anew")
    cluster.produce("round_anew", 20)
    rounds.reads("round_anew", up_to=10)
    assert rounds.round() == {"round_anew": Verdict.OK}
    before = rounds.past("round_anew").topic_ids["round_anew"]

    cluster.delete("round_anew")
    cluster.create("round_anew")
    cluster.produce("round_anew", 50)

    assert eventually(lambda: rounds.round() == {"round_anew": Verdict.CRITICAL}, within=60)
    assert rounds.told[-1] in (
        "round_anew: no verdict -> critical (records-recreated)",
        "round_anew: unknown -> critical (records-recreated)",
    )
    assert rounds.past("round_anew").topic_ids["round_anew"] == before


def test_a_topic_that_was_made_anew_is_noticed_by_the_id_in_the_control_log_alone(cluster, rounds):
    """No look is kept: a claim has put on record what its start found."""
    cluster.create("claimed_anew")
    cluster.produce("claimed_anew", 20)
    rounds.reads("claimed_anew", up_to=10)
    (spec,) = rounds.specs
    preflight = SourceCoverage(
        spec,
        cluster_of(SystemClock()),
        storage=rounds.storage,
        clock=SystemClock(),
    )
    checkpoints = inspect_checkpoints(rounds.storage, spec.checkpoint)
    found = topics_seen(preflight.of(checkpoints, on_record=()), is_accepted=False)
    write_log(rounds.storage, control_folder(spec.checkpoint), a_log(replace(a_claim(1), topics=found)))

    cluster.delete("claimed_anew")
    cluster.create("claimed_anew")
    cluster.produce("claimed_anew", 50)

    assert [one.topic for one in found] == ["claimed_anew"]
    assert eventually(
        lambda: preflight.of(checkpoints, on_record=found)[0].standing is PartitionState.RECREATED, within=60
    )
    assert eventually(lambda: rounds.round() == {"claimed_anew": Verdict.CRITICAL}, within=60)
    assert rounds.told[-1].endswith("-> critical (records-recreated)")


def test_a_broker_that_stands_still_is_unknown_within_bounds_and_ok_again_later(cluster, rounds):
    cluster.create("round_still")
    cluster.produce("round_still", 20)
    rounds.reads("round_still", up_to=20)
    assert rounds.round() == {"round_still": Verdict.OK}

    began = monotonic()
    with cluster.paused():
        found = rounds.round(limit=timedelta(seconds=2))
    took = monotonic() - began

    assert found == {"round_still": Verdict.UNKNOWN}
    assert took < 25
    assert eventually(lambda: rounds.round() == {"round_still": Verdict.OK}, within=60)
    assert rounds.told == []


def test_a_broker_that_is_killed_while_rounds_look_is_unknown_within_bounds_and_ok_again_later(cluster, rounds):
    """Rounds follow each other without a pause, so that both kills come in the middle of a scan."""
    cluster.create("round_killed")
    cluster.produce("round_killed", 20)
    rounds.reads("round_killed", up_to=20)
    looks = []
    is_over = Event()

    def look_on():
        while not is_over.is_set():
            began = monotonic()
            found = rounds.round(limit=timedelta(seconds=2))["round_killed"]
            looks.append((found, monotonic() - began))

    with ThreadPoolExecutor(max_workers=1) as pool:
        looking = pool.submit(look_on)
        try:
            for _ in range(2):
                assert eventually(lambda: bool(looks) and looks[-1][0] is Verdict.OK, within=60)
                with cluster.killed():
                    assert eventually(lambda: looks[-1][0] is Verdict.UNKNOWN, within=60)
            assert eventually(lambda: looks[-1][0] is Verdict.OK, within=60)
        finally:
            is_over.set()
        looking.result()

    assert {verdict for verdict, _ in looks} == {Verdict.OK, Verdict.UNKNOWN}
    print(f"{len(looks)} rounds, the longest took {max(took for _, took in looks):.1f} s")
    assert max(took for _, took in looks) < 25
    assert not any("critical" in change for change in rounds.told)
