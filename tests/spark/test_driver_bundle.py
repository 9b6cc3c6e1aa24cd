"""The zip that travels: whole, and content with a bare interpreter. Starts no JVM."""

import json
import subprocess
import sys
import zipfile

import pytest

from streamops.supervision.bundle import DriverBundle, driver_bundle

IMPORT_ALL = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
for name in sys.argv[2:]:
    importlib.import_module(name)
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
place = sys.modules["streamops"].__file__
print(json.dumps([sorted(loaded - set(sys.stdlib_module_names) - {"streamops"}), place]))
"""


@pytest.fixture
def bundle(tmp_path) -> DriverBundle:
    return driver_bundle(f"file://{tmp_path}")


def modules(bundle: DriverBundle) -> list[str]:
    names = [name.removesuffix(".py").replace("/", ".") for name in zipfile.ZipFile(bundle.library).namelist()]
    return sorted(name.removesuffix(".__init__") for name in names)


def imported(bundle: DriverBundle, *names: str) -> tuple[list[str], str]:
    """What a bare interpreter loads beside the standard library, and where it took streamops from."""
    command = [sys.executable, "-I", "-S", "-c", IMPORT_ALL, bundle.library, *names]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    foreign, place = json.loads(answer.stdout)
    return foreign, place


def test_the_runner_needs_nothing_but_the_zip_and_the_standard_library(bundle):
    foreign, place = imported(bundle, "streamops.spark.runner")

    assert foreign == []
    assert place.startswith(bundle.library)


def test_so_does_every_module_of_the_zip(bundle):
    foreign, _ = imported(bundle, *modules(bundle))

    assert foreign == []


def test_the_zip_holds_no_more_than_a_driver_needs(bundle):
    packages = {".".join(name.split(".")[:2]) for name in modules(bundle)}

    assert packages == {
        "streamops",
        "streamops.clock",
        "streamops.control",
        "streamops.progress",
        "streamops.errors",
        "streamops.spark",
        "streamops.storage",
    }


def test_the_same_sources_make_the_same_bundle(bundle, tmp_path):
    assert driver_bundle(f"file://{tmp_path}") == bundle


def test_a_bundle_lies_below_the_state_root_under_a_name_of_its_content(bundle, tmp_path):
    assert bundle.library.startswith(str(tmp_path / "lib"))
    assert bundle.application.rpartition("/")[0] == bundle.library.rpartition("/")[0]
