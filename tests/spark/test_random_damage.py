"""A few cases of `make damage`, so that the run itself stays alive; what it finds counts there, and not here."""

import json

import pytest

from damage.__main__ import main

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def test_cases_are_damaged_foretold_started_and_repaired(tmp_path):
    target = tmp_path / "damage.json"

    main(
        ["--cases", "6", "--seed", "1", "--only", "^files-ledger$", "--target", str(target), "--folder", str(tmp_path)]
    )

    account = json.loads(target.read_text())
    assert (account["cases"], account["harness"], account["no_answer"]) == (6, 0, 0)
    assert account["agree"] > 0


def test_an_undamaged_checkpoint_is_judged_as_it_is(tmp_path):
    """Case 9:8 of this kind is a control: nothing is done to it."""
    target = tmp_path / "damage.json"

    assert main(["--replay", CONTROL, "--target", str(target), "--folder", str(tmp_path)]) == 0

    account = json.loads(target.read_text())
    assert account["by_act"] == {"none": {"agree": 1}}


CONTROL = "9:8:files-ledger"
