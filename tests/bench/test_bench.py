"""What is measured is what it claims to be; no time is looked at."""

import json

from bench import fleet, look
from bench.catchup import Run, figures
from bench.figure import Figure, keep
from bench.synthetic import Size, build, lose_newest_state
from streamops.diagnosis.checkup import check
from streamops.engines import PINNED
from streamops.storage.local import LocalStorage
from streamops.verdict import Verdict

SIZE = Size(batches=30, partitions=4)


def checked(folder):
    return check(LocalStorage(), f"file://{folder}", engine=PINNED)


def test_a_synthetic_checkpoint_is_healthy(tmp_path):
    build(tmp_path / "orders", SIZE)

    found = checked(tmp_path / "orders")

    assert (found.verdict, found.findings) == (Verdict.OK, ())
    assert found.restart.next_batch == 30
    assert found.snapshot.state.stores_checked == 4


def test_the_damage_that_spark_is_measured_with_is_found(tmp_path):
    build(tmp_path / "orders", SIZE)

    lost = lose_newest_state(tmp_path / "orders", SIZE, partition=2)

    assert lost == "state/0/2/30.delta"
    assert [(found.rule, found.file) for found in checked(tmp_path / "orders").findings] == [
        ("unloadable-state", "state/0/2")
    ]


def a_figure(name, value):
    return Figure(name=name, value=value, unit="ms", baseline=8.0, against="something slower")


def test_figures_of_benchmarks_that_did_not_run_stay(tmp_path):
    target = tmp_path / "kept" / "bench.json"

    keep([a_figure("check", 1.0), a_figure("look", 2.0)], target)
    keep([a_figure("look", 4.0)], target)

    kept = json.loads(target.read_text())
    assert {name: (each["value"], each["ratio"]) for name, each in kept.items()} == {
        "check": (1.0, 0.125),
        "look": (4.0, 0.5),
    }


def test_a_round_over_a_fleet_is_measured(tmp_path):
    checks, looks = fleet.measure(tmp_path, streams=2, fleet=20)

    assert (checks.name, checks.unit, looks.name, looks.unit) == (
        "fleet: checks",
        "streams/s",
        "fleet: looks at streams that are down",
        "ms",
    )
    assert all(figure.value > 0 and figure.baseline > 0 for figure in (checks, looks))


def test_a_look_is_counted_and_timed(tmp_path):
    time, calls, *at_lengths = look.measure(tmp_path, lengths=(50, 150))

    assert (time.name, calls.name) == ("look: time", "look: calls")
    assert calls.note == "1 × details, 6 × read"
    assert [figure.name for figure in at_lengths] == [
        "look: a further look at 50 records",
        "look: a first look at 50 records",
        "look: a further look at 150 records",
        "look: a first look at 150 records",
    ]


def a_run(*, wall, in_batches, processor):
    return Run(wall=wall, processor=processor, in_batches=in_batches, rows=1_000_000, batches=20)


def test_a_catch_up_is_compared_pair_by_pair():
    supervised = [
        a_run(wall=44.0, in_batches=25.0, processor=60.0),
        a_run(wall=60.0, in_batches=40.0, processor=90.0),
        a_run(wall=45.0, in_batches=26.0, processor=66.0),
    ]
    plain = [
        a_run(wall=40.0, in_batches=25.0, processor=60.0),
        a_run(wall=40.0, in_batches=20.0, processor=60.0),
        a_run(wall=50.0, in_batches=26.0, processor=60.0),
    ]

    in_batches, processor, whole = figures(supervised, plain)

    assert (in_batches.value, in_batches.baseline, in_batches.goal) == (26.0, 25.0, 26.25)
    assert in_batches.note == (
        "38462 rows/s against 40000; ratios of 3 pairs 1.000, 2.000, 1.000, median 1.000;"
        " 1000000 rows in 20 batches of two queries"
    )
    assert (processor.value, processor.baseline, processor.unit) == (66.0, 60.0, "s")
    assert (whole.value, whole.baseline) == (45.0, 40.0)
    assert whole.note.endswith("ratios of 3 pairs 1.100, 1.500, 0.900, median 1.100")
