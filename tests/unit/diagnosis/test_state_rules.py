"""State that grows without end; and all that must not be taken for it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from streamops.catalogue.watch import HealthSample, Watch
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.judge import STATE_RULES, explanations
from streamops.verdict import Severity, Verdict
from support.base_checkpoint import ADDRESS, files, stored
from support.plans import findings_on

NOW = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MIB = 1 << 20
HOURS = range(30, 0, -1)
"""Checks an hour apart, the oldest first."""

RISING = {age: 1_000_000 - 20_000 * age for age in HOURS}
"""20 000 rows more an hour: 520 000 a day ago, and a million now."""
SAW = {age: 500_000 + 100_000 * (-age % 6) for age in HOURS}
"""A window of six hours that fills up and is let go, time and again."""
A_DAY = {age: 400_000 + 50_000 * abs(12 - (-age % 24)) for age in HOURS}
"""More by day and less by night."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What checks saw of the state so many hours ago, what it is now, and whether that is worth a warning."""

    because: str
    rows: dict[int, int] | None = None
    memory: dict[int, int] | None = None
    now_rows: int | None = None
    now_memory: int | None = None
    is_told: bool = False


ROWS = [
    Row(because="it has gone up all day long", rows=RISING, now_rows=1_000_000, is_told=True),
    Row(
        because="memory has, while the number of rows stays",
        rows=dict.fromkeys(HOURS, 50_000),
        memory={age: (200 - 4 * age) * MIB for age in HOURS},
        now_rows=50_000,
        now_memory=200 * MIB,
        is_told=True,
    ),
    Row(because="it stays", rows=dict.fromkeys(HOURS, 1_000_000), now_rows=1_000_000),
    Row(because="a window fills up and is let go", rows=SAW, now_rows=1_000_000),
    Row(because="it has the rhythm of a day, and stands at its top", rows=A_DAY, now_rows=1_000_000),
    Row(
        because="it jumped once: another input, another state",
        rows={age: 500_000 if age > 10 else 1_000_000 for age in HOURS},
        now_rows=1_000_000,
    ),
    Row(
        because="a fifth in a day may be the input's own growth",
        rows={age: 1_000_000 - 6_000 * age for age in HOURS},
        now_rows=1_000_000,
    ),
    Row(because="it is nothing yet", rows={age: 9_000 - 200 * age for age in HOURS}, now_rows=9_000),
    Row(
        because="it was not watched for a whole day",
        rows={age: count for age, count in RISING.items() if age < 24},
        now_rows=1_000_000,
    ),
    Row(
        because="nobody looked in one quarter of the day",
        rows={age: count for age, count in RISING.items() if not 6 <= age < 12},
        now_rows=1_000_000,
    ),
    Row(
        because="it was empty a day ago: a new query fills its first window", rows={**RISING, 24: 0}, now_rows=1_000_000
    ),
    Row(because="the newest driver tells nothing", rows=RISING),
    Row(because="nobody has told before", now_rows=1_000_000),
    Row(
        because="the query stands still, so its last progress does not change",
        rows={30: 1, **dict.fromkeys(range(29, 0, -1), 90_000)},
        now_rows=90_000,
    ),
]


def said(row: Row) -> list:
    ages = sorted({*(row.rows or {}), *(row.memory or {})}, reverse=True)
    before = tuple(
        HealthSample(
            at=NOW - age * HOUR,
            verdict=Verdict.OK,
            last_offset=4,
            last_commit=4,
            state_rows=(row.rows or {}).get(age),
            state_memory=(row.memory or {}).get(age),
        )
        for age in ages
    )
    watch = Watch(now=NOW, before=before, has_driver=True, state_rows=row.now_rows, state_memory=row.now_memory)
    findings = findings_on(inspect_checkpoint(stored(files()), ADDRESS), watch=watch)
    return [finding for finding in findings if finding.rule == "unbounded-state"]


@pytest.mark.fault("B82")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.because)
def test_state_that_only_grows_is_a_warning_and_nothing_else_is(row):
    assert [finding.severity for finding in said(row)] == ([Severity.WARNING] if row.is_told else [])


def test_the_evidence_tells_the_growth_and_where_it_leads():
    (rows,), (memory,) = said(ROWS[0]), said(ROWS[1])

    assert rows.evidence == "1,000,000 rows, 92% more than a day ago, 15,400,000 rows in 30 days at this pace"
    assert memory.evidence == "200 MiB of memory, 92% more than a day ago, 3,080 MiB of memory in 30 days at this pace"


def test_the_rule_can_be_explained():
    (rule,) = STATE_RULES

    assert explanations()["unbounded-state"] == (rule.__doc__ or "").partition("\n")[0]
