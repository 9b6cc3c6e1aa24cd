"""The memory that is free on this machine, and the memory that a driver is declared to take."""

import os
import re
from pathlib import Path

from streamops.spec import StreamSpec
from streamops_sandbox.catalogue.rounds import MEBIBYTE, OVERHEAD, Demand, Room
from streamops_sandbox.errors import SandboxError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")

DRIVER_MEMORY = "spark.driver.memory"
_SPARK_DEFAULT = "1g"

_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
_INACTIVE = re.compile(r"^inactive_file (\d+)$", re.MULTILINE)
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": MEBIBYTE, "k": 2**10, "m": MEBIBYTE, "g": 2**30, "t": 2**40}
"""By the letter behind the number; Spark takes a driver's memory without one for mebibytes."""


def room(*, meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> Room:
    """What this machine has free: its own available memory, or what is left of the limit of its container (cgroup v2)."""
    found = _AVAILABLE.search(meminfo.read_text(encoding="utf-8"))
    if found is None:
        raise SandboxError(f"{meminfo} does not say what memory is available: Linux does since 3.14")
    free = int(found[1]) * 2**10
    left = _left_of_limit(cgroup)
    return Room(memory=free if left is None else min(free, left), cores=len(os.sched_getaffinity(0)))


def demand(spec: StreamSpec) -> Demand:
    """What a driver of the stream takes."""
    declared = dict(spec.conf).get(DRIVER_MEMORY, _SPARK_DEFAULT)
    return Demand(stream=spec.name, memory=size(declared) + OVERHEAD)


def size(text: str) -> int:
    """Bytes of a size as Spark writes it, `1g` or `1500m`; SandboxError for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise SandboxError(f"{DRIVER_MEMORY} is {text!r}: a number with k, m, g or t behind it is expected, such as 1g")
    return int(found[1]) * _UNITS[found[2].lower()]


def _left_of_limit(cgroup: Path) -> int | None:
    """None where there is no limit. Pages of files that nobody has used lately are given back when they are needed."""
    try:
        limit, used = (cgroup / "memory.max").read_text().strip(), int((cgroup / "memory.current").read_text())
        inactive = _INACTIVE.search((cgroup / "memory.stat").read_text())
    except (OSError, ValueError):
        return None
    if not limit.isdigit():
        return None
    return max(0, int(limit) - used + (int(inactive[1]) if inactive else 0))
