"""J13 on trial: each file counts once and each bad line is a dead letter, although the driver was struck in a batch of files."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from streamops.sandbox.catalogue.comparing import Difference, table_rows
from streamops.sandbox.inputs.order_files import OrderFile, expected_bad_lines, expected_orders, files, put
from streamops.storage.address import local_path
from support.job_account import TRIAL_MARKS, Account

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

WAVES = 4
COLUMNS = ("order_id", "customer", "amount", "status", "event_time")


def test_each_file_counts_once(trial, record_property):
    began = time.monotonic()
    made = files(formats=["json"], count=8, rows=250, bad=0.05, waves=WAVES)
    run = trial("files_etl")
    landing = Path(local_path(run.spec.source.path))
    landing.mkdir(parents=True)
    kills = 0

    for number in range(WAVES):
        put([flat(file) for file in made if file.wave == number], landing)
        if number in (1, 3):
            run.kill_in_batch()
            kills += 1
        here = [file for file in made if file.wave <= number]
        run.until(lambda here=here: len(letters(run)) >= sum(expected_bad_lines(here).values()), "the dead letters")
        run.until(lambda here=here: len(run.rows("order_id")) >= len(expected_orders(here)), "the orders")
    run.until(lambda: run.ask("check", run.spec.name).returncode == 0, "the last commit")
    run.stop()

    difference = Difference.between(
        found=run.rows(*COLUMNS),
        expected=[tuple(getattr(row, column) for column in COLUMNS) for row in expected_orders(made)],
    )
    account = Account(
        job=run.spec.name,
        guarantee=run.spec.sink.guarantee.value,
        records=8 * 250,
        kills=kills,
        lost=difference.lost.total(),
        duplicated=difference.surplus.total(),
        repeated=0,
        seconds=round(time.monotonic() - began, 1),
    )
    account.keep()
    record_property("figure", account.line)
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
    assert Counter(Path(file).name for (file,) in letters(run)) == {
        Path(name).name: lines for name, lines in expected_bad_lines(made).items()
    }


def flat(file: OrderFile) -> OrderFile:
    """Straight in the folder: the file source doesn't look below it."""
    return replace(file, name=Path(file.name).name)


def letters(run) -> list[tuple[object, ...]]:
    return table_rows(run.spec.sink.dead_letters, "file")
