"""The JSON schema of the settings file, and the reference that is written from the same model."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from streamops.settings.schema import settings_schema
from support.settings import a_declared_stream
from support.settings_page import PAGE, SCHEMA, page, schema_text

CONFIG = Path(__file__).parents[3] / "config"


def problems(content: object) -> list[str]:
    """Where the schema finds something wrong."""
    found = Draft202012Validator(settings_schema()).iter_errors(content)
    return ["/".join(str(part) for part in error.absolute_path) for error in found]


def a_file(**stream: Any) -> dict[str, Any]:
    return {"state_root": "state", "streams": {"orders": a_declared_stream("orders", **stream)}}


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(settings_schema())


@pytest.mark.parametrize("file", ["streams.yaml", "catalogue.yaml"])
def test_the_files_of_this_project_fit(file: str) -> None:
    assert problems(yaml.safe_load((CONFIG / file).read_text())) == []


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param({"trigger": "default"}, id="a trigger by its word"),
        pytest.param({"restart": {"thrash_limit": "${LIMIT:-5}", "jitter": 0.2}}, id="a variable for a number"),
        pytest.param({"stall": {"action": "${ACTION}"}}, id="a variable for a word"),
        pytest.param({"launch": {"conf": {"spark.x": 2, "spark.y": False}}}, id="numbers where Spark takes texts"),
        pytest.param({"timings": {"beat": "5s"}}, id="a duration"),
    ],
)
def test_what_the_loader_takes_fits(stream: dict[str, Any]) -> None:
    assert problems(a_file(**stream)) == []


@pytest.mark.parametrize(
    ("stream", "place"),
    [
        pytest.param({"trigger": {"processing_time": 5}}, "streams/orders/trigger", id="a duration without a unit"),
        pytest.param({"jobb": "x"}, "streams/orders", id="a name that is none"),
        pytest.param({"stall": {"action": "explode"}}, "streams/orders/stall/action", id="a word that is none"),
        pytest.param({"restart": {"thrash_limit": "five"}}, "streams/orders/restart/thrash_limit", id="no number"),
    ],
)
def test_what_the_loader_refuses_is_marked_where_it_stands(stream: dict[str, Any], place: str) -> None:
    assert problems(a_file(**stream)) == [place]


def test_defaults_are_checked_like_streams() -> None:
    assert problems(a_file() | {"defaults": {"keep": {"epochs": "many"}}}) == ["defaults/keep/epochs"]


def test_the_page_and_the_file_are_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it anew: PYTHONPATH=plugins:tests python -m support.settings_page"
    assert SCHEMA.read_text() == schema_text(), (
        "write it anew: PYTHONPATH=plugins:tests python -m support.settings_page"
    )
