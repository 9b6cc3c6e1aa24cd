"""Takes out of a text what belongs to the machine and the moment: the rest is the same at each recording."""

import re
import socket
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[3]

_PLACES = [
    (str(PROJECT / ".venv"), "/venv"),
    (str(PROJECT), "/project"),
    (sys.base_prefix, "/python"),
    (str(Path.home()), "/home/user"),
]
_MOMENTS = [
    (
        re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        "00000000-0000-0000-0000-000000000000",
    ),
    (re.compile(r"\b(127\.0\.0\.1|localhost)(:|/127\.0\.0\.1:)\d{4,5}\b"), r"\1\g<2>9092"),
    (re.compile(r"\b(?!127\.|0\.0\.0\.0)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b(?=[:/) ,]|$)"), "10.0.0.1"),
    (re.compile(r"\b\d\d/\d\d/\d\d \d\d:\d\d:\d\d\b"), "26/01/01 00:00:00"),
    (re.compile(r"\b20\d\d-\d\d-\d\d([ T])\d\d:\d\d:\d\d(?:[.,]\d+)?"), r"2026-01-01\g<1>00:00:00.000"),
    (re.compile(r"\b1[78]\d{11}\b"), "1767225600000"),
    (re.compile(r"@[0-9a-f]{5,8}\b"), "@0"),
    (re.compile(r"\b0x[0-9a-f]{8,16}\b"), "0x0"),
    (re.compile(r"\bo\d+\."), "o1."),
    (re.compile(r"\b((?:pid|tid)[=: ]+)\d+", re.IGNORECASE), r"\g<1>1"),
]


def sanitise(text: str, root: Path) -> str:
    """The text without paths, host names, process ids, ports and times of this machine; `root` becomes /tmp/x."""
    text = text.replace(str(root), "/tmp/x")
    for place, name in _PLACES:
        text = text.replace(place, name)
    for host in {socket.gethostname(), socket.getfqdn()} - {"localhost", ""}:
        text = re.sub(rf"\b{re.escape(host)}\b", "driver-host", text)
    for pattern, name in _MOMENTS:
        text = pattern.sub(name, text)
    return text


FRAMES_KEPT = 4


def thinned(text: str) -> str:
    """Of each run of Java's stack frames the first few, the others counted as Java itself does it."""
    lines: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("\tat "):
            run.append(line)
            continue
        lines += run[:FRAMES_KEPT]
        if len(run) > FRAMES_KEPT:
            lines.append(f"\t... {len(run) - FRAMES_KEPT} more")
        run = []
        lines.append(line)
    return "\n".join(lines[:-1])
