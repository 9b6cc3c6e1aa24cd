"""Faults that users of other tools met, about owners, submits, drivers, Airflow or checkpoints: each is answered by a test.

A test bears `@pytest.mark.fault("B27")`; the numbers are those of the project's catalogue of reports. The files
`test_fault_*.py` hold nothing else, and there each test cites the report itself.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

OWNERS = {"B27", "B28", "B29", "B30"}
DRIVERS = {"B41", "B64", "B65", "B66", "B67", "B68", "B69", "B83"}
"""B41, a broker that vanished, and B83, an idle query, are about drivers, too: one hangs, the other only seems to."""
AIRFLOW = {"B71", "B72", "B73", "B74", "B75", "B76", "B78", "B79", "B80", "B91", "B92", "B93", "B94", "B96"}
CHECKPOINTS = {
    *("B01", "B02", "B03", "B04", "B05", "B08", "B09", "B10", "B11", "B12", "B13", "B14", "B15", "B16", "B17", "B18"),
    *("B20", "B21", "B22", "B23", "B24", "B26"),
    *("B45", "B47", "B48", "B49", "B50", "B51"),
    *("B59", "B62", "B63", "B81", "B82", "B83"),
}
"""Logs, sinks and input, state, and what of the rest concerns a checkpoint."""
SOURCES = {"B32", "B33", "B34", "B36", "B37", "B38", "B40", "B42", "B43", "B44", "B59", "B61"}
"""Kafka, Event Hubs and Delta as sources."""
CITATION = re.compile(r"\w[\w.-]*/[\w.-]+#\d+|SPARK-\d+|\b(?:[a-z]+\.)+(?:com|net) \S+")
"""An issue, a pull request, or a page that has neither number: its site, and by what it is found there."""


@dataclass(frozen=True)
class Found:
    """A test, the records that it is marked with, and its text, decorators included."""

    file: str
    name: str
    faults: frozenset[str]
    text: str


@cache
def marked() -> tuple[Found, ...]:
    """Every test that answers a record."""
    return tuple(found for file in sorted(TESTS.rglob("test_*.py")) for found in _read(file) if found.faults)


def _read(file: Path) -> Iterator[Found]:
    lines = file.read_text(encoding="utf-8").splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        calls = [mark for mark in node.decorator_list if isinstance(mark, ast.Call)]
        faults = {ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func) == "pytest.mark.fault"}
        first = min([mark.lineno for mark in node.decorator_list], default=node.lineno)
        yield Found(file.name, node.name, frozenset(faults), "\n".join(lines[first - 1 : node.end_lineno]))


@pytest.mark.parametrize("fault", sorted(OWNERS | DRIVERS | AIRFLOW | SOURCES | CHECKPOINTS))
def test_each_fault_is_answered_by_a_test(fault):
    assert [found.name for found in marked() if fault in found.faults]


def test_each_test_of_a_fault_cites_the_report():
    ours = [found for found in marked() if found.file.startswith("test_fault_")]

    assert len(ours) > 10
    assert [found.name for found in ours if not CITATION.search(found.text)] == []
