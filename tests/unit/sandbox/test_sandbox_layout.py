"""Everything of the sandbox lies below one folder of the project."""

from pathlib import Path

import pytest

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout, find_project

OF_THE_PROJECT = {"broker_jars", "dags", "plugins", "postgres_programs", "stream_config"}


def a_project(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").touch()
    return folder


def test_what_the_sandbox_writes_lies_below_its_root(tmp_path: Path) -> None:
    layout = SandboxLayout.of_project(tmp_path)
    properties = {name for name, kind in vars(SandboxLayout).items() if isinstance(kind, property)}

    places = [getattr(layout, name) for name in properties - OF_THE_PROJECT]
    written = [path for place in places for path in (place if isinstance(place, tuple) else (place,))]

    assert written
    assert all(path.is_relative_to(tmp_path / ".sandbox") for path in written)


def test_folders_are_closed_to_other_users(tmp_path: Path) -> None:
    layout = SandboxLayout.of_project(tmp_path)

    layout.create_folders()

    assert layout.root.stat().st_mode & 0o077 == 0


def test_refuses_a_relative_root(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="absolute"):
        SandboxLayout(project=tmp_path, root=Path(".sandbox"))


def test_the_project_is_the_nearest_folder_upward_with_a_pyproject(tmp_path: Path) -> None:
    project = a_project(tmp_path / "outer" / "inner")
    a_project(tmp_path / "outer")
    (project / "jobs").mkdir()

    assert find_project(project / "jobs", {}) == project


def test_the_variable_wins_over_the_working_directory(tmp_path: Path) -> None:
    here, named = a_project(tmp_path / "here"), a_project(tmp_path / "named")

    assert find_project(here, {"STREAMOPS_PROJECT": str(named)}) == named


def test_a_variable_that_names_no_project_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="STREAMOPS_PROJECT"):
        find_project(a_project(tmp_path / "here"), {"STREAMOPS_PROJECT": str(tmp_path)})


def test_outside_a_project_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="change into the project"):
        find_project(tmp_path, {})
