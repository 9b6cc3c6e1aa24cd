"""The generator goes on only where its numbering is known to be without holes."""

import json
from pathlib import Path

import pytest

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.orders import OrdersState, load_orders_state, main

ENDED_WELL = {"sent": 10, "malformed": 2, "next_order_id": 10, "running": False, "unacknowledged": 0}


def refused(tmp_path: Path, **changes: object) -> int:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(ENDED_WELL | changes))
    return main(["--bootstrap", "127.0.0.1:1", "--topic", "orders", "--state", str(path)])


def test_refuses_to_guess_after_a_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(tmp_path, running=True) == 2
    assert "nobody knows which orders from about 10 on arrived" in capsys.readouterr().err


def test_refuses_to_go_on_behind_a_possible_hole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(tmp_path, unacknowledged=3) == 2
    assert "3 records of the last run were never acknowledged" in capsys.readouterr().err


def test_before_the_first_run_there_is_no_state(tmp_path: Path) -> None:
    assert load_orders_state(tmp_path / "orders.json") is None


def test_unknown_keys_of_a_newer_version_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(ENDED_WELL | {"colour": "blue"}))

    assert load_orders_state(path) == OrdersState(sent=10, malformed=2, next_order_id=10)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"sent": "many"}'], ids=["cut off", "a list", "empty", "no number"])
def test_a_broken_state_names_its_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "orders.json"
    path.write_text(text)

    with pytest.raises(SandboxError, match=r"orders\.json"):
        load_orders_state(path)
