"""Several streams like the project's own one, from its settings file as it is today."""

from pathlib import Path

import pytest

from streamops.settings import Settings, load_settings
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.fleet_settings import DRIVER_MEMORY, fleet_names, fleet_settings

PROJECT = Path(__file__).parents[3]
STREAM = "orders_to_delta"
TEXT = (PROJECT / "config" / "streams.yaml").read_text(encoding="utf-8")


def derived(tmp_path: Path, *, size: int = 3, text: str = TEXT, **environment: str) -> Settings:
    variables = {"STREAMOPS_DATA": str(tmp_path / "data"), **environment}
    file = tmp_path / "config" / "streams.yaml"
    file.parent.mkdir()
    file.write_text(fleet_settings(text, variables, project=PROJECT, stream=STREAM, size=size), encoding="utf-8")
    return load_settings(file, {})


@pytest.fixture
def jars(tmp_path: Path) -> str:
    """The settings with a jar that exists, whether `make setup` has run or not."""
    (tmp_path / "one.jar").touch()
    return TEXT.replace(".jars/spark/*.jar", str(tmp_path / "one.jar"))


def test_every_derived_stream_is_sound(tmp_path: Path, jars: str) -> None:
    settings = derived(tmp_path, text=jars)

    assert settings.errors == ()
    assert tuple(spec.name for spec in settings.streams) == fleet_names(STREAM, 3)


def test_no_two_streams_share_topic_table_or_checkpoint(tmp_path: Path, jars: str) -> None:
    streams = derived(tmp_path, text=jars).streams

    places = [place for s in streams for place in (s.checkpoint, s.sink.table, s.sink.dead_letters, *s.source.topics)]
    assert len(set(places)) == 4 * len(streams)


def test_the_first_stream_differs_from_the_declared_one_in_memory_only(tmp_path: Path, jars: str) -> None:
    spec = derived(tmp_path, text=jars).stream(STREAM)
    file = tmp_path / "declared.yaml"
    file.write_text(jars.replace("job: jobs", f"job: {PROJECT}/jobs").replace("folder: .", f"folder: {PROJECT}"))
    declared = load_settings(file, {"STREAMOPS_DATA": str(tmp_path / "data")}).stream(STREAM)

    differing = {name for name, value in spec.launch.conf if dict(declared.launch.conf)[name] != value}
    assert differing == {"spark.driver.memory"}
    assert dict(spec.launch.conf)["spark.driver.memory"] == DRIVER_MEMORY
    assert (spec.job, spec.source, spec.sink, spec.checkpoint) == (
        declared.job,
        declared.source,
        declared.sink,
        declared.checkpoint,
    )


def test_variables_are_filled_in_once(tmp_path: Path, jars: str) -> None:
    settings = derived(tmp_path, text=jars, KAFKA_BOOTSTRAP="127.0.0.1:1", STREAMOPS_JAVA_OPTIONS="-Dx=a")

    assert settings.streams[0].source.bootstrap_servers == "127.0.0.1:1"
    assert dict(settings.streams[0].launch.conf)["spark.driver.extraJavaOptions"].endswith(" -Dx=a")


def test_a_dollar_that_is_meant_stays_one(tmp_path: Path, jars: str) -> None:
    text = jars.replace("description: Kafka orders", "description: costs $${MUCH}, orders")

    assert derived(tmp_path, text=text).streams[0].description.startswith("costs ${MUCH}")


def test_settings_without_the_stream_are_refused() -> None:
    with pytest.raises(SandboxError, match="orders_to_delta"):
        fleet_settings("streams: {}", {}, project=PROJECT, stream=STREAM, size=2)
