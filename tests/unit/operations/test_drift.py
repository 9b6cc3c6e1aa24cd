import json
from dataclasses import replace
from pathlib import Path

import pytest

from streamops import __version__
from streamops.control.records import Claimed
from streamops.failures.policy import RestartPolicy
from streamops.liveness import StallPolicy
from streamops.operations.snapshot import Declaration, Drift, SettingChange, declaration_of, drift_between
from streamops.spec import KafkaSource, Keep, LaunchSpec, SinkSpec, StreamSpec, Timings, Trigger
from streamops.spec.sinks import SinkGuarantee
from streamops.spec.wire import spec_text
from support.records import a_claim
from support.specs import a_stream, seconds

RUNNING = a_stream(launch=LaunchSpec(conf=(("spark.driver.memory", "1g"),), jars=("a.jar",)))


def claimed(spec: StreamSpec = RUNNING, **changes: str) -> Claimed:
    fields = {"job_sha256": "one", "library_version": "1.0"} | changes
    return replace(a_claim(3), spec=spec_text(spec), **fields)


def declared(spec: StreamSpec = RUNNING, *, job: str = "one", library: str = "1.0") -> Declaration:
    return Declaration(spec=spec_text(spec), job_sha256=job, library_version=library)


def drift_of(**changes: object) -> Drift:
    return drift_between(claimed(), declared(replace(RUNNING, **changes)))  # type: ignore[arg-type]


def test_the_same_declaration_is_no_drift() -> None:
    drift = drift_between(claimed(), declared())

    assert (drift.settings, drift.marks, drift.epoch) == ((), (), 3)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"launch": replace(RUNNING.launch, conf=(("spark.driver.memory", "2g"),))},
            SettingChange(setting="launch.conf.spark.driver.memory", running="1g", declared="2g"),
            id="a conf has its own name",
        ),
        pytest.param(
            {"launch": replace(RUNNING.launch, conf=())},
            SettingChange(setting="launch.conf.spark.driver.memory", running="1g", declared=""),
            id="the last conf is gone",
        ),
        pytest.param(
            {"launch": replace(RUNNING.launch, jars=("a.jar", "b.jar"))},
            SettingChange(setting="launch.jars", running='["a.jar"]', declared='["a.jar", "b.jar"]'),
            id="a list is one setting",
        ),
        pytest.param(
            {"trigger": Trigger(interval=seconds(60))},
            SettingChange(setting="trigger.interval", running="10.0", declared="60.0"),
            id="a duration in seconds",
        ),
        pytest.param(
            {"source": KafkaSource(bootstrap_servers="b:1", topics=("orders",))},
            SettingChange(setting="source.bootstrap_servers", running="127.0.0.1:9092", declared="b:1"),
            id="the broker",
        ),
        pytest.param(
            {"timings": Timings(stop=seconds(9))},
            SettingChange(setting="timings.stop", running="120.0", declared="9.0"),
            id="the grace, which the driver is told",
        ),
    ],
)
def test_what_the_driver_was_given_needs_a_restart(changes: dict[str, object], expected: SettingChange) -> None:
    drift = drift_of(**changes)

    assert drift.settings == (expected,)
    assert drift.marks == ("spec",)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"description": "other words"}, id="words"),
        pytest.param({"restart": RestartPolicy(jitter=0, budget_per_hour=3)}, id="the restart policy"),
        pytest.param({"stall": StallPolicy(factor=4)}, id="the stall policy"),
        pytest.param({"timings": Timings(start=seconds(900))}, id="how long a start may take"),
        pytest.param(
            {"sink": replace(RUNNING.sink, guarantee=SinkGuarantee.AT_LEAST_ONCE)}, id="what the sink makes of a repeat"
        ),
    ],
)
def test_what_the_supervisor_alone_goes_by_is_in_force_already(changes: dict[str, object]) -> None:
    drift = drift_of(**changes)

    assert [change.needs_restart for change in drift.settings] == [False]
    assert drift.marks == ()


def test_how_long_logs_are_kept_is_no_part_of_a_claim() -> None:
    assert drift_of(keep=Keep(epochs=50)).settings == ()


def test_everything_that_a_driver_is_told_counts_as_needing_a_restart() -> None:
    """Each part of an assignment (`control.assignment`), so that a wrong entry in the list of exceptions shows."""
    other = StreamSpec(
        name="orders",
        job="other.py",
        source=KafkaSource(bootstrap_servers="b:1", topics=("x",), options=(("a", "b"),)),
        sink=SinkSpec(table="file:///t", dead_letters="file:///d"),
        checkpoint="file:///c",
        trigger=Trigger(interval=seconds(1)),
        timings=Timings(beat=seconds(1), halt=seconds(3), stop=seconds(1)),
    )
    found = {change.setting for change in drift_between(claimed(), declared(other)).settings if change.needs_restart}

    assert found >= {
        "job",
        "source.bootstrap_servers",
        "source.topics",
        "source.options.a",
        "sink.table",
        "sink.dead_letters",
        "checkpoint",
        "trigger.interval",
        "timings.beat",
        "timings.halt",
        "timings.stop",
    }


def test_what_an_airflow_connection_gives_is_no_drift() -> None:
    """The claim holds the connection's master; the settings file never knew it."""
    declared_spec = replace(RUNNING, launch=replace(RUNNING.launch, connection="spark_prod"))
    given = replace(declared_spec, launch=replace(declared_spec.launch, master="spark://head:7077", queue="q"))

    assert drift_between(claimed(given), declared(declared_spec)).settings == ()


def test_another_connection_is_a_drift() -> None:
    def over(connection: str) -> StreamSpec:
        return replace(RUNNING, launch=replace(RUNNING.launch, connection=connection))

    assert drift_between(claimed(over("a")), declared(over("b"))).marks == ("spec",)


@pytest.mark.parametrize(
    ("declaration", "marks"),
    [
        pytest.param(declared(job="two"), ("job",), id="another job file"),
        pytest.param(declared(job=""), ("job",), id="a job that can't be read may be another"),
        pytest.param(declared(library="1.1"), ("library",), id="another streamops"),
    ],
)
def test_job_and_library_are_compared(declaration: Declaration, marks: tuple[str, ...]) -> None:
    assert drift_between(claimed(), declaration).marks == marks


@pytest.mark.parametrize("text", ["", "{half", "[]", "null"])
def test_a_claim_in_another_form_is_all_difference_and_no_crash(text: str) -> None:
    drift = drift_between(replace(claimed(), spec=text), declared())

    assert drift.has_other_settings


def test_a_setting_that_the_older_version_did_not_know_shows_with_one_side() -> None:
    old = json.loads(spec_text(RUNNING))
    del old["trigger"]["kind"]

    (change,) = drift_between(replace(claimed(), spec=json.dumps(old)), declared()).settings

    assert (change.setting, change.running, change.declared) == ("trigger.kind", "", "processing_time")


def test_the_present_declaration_reads_the_job(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("x = 1")
    spec = a_stream(job=str(job))
    before = declaration_of(spec)
    job.write_text("x = 2")

    assert before.library_version == __version__
    assert declaration_of(spec).job_sha256 != before.job_sha256


def test_a_job_that_can_not_be_read_is_told() -> None:
    declaration = declaration_of(a_stream(job="/no/such/job.py"))

    assert declaration.job_sha256 == ""
    assert "/no/such/job.py can't be read" in declaration.trouble
