"""J10 on trial: the last update of each window is right. Kafka is at least once, and the crash makes that visible."""

import json
from collections import Counter
from decimal import Decimal

import pytest

from streamops.sandbox.inputs import USUAL, events
from support.job_account import TRIAL_MARKS
from support.topics import counting, published

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

TOPIC = "event_aggregates"


def test_the_last_update_of_each_window_is_right_and_a_crash_repeats_some(trial, cluster):
    sent = events.records(seed=10, count=2_000, shares=USUAL)
    run = trial("event_aggregates", TOPIC)

    with counting(cluster.bootstrap, TOPIC) as written:
        run.play(sent, kill_in=(1, 3), written=written)
    run.stop()

    updates = published(cluster.bootstrap, TOPIC)
    times = Counter((update.key, update.value) for update in updates)
    account = run.account(
        found=[_window(value) for value in {update.key: update.value for update in updates}.values()],
        expected=[
            (f"{window.start:%H:%M}", f"{window.end:%H:%M}", window.type, window.count, window.amount)
            for window in events.expected_windows(sent)
        ],
        dead_letters=events.expected_dead_letters(sent),
        repeated=sum(count - 1 for count in times.values()),
    )
    assert (account.kills, account.lost) == (2, 0)
    assert account.duplicated == sum(count - 1 for count in times.values()) > 0


def _window(value: bytes) -> tuple[str, str, str, int, Decimal]:
    found = json.loads(value)
    return found["start"][11:16], found["end"][11:16], found["type"], found["events"], Decimal(found["amount"])
