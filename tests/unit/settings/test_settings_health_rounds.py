"""The sections `checkpoint_health` and `retention_coverage` of the settings file: the same settings for two kinds of rounds."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamops.settings import load_settings
from streamops.spec.health_rounds import HealthRounds
from support.settings import Project, a_declared_stream, a_project

EXAMPLE = Path(__file__).parents[3] / "config" / "streams.yaml"

DEFAULTS = HealthRounds(shards=4, every=timedelta(minutes=5), on_change="")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return a_project(tmp_path)


def with_section(text: str) -> str:
    return f"state_root: data/state\nstreams: {{}}\n{text}"


def test_a_file_without_the_section_has_the_defaults(project: Project) -> None:
    assert project.load(streams={"orders": a_declared_stream()}).checkpoint_health == DEFAULTS


def test_the_shipped_file_writes_out_the_true_defaults() -> None:
    assert load_settings(EXAMPLE, {}).checkpoint_health == DEFAULTS


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        pytest.param("{shards: 64}", {"shards": 64}, id="many shards"),
        pytest.param("{every: 1m}", {"every": timedelta(minutes=1)}, id="as often as can be"),
        pytest.param("{on_change: my_alerts:tell}", {"on_change": "my_alerts:tell"}, id="a function"),
        pytest.param("{on_change: a.b:C.tell}", {"on_change": "a.b:C.tell"}, id="of a class in a package"),
        pytest.param('{on_change: ""}', {"on_change": ""}, id="nobody is told"),
    ],
)
def test_what_is_declared_is_what_is_done(project: Project, section: str, expected: dict[str, Any]) -> None:
    rounds = project.load_text(with_section(f"checkpoint_health: {section}")).checkpoint_health

    assert {name: getattr(rounds, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("section", "place", "found"),
    [
        pytest.param("{shards: 0}", "shards", "0", id="nobody looks"),
        pytest.param("{shards: 65}", "shards", "65", id="more tasks than a round should have"),
        pytest.param("{every: 59s}", "every", "'59s'", id="over before its tasks have begun"),
        pytest.param("{every: often}", "every", "'often'", id="no duration"),
        pytest.param("{on_change: my_alerts}", "on_change", "'my_alerts'", id="a module alone"),
        pytest.param("{on_change: 'my_alerts:tell(1)'}", "on_change", "'my_alerts:tell(1)'", id="a call"),
        pytest.param("{on_change: 'os;sys:exit'}", "on_change", "'os;sys:exit'", id="no name of a module"),
        pytest.param("{onchange: a:b}", "onchange", "'onchange'", id="an unknown name"),
    ],
)
def test_a_wrong_section_is_a_problem_with_its_place(project: Project, section: str, place: str, found: str) -> None:
    settings = project.load_text(with_section(f"checkpoint_health: {section}"))

    (problem,) = settings.problems
    assert (problem.stream, problem.place) == ("", f"checkpoint_health.{place}")
    assert problem.found.startswith(found)
    assert settings.checkpoint_health == DEFAULTS


@pytest.mark.parametrize("section", ["{every: often}", "[]", "5m", "", "${NOWHERE}", "{every: 1m, every: 2m}"])
def test_a_wrong_section_disarms_no_stream(project: Project, section: str) -> None:
    project.load(streams={"orders": a_declared_stream(), "stock": "a text"})
    whole = project.file.read_text() + f"\ncheckpoint_health: {section}\n"

    settings = project.load_text(whole)

    assert [spec.name for spec in settings.streams] == ["orders"]
    assert [problem.stream for problem in settings.errors] == ["stock"]
    assert [problem.place.partition(".")[0] for problem in settings.asides] == ["checkpoint_health"]
    assert settings.checkpoint_health == DEFAULTS


def test_beside_a_broken_frame_it_is_one_problem_of_the_whole_file(project: Project) -> None:
    settings = project.load_text("streams: {}\ncheckpoint_health: {every: often}")

    assert settings.streams == ()
    assert [problem.place for problem in settings.errors] == ["state_root", "checkpoint_health.every"]
    assert settings.asides == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"shards": 0}, "shards", id="no shard"),
        pytest.param({"every": timedelta(seconds=59)}, "every", id="too often"),
        pytest.param({"on_change": "tell"}, "module:callable", id="no module"),
        pytest.param({"on_change": "a:b\n"}, "module:callable", id="a line break"),
    ],
)
def test_impossible_rounds_can_not_be_built(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HealthRounds(**changes)


def test_each_kind_of_rounds_has_its_own_settings(project: Project) -> None:
    settings = project.load_text(with_section("checkpoint_health: {every: 7m}\nretention_coverage: {shards: 2}"))

    assert (settings.checkpoint_health.every, settings.checkpoint_health.shards) == (timedelta(minutes=7), 4)
    assert (settings.retention_coverage.every, settings.retention_coverage.shards) == (timedelta(minutes=5), 2)


def test_a_mistake_in_one_section_leaves_the_other(project: Project) -> None:
    settings = project.load_text(with_section("checkpoint_health: {every: 7m}\nretention_coverage: {every: often}"))

    assert settings.checkpoint_health.every == timedelta(minutes=7)
    assert settings.retention_coverage == DEFAULTS
    assert [problem.place for problem in settings.asides] == ["retention_coverage.every"]


def test_the_shipped_file_writes_out_the_true_defaults_of_the_coverage_rounds() -> None:
    assert load_settings(EXAMPLE, {}).retention_coverage == DEFAULTS
