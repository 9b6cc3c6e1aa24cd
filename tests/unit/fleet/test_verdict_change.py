"""Who is told of a change of verdict, and in which words."""

import importlib
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamops.errors import SettingsError
from streamops.fleet.verdict_change import VerdictChange, load_on_change, log_change
from streamops.verdict import Verdict

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

MODULE = """
TOLD = []
def tell(change):
    TOLD.append(change)
class Desk:
    tell = staticmethod(tell)
NUMBER = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The name of a module of somebody's own, which nothing has imported yet."""
    name = f"alerts_of_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_broken.py").write_text("raise RuntimeError('no key')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def a_change(before: Verdict | None, after: Verdict, *rules: str) -> VerdictChange:
    return VerdictChange(stream="orders", before=before, after=after, at=AT, rules=rules, report="")


@pytest.mark.parametrize(
    ("change", "text", "level"),
    [
        pytest.param(
            a_change(Verdict.OK, Verdict.CRITICAL, "missing-offsets", "leftovers"),
            "orders: ok -> critical (missing-offsets, leftovers)",
            "WARNING",
            id="worse",
        ),
        pytest.param(a_change(Verdict.CRITICAL, Verdict.OK), "orders: critical -> ok", "INFO", id="all is well again"),
        pytest.param(a_change(None, Verdict.UNKNOWN), "orders: no verdict -> unknown", "WARNING", id="the first"),
    ],
)
def test_a_change_is_one_line(change: VerdictChange, text: str, level: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="streamops"):
        log_change(change)

    (record,) = caplog.records
    assert str(change) == text
    assert (record.levelname, record.message) == (level, f"stream=orders checkpoint verdict changed: {text}")


@pytest.mark.parametrize("path", ["tell", "Desk.tell"])
def test_the_callable_is_found_and_called_with_the_change(module: str, path: str) -> None:
    change = a_change(Verdict.OK, Verdict.WARNING)

    load_on_change(f"{module}:{path}")(change)

    told = importlib.import_module(module).TOLD
    assert told == [change]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("{}_gone:tell", "ModuleNotFoundError", id="no such module"),
        pytest.param("{}:shout", "AttributeError", id="no such name in it"),
        pytest.param("{}_broken:tell", "RuntimeError: no key", id="a module that can't be imported"),
        pytest.param("{}:NUMBER", "is of type int, a callable is expected", id="no callable"),
    ],
)
def test_what_can_not_be_had_is_a_settings_error_that_names_it(module: str, path: str, message: str) -> None:
    name = path.format(module)

    with pytest.raises(SettingsError, match=rf"checkpoint_health\.on_change: {name} .*{message}"):
        load_on_change(name)
