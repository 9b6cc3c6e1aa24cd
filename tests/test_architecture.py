"""What the parts may know of each other, what travels to a driver, and which versions belong together."""

import json
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = ROOT / "plugins"
PACKAGE = PLUGINS / "streamops"
LOCK = ROOT / "requirements-dev.lock"
PRODUCTION_LOCK = ROOT / "requirements.lock"

OPEN_FOLDERS = frozenset({"airflow", "spark", "cli", "terminal", "settings", "web"})
"""Packages that import a framework at module level, or (`spark`) have a test of their own."""
HEAVY = (
    "airflow",
    "pyspark",
    "py4j",
    "delta",
    "deltalake",
    "confluent_kafka",
    "pydantic",
    "yaml",
    "typer",
    "rich",
    "fastapi",
)
TRAVELS = frozenset({"spark", "errors", "clock", "control", "progress"})
"""What a driver gets in the zip, beside the storage protocol: its interpreter has the standard library and PySpark."""

IMPORT_EACH = """
import importlib, json, sys
plugins, modules, heavy = json.loads(sys.argv[1])
sys.path.insert(0, plugins)
trouble = {}
for module in modules:
    before = set(sys.modules)
    try:
        importlib.import_module(module)
    except Exception as error:
        trouble[module] = f"{type(error).__name__}: {error}"
    loaded = sorted(name for name in heavy if name in sys.modules and name not in before)
    if loaded:
        trouble[module] = f"loads {', '.join(loaded)}"
print(json.dumps(trouble))
"""


def module_names(*, among: frozenset[str] | None = None, but: frozenset[str] = frozenset()) -> list[str]:
    """All modules of streamops whose top-level part is `among` the given ones and not one of `but`."""
    names = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PLUGINS).with_suffix("").parts
        top = parts[1]
        if parts[-1] == "__main__" or top in but or (among is not None and top not in among):
            continue
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def trouble_when_importing(modules: list[str], *, standard_library_only: bool) -> dict[str, str]:
    """What each module drags in or fails on, in a fresh interpreter; the first to load a package is the one named."""
    flags = ["-I", "-S"] if standard_library_only else ["-I"]
    request = json.dumps([str(PLUGINS), modules, HEAVY])
    answer = subprocess.run([sys.executable, *flags, "-c", IMPORT_EACH, request], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def pins() -> dict[str, str]:
    """The exact versions that pyproject.toml asks for, by package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return dict(requirement.split("==") for group in groups for requirement in group if "==" in requirement)


def locked(lock: Path = LOCK) -> dict[str, str]:
    """The text of each entry of a lock, hashes included, by `name==version`."""
    entries = re.split(r"^(?=\S)", lock.read_text(), flags=re.MULTILINE)
    return {entry.split()[0]: entry for entry in entries if entry.strip()}


def pom_properties() -> dict[str, str]:
    properties = ET.parse(ROOT / "config" / "pom.xml").getroot().find("{*}properties")
    assert properties is not None
    return {entry.tag.partition("}")[2]: entry.text or "" for entry in properties}


def compose() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())


# --- who imports what ---------------------------------------------------------


def test_airflow_does_not_execute_the_package_as_plugin_files():
    assert "streamops/" in (PLUGINS / ".airflowignore").read_text().splitlines()


def test_library_modules_import_without_any_framework():
    assert trouble_when_importing(module_names(but=OPEN_FOLDERS), standard_library_only=False) == {}


def test_what_travels_to_a_driver_imports_with_the_standard_library_alone():
    assert trouble_when_importing(module_names(among=TRAVELS), standard_library_only=True) == {}


def test_dag_files_are_wiring():
    lengths = {file.name: len(file.read_text().splitlines()) for file in (ROOT / "dags").glob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


def test_dag_files_are_kept_from_each_part_of_streamops_but_its_airflow_package():
    rules = tomllib.loads((ROOT / "dags" / "ruff.toml").read_text())
    banned = rules["lint"]["flake8-tidy-imports"]["banned-api"]
    parts = {entry.stem for entry in PACKAGE.iterdir() if not entry.name.startswith("_")} - {"airflow", "py"}
    assert {f"streamops.{part}" for part in parts} - banned.keys() == set()


# --- versions that belong together --------------------------------------------


def test_pyspark_and_its_client_are_equal_because_they_write_into_the_same_folder():
    assert version("pyspark") == version("pyspark-client")


def test_exact_pins_stand_in_the_lock():
    assert {f"{package}=={pinned}" for package, pinned in pins().items()} - locked().keys() == set()


def test_what_runs_in_production_is_what_was_tested_without_the_test_tools():
    production = locked(PRODUCTION_LOCK)
    tools = {"hypothesis", "import-linter", "mypy", "pytest", "pytest-xdist", "ruff"}

    assert production.items() - locked().items() == set()
    assert {entry.partition("==")[0] for entry in production} & tools == set()


def test_every_locked_package_has_a_hash():
    assert [name for name, entry in locked().items() if "--hash=sha256:" not in entry] == []


def test_lock_names_no_address():
    text = LOCK.read_text()
    assert re.findall(r"\S*(?:://|--(?:extra-)?index-url|--find-links|--trusted-host)\S*", text) == []


def test_jars_fit_the_python_packages():
    jars = pom_properties()
    assert (jars["spark.version"], jars["delta.version"]) == (pins()["pyspark"], pins()["delta-spark"])


def test_the_delta_jar_is_built_for_our_spark():
    spark = ".".join(pins()["pyspark"].split(".")[:2])
    assert (
        f"<artifactId>delta-spark_{spark}_${{scala.binary}}</artifactId>" in (ROOT / "config" / "pom.xml").read_text()
    )


# --- the repository -----------------------------------------------------------


@pytest.mark.parametrize("folder", [".ci", "config", "dags", "docker", "jobs", "plugins", "tests"])
def test_folder_exists(folder):
    assert (ROOT / folder).is_dir()


def test_make_test_names_every_folder_that_has_tests():
    folders = {file.relative_to(ROOT).parts[1] for file in (ROOT / "tests").rglob("test_*.py")} - {"data"}
    named = set(re.findall(r"\btests/(\w+)\b", (ROOT / "Makefile").read_text()))
    assert {folder for folder in folders if not folder.endswith(".py")} - named == set()


@pytest.mark.parametrize("script", ["config/setup.sh", ".ci/run"])
def test_script_parses(script):
    assert subprocess.run(["bash", "-n", ROOT / script], capture_output=True, text=True).stderr == ""


# --- containers, statically only ----------------------------------------------


def test_compose_refers_to_services_and_files_that_exist():
    services = compose()["services"]
    assert {needed for service in services.values() for needed in service.get("depends_on", [])} <= services.keys()
    builds = [service["build"] for service in services.values() if "build" in service]
    assert [build for build in builds if not (ROOT / "docker" / build["context"] / build["dockerfile"]).is_file()] == []


def test_compose_mounts_folders_that_exist():
    mounts = [mount.split(":")[0] for service in compose()["services"].values() for mount in service.get("volumes", [])]
    folders = {mount for mount in mounts if mount.startswith(".")}
    assert {folder for folder in folders if not (ROOT / "docker" / folder).is_dir()} == set()


def test_compose_holds_no_secret():
    names = [name for service in compose()["services"].values() for name in service.get("environment", {})]
    assert [name for name in names if re.search(r"PASSWORD|SECRET|FERNET|_CONN$", name)] == []


def test_containers_run_the_pinned_versions():
    dockerfile = (ROOT / "docker" / "airflow.Dockerfile").read_text()
    assert f"\nFROM apache/airflow:{pins()['apache-airflow']}-python3.11\n" in dockerfile
    assert compose()["services"]["kafka"]["image"] == f"apache/kafka:{pom_properties()['kafka.version']}"
