import os
from pathlib import Path
from typing import Any

import pytest

from support.settings import Project, a_declared_stream, a_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return a_project(tmp_path)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "./cp/"}, id="one checkpoint, spelled twice"),
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "cp/b"}, id="second inside"),
        pytest.param({"checkpoint": "cp/a/b"}, {"checkpoint": "cp"}, id="first inside"),
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "cp.streamops"}, id="in place of the control folder"),
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "cp.streamops/b"}, id="inside the control folder"),
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "cp.companion-0"}, id="in place of a companion"),
        pytest.param({"checkpoint": "cp.companion-12/b"}, {"checkpoint": "cp"}, id="inside a companion"),
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "cp.backfills"}, id="in place of the backfills"),
        pytest.param(
            {"checkpoint": "cp.backfills/march/checkpoint"}, {"checkpoint": "cp"}, id="in place of a backfill"
        ),
        pytest.param({"checkpoint": "cp"}, {"sink": {"delta": {"table": "cp.companion-0"}}}, id="table on a companion"),
        pytest.param({"checkpoint": "cp"}, {"sink": {"dead_letters": "cp.backfills/x"}}, id="table among backfills"),
        pytest.param(
            {"checkpoint": "cp"},
            {"source": {"kafka": None, "files": {"path": "cp.companion-0", "format": "text"}}},
            id="reads a companion's checkpoint",
        ),
        pytest.param({"checkpoint": "cp"}, {"sink": {"delta": {"table": "cp"}}}, id="table on a checkpoint"),
        pytest.param({"checkpoint": "cp"}, {"sink": {"dead_letters": "cp/x"}}, id="table in a checkpoint"),
        pytest.param({"checkpoint": "t/_cp"}, {"sink": {"delta": {"table": "t"}}}, id="checkpoint in a table"),
    ],
)
def test_a_conflict_stops_both_streams_and_nobody_else(
    project: Project, first: dict[str, Any], second: dict[str, Any]
) -> None:
    settings = project.load(
        streams={
            "orders": a_declared_stream("orders", **first),
            "returns": a_declared_stream("returns", **second),
            "stock": a_declared_stream("stock"),
        }
    )

    assert [spec.name for spec in settings.streams] == ["stock"]
    by_stream = {error.stream: error.expected for error in settings.errors}
    assert by_stream.keys() == {"orders", "returns"}
    assert "of returns" in by_stream["orders"]
    assert "of orders" in by_stream["returns"]


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        pytest.param({"sink": {"delta": {"table": "cp/t"}}}, {"checkpoint", "sink.delta.table"}, id="own table inside"),
        pytest.param(
            {"checkpoint": "data/tables/orders/cp"}, {"checkpoint", "sink.delta.table"}, id="inside own table"
        ),
        pytest.param(
            {"sink": {"dead_letters": "data/tables/orders"}},
            {"sink.delta.table", "sink.dead_letters"},
            id="dead letters among the rows",
        ),
        pytest.param(
            {"source": {"kafka": None, "delta": {"table": "data/tables/orders"}}},
            {"sink.delta.table", "source.delta.table"},
            id="reads its own table",
        ),
        pytest.param(
            {"source": {"kafka": None, "delta": {"table": "data/dead/orders"}}},
            {"sink.dead_letters", "source.delta.table"},
            id="reads its own dead letters",
        ),
        pytest.param(
            {"source": {"kafka": None, "files": {"path": "cp/in", "format": "text"}}},
            {"checkpoint", "source.files.path"},
            id="reads files in its checkpoint",
        ),
        pytest.param(
            {"sink": {"delta": {"table": "cp.companion-0"}}},
            {"checkpoint", "sink.delta.table"},
            id="own table in place of a companion",
        ),
        pytest.param({"checkpoint": "data/state/registry/cp"}, {"checkpoint"}, id="inside the registry"),
        pytest.param({"checkpoint": "data/state"}, {"checkpoint"}, id="around the registry"),
    ],
)
def test_a_stream_can_be_in_conflict_with_itself(project: Project, changes: dict[str, Any], places: set[str]) -> None:
    declared = a_declared_stream(**{"checkpoint": "cp", **changes})
    settings = project.load(streams={"orders": declared})

    assert {error.place.removeprefix("streams.orders.") for error in settings.errors} == places


def test_a_symlink_does_not_make_one_checkpoint_two(project: Project) -> None:
    (project.root / "cp").mkdir()
    os.symlink(project.root / "cp", project.root / "link")
    settings = project.load(
        streams={
            "orders": a_declared_stream("orders", checkpoint="cp"),
            "returns": a_declared_stream("returns", checkpoint="link"),
        }
    )

    assert settings.streams == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            {"sink": {"delta": {"table": "t"}}}, {"sink": {"delta": {"table": "t"}}}, id="one table: both append"
        ),
        pytest.param({"checkpoint": "cp/orders"}, {"checkpoint": "cp/orders_2"}, id="a common beginning of the name"),
        pytest.param({"checkpoint": "cp"}, {"checkpoint": "cp.companion-x"}, id="a name like a companion's"),
        pytest.param(
            {"sink": {"delta": {"table": "t"}}},
            {"sink": {"delta": {"table": "t.companion-0"}}},
            id="a table has no companions",
        ),
        pytest.param(
            {"sink": {"delta": {"table": "t"}}},
            {"source": {"kafka": None, "delta": {"table": "t"}}},
            id="one reads what the other writes",
        ),
        pytest.param(
            {"source": {"kafka": None, "files": {"path": "in", "format": "text"}}},
            {"source": {"kafka": None, "files": {"path": "in", "format": "text"}}},
            id="both read one folder",
        ),
    ],
)
def test_what_only_looks_like_a_conflict_passes(
    project: Project, first: dict[str, Any], second: dict[str, Any]
) -> None:
    settings = project.load(
        streams={"orders": a_declared_stream("orders", **first), "returns": a_declared_stream("returns", **second)}
    )

    assert settings.errors == ()


@pytest.mark.fault("B28")
def test_one_shared_checkpoint_is_one_problem_for_each_stream(project: Project) -> None:
    settings = project.load(
        streams={
            "orders": a_declared_stream("orders", checkpoint="cp"),
            "returns": a_declared_stream("returns", checkpoint="cp"),
        }
    )

    assert [(error.stream, error.place) for error in settings.errors] == [
        ("orders", "streams.orders.checkpoint"),
        ("returns", "streams.returns.checkpoint"),
    ]
