"""The narrowest gap of each guarantee: the driver dies when its table has the batch and its checkpoint does not know it yet.

The batch runs again, and the table has to recognise it: an appended or replaced one by its number in the table's log, a merged
one by the keys of its rows.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from streamops.checkpoint.layout import COMMITS, OFFSETS, batch_id
from streamops.storage.address import local_path
from streamops_sandbox.inputs import USUAL, category_orders, events, waves, words
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


class Gap:
    """Whether a stream is between the commit of its table and that of its batch, as the files of both tell."""

    def __init__(self, *, table: str, checkpoint: str) -> None:
        self._log = Path(local_path(table)) / "_delta_log"
        self._checkpoint = Path(local_path(checkpoint))
        self._committed, self._version = -1, -1

    def is_open(self) -> bool:
        committed = self._newest(COMMITS)
        if committed != self._committed:
            self._committed, self._version = committed, self._newest_version()
        return self._newest(OFFSETS) > committed >= 0 and self._newest_version() > self._version

    def _newest(self, log: str) -> int:
        batches = (batch_id(name) for name in _names(self._checkpoint / log))
        return max((batch for batch in batches if batch is not None), default=-1)

    def _newest_version(self) -> int:
        versions = (name.removesuffix(".json") for name in _names(self._log) if name.endswith(".json"))
        return max((int(version) for version in versions if version.isdigit()), default=-1)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


@pytest.mark.parametrize(
    ("stream", "topic", "columns", "expected"),
    [
        pytest.param(
            "word_count",
            words,
            ("word", "count"),
            lambda sent: words.expected_counts(sent).items(),
            id="replaced, by number",
        ),
        pytest.param(
            "events_dedup",
            events,
            ("event_id", "amount"),
            lambda sent: [(event.event_id, event.amount) for event in events.expected_unique(sent)],
            id="appended, by number",
        ),
        pytest.param(
            "category_totals",
            category_orders,
            ("category", "orders", "revenue"),
            lambda sent: [
                (total.category, total.orders, total.revenue) for total in category_orders.expected_totals(sent)
            ],
            id="merged, by key",
        ),
    ],
)
def test_a_batch_that_the_table_has_already_is_not_there_twice(trial, stream, topic, columns, expected):
    sent = topic.records(seed=5, count=600, shares=USUAL)
    run = trial(stream)
    gap = Gap(table=run.spec.sink.table, checkpoint=run.spec.checkpoint)

    with ThreadPoolExecutor(max_workers=1) as striker:
        # It lies in wait over all waves: the gap lasts some milliseconds, and may be missed now and then.
        blow = striker.submit(run.kill, once=gap.is_open)
        for wave in waves(sent):
            run.send(wave)
            run.settle()
        blow.result()
    run.stop()

    account = run.account(
        found=run.rows(*columns), expected=expected(sent), dead_letters=topic.expected_dead_letters(sent)
    )
    assert (account.kills, account.lost, account.duplicated) == (1, 0, 0)
