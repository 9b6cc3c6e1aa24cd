import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from streamops.control.records import ClaimMode
from streamops.errors import SettingsError
from streamops.failures.policy import RestartPolicy
from streamops.settings import default_settings_path, load_settings
from streamops.settings import model as settings_model
from streamops.settings.load import project_root
from streamops.settings.problems import settings_of
from streamops.spec import Keep, LaunchSpec, Schedule, Timings, Trigger, TriggerKind
from support.settings import Project, a_declared_stream, a_project

EXAMPLE = Path(__file__).parents[3] / "config" / "streams.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return a_project(tmp_path)


def test_a_stream_with_the_least_settings_has_the_defaults_of_the_dataclasses(project: Project) -> None:
    settings = project.load(streams={"orders": a_declared_stream()})

    assert settings.errors == ()
    assert settings.state_root == project.address("data/state")
    spec = settings.stream("orders")
    assert spec.trigger == Trigger()
    assert spec.restart == RestartPolicy()
    assert spec.timings == Timings()
    assert spec.launch == LaunchSpec(folder=str(project.root))


def test_one_bad_stream_does_not_disarm_the_others(project: Project) -> None:
    settings = project.load(
        streams={
            "orders": a_declared_stream("orders", trigger={"processing_time": "10 parsecs"}),
            "returns": a_declared_stream("returns"),
            "stock": "a text",
        }
    )

    assert [spec.name for spec in settings.streams] == ["returns"]
    assert [(error.stream, error.place) for error in settings.errors] == [
        ("orders", "streams.orders.trigger.processing_time"),
        ("stock", "streams.stock"),
    ]


def test_a_problem_is_one_line_with_file_place_found_and_expected(project: Project) -> None:
    settings = project.load(streams={"orders": a_declared_stream(trigger={"processing_time": "10\nparsecs"})})

    assert str(settings.errors[0]) == (
        f"{project.file}: streams.orders.trigger.processing_time: found '10\\nparsecs',"
        " expected a duration such as 500ms, 10s, 5m, 2h"
    )


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        pytest.param("a: [1", "", "line 2", id="not YAML"),
        pytest.param("", "", "nothing", id="empty"),
        pytest.param("- a", "", "a list", id="a list"),
        pytest.param("streams: {}", "state_root", "nothing", id="no state root"),
        pytest.param("state_root: data", "streams", "nothing", id="no streams"),
        pytest.param("state_root: data\nstreams:", "streams", "nothing", id="streams without anything below"),
        pytest.param("state_root: data\nstreams: []", "streams", "a list", id="streams as a list"),
        pytest.param("state_root: data\nstreams: {}\ndefault: {}", "default", "'default'", id="unknown name"),
        pytest.param("state_root: data\nstreams: {}\ndefaults: {job: x}", "defaults.job", "'job'", id="bad default"),
        pytest.param("state_root: ${NO}\nstreams: {}", "state_root", "'${NO}'", id="state root from nowhere"),
        pytest.param("state_root: s3://b/x\nstreams: {}", "state_root", "'s3://b/x'", id="storage of a later version"),
        pytest.param("state_root: /\nstreams: {}", "state_root", "'/'", id="root of the file system"),
        pytest.param(
            "state_root: a\nstreams: {}\nstate_root: b", "state_root", "it twice, in lines 1 and 3", id="twice on top"
        ),
        pytest.param(
            "state_root: a\nstreams:\n  orders: {}\n  orders: {}",
            "streams.orders",
            "it twice, in lines 3 and 4",
            id="two streams of one name",
        ),
    ],
)
def test_a_broken_frame_leaves_no_streams_and_says_why(project: Project, text: str, place: str, found: str) -> None:
    settings = project.load_text(text)

    assert settings.streams == ()
    assert [(error.stream, error.place) for error in settings.errors] == [("", place)]
    assert settings.errors[0].found.startswith(found)


def test_a_file_that_cannot_be_read_is_a_problem_of_the_whole_file(tmp_path: Path) -> None:
    settings = load_settings(tmp_path / "none.yaml", {})

    assert settings.streams == ()
    assert settings.errors[0].found == "no such file or directory"
    assert "STREAMOPS_CONFIG" in settings.errors[0].expected


def test_a_file_that_is_not_text_is_a_problem_of_the_whole_file(project: Project) -> None:
    project.file.write_bytes(b"a: \xff")

    assert "UTF-8" in load_settings(project.file, {}).errors[0].found


def test_a_name_that_comes_twice_in_a_stream_is_the_problem_of_that_stream(project: Project) -> None:
    settings = project.load_text(
        "state_root: data\n"
        "streams:\n"
        "  orders:\n"
        "    checkpoint: a\n"
        "    job: jobs/orders.py\n"
        "    checkpoint: b\n"
        "    source: {kafka: {bootstrap_servers: 'k:9092', topics: [orders]}}\n"
        "    sink: {delta: {table: t}, dead_letters: d}\n"
    )

    assert [(error.stream, error.place, error.found) for error in settings.errors] == [
        ("orders", "streams.orders.checkpoint", "it twice, in lines 4 and 6")
    ]


@pytest.mark.parametrize(
    ("changes", "place", "expected"),
    [
        pytest.param({"chekpoint": "x"}, "chekpoint", "did you mean 'checkpoint'?", id="misspelt"),
        pytest.param({"launch": {"jar": []}}, "launch.jar", "did you mean 'jars'?", id="misspelt below"),
        pytest.param(
            {"zzz": 1}, "zzz", "one of the settings airflow, catchup, checkpoint, description", id="like nothing known"
        ),
        pytest.param(
            {"trigger": {"continous": "1s"}}, "trigger.continous", "did you mean 'continuous'?", id="unknown trigger"
        ),
        pytest.param(
            {"source": {"socket": {}}},
            "source.socket",
            "one of the settings custom, delta, files, kafka",
            id="unknown source",
        ),
        pytest.param({"job": None}, "job", "a path of a Python file", id="required setting"),
        pytest.param({"sink": {"delta": {"table": None}}}, "sink.delta.table", "a Delta table", id="required below"),
        pytest.param({"source": {"kafka": {"topics": []}}}, "source.kafka.topics", "at least one", id="no topic"),
        pytest.param({"source": {"kafka": {"topics": ["a,b"]}}}, "source.kafka.topics[0]", "topic", id="two in one"),
        pytest.param(
            {"source": {"kafka": {"bootstrap_servers": "broker"}}},
            "source.kafka.bootstrap_servers",
            "host:port",
            id="no port",
        ),
        pytest.param({"mode": "batch"}, "mode", "one of live, scheduled", id="unknown mode"),
        pytest.param({"mode": "backfill"}, "mode", "one of live, scheduled", id="derived mode"),
        pytest.param({"schedule": {"cron": "@daily"}}, "schedule", "mode: scheduled", id="schedule of a live stream"),
        pytest.param({"mode": "scheduled"}, "schedule", "a mapping with cron", id="scheduled without schedule"),
        pytest.param(
            {"mode": "scheduled", "schedule": {"cron": "99 * * * *"}}, "schedule.cron", "a cron", id="no such minute"
        ),
        pytest.param(
            {"mode": "scheduled", "schedule": {"cron": "* * * * * *"}}, "schedule.cron", "five fields", id="seconds"
        ),
        pytest.param(
            {"mode": "scheduled", "schedule": {"cron": "@daily", "timezone": "Mars/Olympus"}},
            "schedule.timezone",
            "the name of a time zone",
            id="unknown zone",
        ),
        pytest.param(
            {"mode": "scheduled", "schedule": {"cron": "@daily"}, "trigger": "default"},
            "trigger",
            "available_now for a scheduled stream",
            id="scheduled without end",
        ),
        pytest.param({"catchup": {"budget": "0s"}}, "catchup.budget", "a duration", id="no time to catch up"),
        pytest.param({"catchup": {"master": "yarn"}}, "catchup.master", "local", id="catch-up elsewhere"),
        pytest.param(
            {"catchup": {"options": {"subscribe": "t"}}}, "catchup.options.subscribe", "topics", id="catch-up of others"
        ),
        pytest.param({"launch": "x"}, "launch", "a mapping", id="text for a mapping"),
        pytest.param({"trigger": {}}, "trigger", "one of default, {processing_time: 10s}", id="no trigger"),
        pytest.param(
            {"trigger": {"processing_time": "1s", "available_now": True}},
            "trigger",
            "one of default, {processing_time: 10s}",
            id="two triggers",
        ),
        pytest.param({"trigger": {"available_now": False}}, "trigger.available_now", "true", id="not now"),
        pytest.param({"sink": {"guarantee": "exactly-once"}}, "sink.guarantee", "idempotent", id="big promise"),
        pytest.param({"restart": {"thrash_limit": True}}, "restart.thrash_limit", "a whole number", id="true is no 1"),
        pytest.param({"restart": {"thrash_limit": -1}}, "restart.thrash_limit", "0 or more", id="negative"),
        pytest.param({"restart": {"max_delay": "1s"}}, "restart", "initial_delay must lie", id="delays crossed"),
        pytest.param({"timings": {"beat": 5}}, "timings.beat", "a duration", id="no unit"),
        pytest.param({"timings": {"claim": "0s"}}, "timings.claim", "a duration", id="no time at all"),
        pytest.param({"timings": {"halt": "10s"}}, "timings", "three beats", id="halt too short"),
        pytest.param({"keep": {"epochs": 1}}, "keep.epochs", "2 or more", id="not even the one before"),
        pytest.param({"keep": {"days": -1}}, "keep.days", "from 0 to 3650", id="days that are none"),
        pytest.param({"airflow": {"owner": "a, b"}}, "airflow.owner", "without a comma", id="two owners"),
        pytest.param(
            {"airflow": {"tags": ["a" * 101]}}, "airflow.tags[0]", "100 characters", id="a tag too long for Airflow"
        ),
        pytest.param({"airflow": {"runbook": "wiki"}}, "airflow.runbook", "https://", id="a runbook that is no link"),
        pytest.param({"launch": {"conf": {"spark.x": [1]}}}, "launch.conf.spark.x", "a text", id="list as conf"),
        pytest.param({"launch": {"conf": "spark.x=1"}}, "launch.conf", "Spark confs by name", id="text as confs"),
        pytest.param({"checkpoint": "${NO}"}, "checkpoint", "variable NO to be set", id="from nowhere"),
        pytest.param({"launch": {"queue": "${NO}"}}, "launch.queue", "variable NO to be set", id="from nowhere, below"),
    ],
)
def test_what_is_wrong_in_a_stream_is_said_at_its_place(
    project: Project, changes: dict[str, Any], place: str, expected: str
) -> None:
    settings = project.load(streams={"orders": a_declared_stream(**changes)})

    assert settings.streams == ()
    assert [(error.stream, error.place) for error in settings.errors] == [("orders", f"streams.orders.{place}")]
    assert expected in settings.errors[0].expected


@pytest.mark.parametrize("name", ["Orders", "2nd", "or-ders", "a" * 101, "../x"])
def test_a_name_that_cannot_be_part_of_a_file_name_is_refused(project: Project, name: str) -> None:
    settings = project.load(streams={name: a_declared_stream()})

    assert settings.streams == ()
    assert "lower-case letters" in settings.errors[0].expected


def test_all_problems_of_a_stream_come_at_once(project: Project) -> None:
    stream = a_declared_stream(job="jobs/none.py", launch={"master": "yarn", "jars": ["none/*.jar"]})

    assert len(project.load(streams={"orders": stream}).errors) == 3


def test_defaults_lie_under_each_stream(project: Project) -> None:
    settings = project.load(
        defaults={
            "launch": {"master": "local[4]", "conf": {"spark.a": 1, "spark.b": 1}},
            "keep": {"epochs": 50},
            "restart": {"thrash_limit": 2},
            "timings": {"stop": "1m"},
        },
        streams={"orders": a_declared_stream(launch={"conf": {"spark.b": 2}}, restart={"max_delay": "1h"})},
    )

    spec = settings.stream("orders")
    assert spec.launch.master == "local[4]"
    assert spec.launch.conf == (("spark.a", "1"), ("spark.b", "2"))
    assert spec.restart == RestartPolicy(thrash_limit=2, max_delay=timedelta(hours=1))
    assert spec.timings.stop == timedelta(minutes=1)
    assert spec.keep == Keep(epochs=50)


def test_a_stream_replaces_the_default_trigger_and_lists_whole(project: Project) -> None:
    settings = project.load(
        defaults={"trigger": {"processing_time": "1m"}, "launch": {"jars": ["jars/a.jar"]}},
        streams={
            "orders": a_declared_stream("orders", trigger={"available_now": True}, launch={"jars": ["jars/b.jar"]}),
            "returns": a_declared_stream("returns"),
        },
    )

    assert settings.stream("orders").trigger.kind is TriggerKind.AVAILABLE_NOW
    assert settings.stream("orders").launch.jars == (str(project.root / "jars/b.jar"),)
    assert settings.stream("returns").trigger == Trigger(interval=timedelta(minutes=1))


def test_a_mistake_in_the_defaults_is_shown_there_and_spares_the_stream_that_overrides_it(project: Project) -> None:
    settings = project.load(
        defaults={"timings": {"beat": "soon"}, "launch": {"queue": "${NO}"}},
        streams={
            "orders": a_declared_stream("orders"),
            "returns": a_declared_stream("returns", timings={"beat": "5s"}, launch={"queue": "q"}),
        },
    )

    assert [spec.name for spec in settings.streams] == ["returns"]
    assert {(error.stream, error.place) for error in settings.errors} == {
        ("orders", "defaults.timings.beat"),
        ("orders", "defaults.launch.queue"),
    }


def test_asking_for_a_bad_stream_gives_its_problems(project: Project) -> None:
    settings = project.load(
        streams={
            "orders": a_declared_stream("orders", job="none.py"),
            "returns": a_declared_stream("returns", mode="x"),
        }
    )

    with pytest.raises(SettingsError, match=r"streams\.orders\.job") as caught:
        settings.stream("orders")
    assert "returns" not in str(caught.value)


def test_asking_for_an_unknown_stream_gives_close_names(project: Project) -> None:
    settings = project.load(streams={"orders": a_declared_stream()})

    with pytest.raises(SettingsError, match=r"'oders': did you mean orders\?"):
        settings.stream("oders")
    with pytest.raises(SettingsError, match="'zzz': 1 are declared"):
        settings.stream("zzz")


def test_asking_a_broken_file_for_a_stream_gives_the_problems_of_the_file(project: Project) -> None:
    with pytest.raises(SettingsError, match="streams: found nothing"):
        project.load_text("state_root: data").stream("orders")


def test_relative_paths_count_from_the_folder_around_config(tmp_path: Path) -> None:
    assert project_root(tmp_path / "config" / "streams.yaml") == str(tmp_path)
    assert project_root(tmp_path / "elsewhere" / "streams.yaml") == str(tmp_path / "elsewhere")


def test_the_settings_lie_in_config_unless_the_environment_names_another_place() -> None:
    assert default_settings_path({}) == Path("config/streams.yaml")
    assert default_settings_path({"STREAMOPS_CONFIG": ""}) == Path("config/streams.yaml")
    assert default_settings_path({"STREAMOPS_CONFIG": "/etc/streams.yaml"}) == Path("/etc/streams.yaml")


@pytest.fixture
def example(tmp_path: Path) -> Project:
    """A tree with the shipped settings file and what `make setup` and the jobs folder give it."""
    project = a_project(tmp_path)
    shutil.copy(EXAMPLE, project.file)
    shutil.copy(project.root / "jobs/orders.py", project.root / "jobs/orders_to_delta.py")
    jar = project.root / ".jars/spark/delta-spark.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    return project


def test_the_shipped_settings_file_is_valid(example: Project) -> None:
    settings = load_settings(example.file, {"STREAMOPS_DATA": "elsewhere", "KAFKA_BOOTSTRAP": "broker:19092"})

    assert settings.errors == ()
    spec = settings.stream("orders_to_delta")
    assert spec.checkpoint == example.address("elsewhere/checkpoints/orders_to_delta")
    assert spec.source.bootstrap_servers == "broker:19092"
    assert spec.launch.spark_submit == str(example.root / ".venv/bin/spark-submit")
    assert spec.launch.jars == (str(example.root / ".jars/spark/delta-spark.jar"),)
    assert ("spark.ui.enabled", "false") in spec.launch.conf


def test_the_shipped_settings_file_writes_out_the_true_defaults(example: Project) -> None:
    spec = load_settings(example.file, {}).stream("orders_to_delta")

    assert spec.restart == RestartPolicy()
    assert spec.timings == Timings()


def test_the_shipped_settings_file_shows_every_setting() -> None:
    models = [kind for kind in vars(settings_model).values() if isinstance(kind, type) and issubclass(kind, BaseModel)]
    settings = {name for kind in models for name in settings_of(kind)} - {"default"}
    text = EXAMPLE.read_text(encoding="utf-8")

    assert {name for name in settings if f"{name}:" not in text} == set()


def test_a_scheduled_stream_ends_by_itself_whatever_live_streams_begin_with(project: Project) -> None:
    stream = a_declared_stream(mode="scheduled", schedule={"cron": "*/15 * * * *", "timezone": "Europe/Berlin"})

    spec = project.load(defaults={"trigger": "default"}, streams={"orders": stream}).stream("orders")

    assert spec.trigger.kind == "available_now"
    assert spec.schedule == Schedule(cron="*/15 * * * *", timezone="Europe/Berlin")


def test_once_is_taken_with_a_notice(project: Project) -> None:
    settings = project.load(streams={"orders": a_declared_stream(trigger={"once": True})})

    assert settings.stream("orders").trigger.kind == "once"
    assert settings.problems == ()
    assert len(settings.notices) == 1
    assert "streams.orders.trigger: once is deprecated" in settings.notices[0]


def test_a_catch_up_differs_from_the_live_query_by_what_it_says(project: Project) -> None:
    stream = a_declared_stream(
        launch={"conf": {"spark.driver.memory": "1g", "spark.ui.enabled": "false"}, "master": "local[1]"},
        catchup={"conf": {"spark.driver.memory": "4g"}, "master": "local[4]", "options": {"maxoffsetspertrigger": "9"}},
    )
    stream["source"]["kafka"]["options"] = {"maxOffsetsPerTrigger": "5", "startingOffsets": "earliest"}

    spec = project.load(streams={"orders": stream}).stream("orders")
    run = spec.as_run(ClaimMode.CATCHUP)

    assert spec.as_run(ClaimMode.LIVE) is spec
    assert run.trigger.kind == "available_now"
    assert run.launch.master == "local[4]"
    assert run.launch.conf == (("spark.driver.memory", "4g"), ("spark.ui.enabled", "false"))
    assert run.source.options == (("maxoffsetspertrigger", "9"), ("startingOffsets", "earliest"))


@pytest.mark.parametrize(
    ("changes", "notice"),
    [
        pytest.param(
            {
                "trigger": {"continuous": "1s"},
                "sink": {
                    "delta": None,
                    "kafka": {"bootstrap_servers": "a:9092", "topic": "t"},
                    "guarantee": "at-least-once",
                },
            },
            "streams.orders.trigger: continuous is experimental",
            id="continuous is not exactly once",
        ),
        pytest.param(
            {
                "trigger": {"real_time": "5m"},
                "timings": {"stop": "2m"},
                "sink": {
                    "delta": None,
                    "kafka": {"bootstrap_servers": "a:9092", "topic": "t"},
                    "guarantee": "at-least-once",
                },
            },
            "streams.orders.trigger: a batch of real time lasts longer than a stop waits",
            id="a stop that cuts batches",
        ),
        pytest.param(
            {"state": {"store": "rocksdb"}},
            "streams.orders.state: shuffle_partitions is not declared: Spark's default of 200",
            id="200 partitions for a small state",
        ),
        pytest.param(
            {"source": {"kafka": {"options": {"failOnDataLoss": False}}}},
            "streams.orders.source.kafka.options.failOnDataLoss: false skips records",
            id="losses in silence",
        ),
    ],
)
def test_wrong_advice_that_is_followed_is_told(project: Project, changes: dict[str, Any], notice: str) -> None:
    settings = project.load(streams={"orders": a_declared_stream(**changes)})

    assert settings.problems == ()
    assert [notice in found for found in settings.notices] == [True]


def test_state_with_few_partitions_and_a_stream_without_state_are_not_told(project: Project) -> None:
    few = a_declared_stream("few", state={"store": "rocksdb", "shuffle_partitions": 4})

    assert project.load(streams={"few": few, "none": a_declared_stream("none")}).notices == ()
