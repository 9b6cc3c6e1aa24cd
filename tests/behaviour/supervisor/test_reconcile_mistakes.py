"""A mistake of ours about one stream: the report on the others is written all the same."""

import logging
from datetime import timedelta

import pytest

from streamops.reconcile import FindingKind, ReconcileSeverity, rules
from streamops.reconcile.finding import AwaitedStream, FindingStore, write_book
from support.reconciling import LONG, Place
from support.specs import a_stream, seconds
from support.world import World

CLICKS = a_stream("clicks", checkpoint="file:///data/checkpoints/clicks")


@pytest.fixture
def place(tmp_path):
    """The driver of `orders` is lost, and nobody looks after `clicks` either."""
    place = Place(World(tmp_path))
    place.world.supervisor().settle()
    place.world.run(seconds(20))
    place.world.run(LONG)
    place.world.kill(place.world.driver)
    place.specs = (place.world.spec, CLICKS)
    return place


def fail(*args, **options):
    raise ZeroDivisionError("a mistake")


def test_a_repair_that_fails_ends_no_report(place, caplog):
    supervisor, asked = place.world.supervisor, []

    def for_looks_only(*, spec, host):
        asked.append(spec.name)
        return supervisor(spec=spec, host=host) if asked.count("orders") == 1 else fail()

    place.world.supervisor = for_looks_only
    an_hour_ago = AwaitedStream(stream="clicks", since=place.world.clock.now() - timedelta(hours=1))
    write_book(place.storage, place.world.state_root, FindingStore(awaited=(an_hour_ago,)))

    report = place.reconcile(act=True)

    found = {(finding.stream, finding.kind): finding for finding in report.findings}
    lost = found["orders", FindingKind.LOST_DRIVER]
    assert (lost.is_repaired, lost.done) == (False, "failed: ZeroDivisionError: a mistake")
    assert ("clicks", FindingKind.UNATTENDED) in found
    assert place.storage.read(f"{place.world.state_root}/reconcile.json")
    assert [record.exc_info[0] for record in caplog.records if record.levelno == logging.ERROR] == [ZeroDivisionError]


def test_a_stream_that_can_not_be_judged_hides_no_other(place, monkeypatch):
    judge = rules.supervision
    monkeypatch.setattr(
        rules,
        "supervision",
        lambda facts, *args, **kw: fail() if facts.stream == "orders" else judge(facts, *args, **kw),
    )

    found = {finding.stream: finding for finding in place.reconcile().findings}

    assert (found["orders"].kind, found["orders"].severity) == (FindingKind.UNREADABLE, ReconcileSeverity.UNKNOWN)
    assert "can't be judged: ZeroDivisionError" in found["orders"].evidence
    assert found["clicks"].severity is ReconcileSeverity.CRITICAL


def test_a_process_table_that_fails_hides_no_stream(place):
    place.launcher.living = fail

    found = {finding.stream: finding for finding in place.reconcile().findings}

    assert "the process table can't be read: ZeroDivisionError" in found[""].evidence
    assert found["clicks"].severity is ReconcileSeverity.CRITICAL


def test_a_strangers_process_that_can_not_be_understood_hides_no_stream(place):
    """Its arguments look like a driver's and name no place that exists."""
    process = place.world.processes.drivers[0].found
    place.launcher.living = lambda: (process.__class__(handle=process.handle, control="?", epoch=1, token="x"),)
    load = place.storage.list

    def refuse(address, **options):
        return fail() if address.startswith("?") else load(address, **options)

    place.storage.list = refuse

    assert "clicks" in {finding.stream for finding in place.reconcile().findings}
