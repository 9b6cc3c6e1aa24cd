"""What is free, in a container too, and what a driver takes."""

from dataclasses import replace

import pytest

from streamops_sandbox.catalogue.memory import demand, room, size
from streamops_sandbox.catalogue.rounds import GIBIBYTE, MEBIBYTE
from streamops_sandbox.errors import SandboxError
from support.specs import a_stream

MEMINFO = "MemTotal:       25165824 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\n"


def a_machine(folder, **files):
    (folder / "meminfo").write_text(MEMINFO)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return room(meminfo=folder / "meminfo", cgroup=folder)


@pytest.mark.parametrize(
    ("files", "gibibytes"),
    [
        pytest.param({}, 12, id="no container"),
        pytest.param({"memory_max": "max\n", "memory_current": "1\n", "memory_stat": ""}, 12, id="no limit"),
        pytest.param(
            {"memory_max": f"{8 * GIBIBYTE}\n", "memory_current": f"{5 * GIBIBYTE}\n", "memory_stat": "anon 1\n"},
            3,
            id="what is left of the limit",
        ),
        pytest.param(
            {
                "memory_max": f"{8 * GIBIBYTE}\n",
                "memory_current": f"{5 * GIBIBYTE}\n",
                "memory_stat": f"inactive_file {2 * GIBIBYTE}\n",
            },
            5,
            id="the cache of files can be had back",
        ),
        pytest.param(
            {"memory_max": f"{64 * GIBIBYTE}\n", "memory_current": "0\n", "memory_stat": ""}, 12, id="a limit above all"
        ),
    ],
)
def test_the_smaller_of_machine_and_container_counts(tmp_path, files, gibibytes):
    assert a_machine(tmp_path, **files).memory == gibibytes * GIBIBYTE


def test_a_machine_that_does_not_tell_is_refused(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")

    with pytest.raises(SandboxError, match="does not say what memory is available"):
        room(meminfo=tmp_path / "meminfo", cgroup=tmp_path)


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [("1g", 1024), ("1500m", 1500), ("2G", 2048), ("512", 512), ("1gb", 1024), ("1048576k", 1024)],
)
def test_sizes_are_read_as_spark_reads_them(text, mebibytes):
    assert size(text) == mebibytes * MEBIBYTE


@pytest.mark.parametrize("text", ["", "much", "-1g", "1.5g", "1 g"])
def test_anything_else_is_refused(text):
    with pytest.raises(SandboxError, match=r"spark\.driver\.memory is "):
        size(text)


@pytest.mark.parametrize(
    ("conf", "mebibytes"), [((("spark.driver.memory", "2g"),), 2748), ((), 1724)], ids=["declared", "Spark's own"]
)
def test_a_driver_takes_its_heap_and_700_mib(conf, mebibytes):
    spec = a_stream()

    assert demand(replace(spec, launch=replace(spec.launch, conf=conf))).memory == mebibytes * MEBIBYTE
