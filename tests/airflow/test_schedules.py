"""When the runs of a scheduled stream come: on the days when clocks change, and after an Airflow that was away."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pendulum
import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables import trigger as cron_timetable
from airflow.timetables.base import DataInterval, TimeRestriction

from support.dags import only_dag
from support.settings import a_declared_stream, a_project

BERLIN = "Europe/Berlin"


@pytest.fixture
def scheduled(tmp_path):
    """The DAG of a stream with such a cron, as the scheduler reads it from the database."""

    def build(cron: str, timezone: str = "UTC"):
        project = a_project(tmp_path)
        schedule = {"cron": cron, "timezone": timezone}
        project.load(streams={"orders": a_declared_stream("orders", mode="scheduled", schedule=schedule)})
        dag: DAG = only_dag(project.file, "scheduled_streams.py")
        return DagSerialization.from_dict(DagSerialization.to_dict(dag))

    return build


def runs(dag, *, between: tuple[datetime, datetime]) -> list[datetime]:
    """Every run that a scheduler which is always there begins within a time."""
    begin, end = between
    last, found = DataInterval.exact(begin), []
    while True:
        info = dag.timetable.next_dagrun_info(
            last_automated_data_interval=last,
            restriction=TimeRestriction(earliest=begin, latest=None, catchup=True),
        )
        if info is None or info.run_after > end:
            return found
        found.append(info.run_after)
        last = info.data_interval


def local(text: str, zone: str = BERLIN) -> datetime:
    return pendulum.instance(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC))


SPRING = (local("2026-03-28T12:00"), local("2026-03-31T12:00"))
"""On the 29th the clock goes from 02:00 to 03:00."""
AUTUMN = (local("2026-10-24T12:00"), local("2026-10-27T12:00"))
"""On the 25th it goes from 03:00 back to 02:00."""


@pytest.mark.parametrize(
    ("cron", "days", "wanted"),
    [
        pytest.param("0 9 * * *", SPRING, ["29T07:00", "30T07:00", "31T07:00"], id="spring, by day"),
        pytest.param("0 9 * * *", AUTUMN, ["25T08:00", "26T08:00", "27T08:00"], id="autumn, by day"),
        pytest.param(
            "30 2 * * *", SPRING, ["29T01:30", "30T00:30", "31T00:30"], id="spring, at the hour that is left out"
        ),
    ],
)
def test_a_daily_run_comes_once_a_day_when_the_clock_changes(scheduled, cron, days, wanted):
    found = [moment.astimezone(UTC).strftime("%dT%H:%M") for moment in runs(scheduled(cron, BERLIN), between=days)]

    assert found == wanted


def test_a_daily_run_at_the_hour_that_comes_twice_is_never_left_out(scheduled):
    """Whether it comes once or twice then is croniter's affair: the second finds nothing new and is skipped."""
    found = runs(scheduled("30 2 * * *", BERLIN), between=AUTUMN)

    assert {moment.astimezone(ZoneInfo(BERLIN)).day for moment in found} == {25, 26, 27}
    assert len(found) in (3, 4)


@pytest.mark.parametrize(("days", "hours"), [(SPRING, 71), (AUTUMN, 73)], ids=["spring", "autumn"])
def test_an_hourly_run_comes_every_hour_of_a_day_of_23_or_25(scheduled, days, hours):
    found = runs(scheduled("0 * * * *", BERLIN), between=days)

    assert len(found) == hours
    assert {later.timestamp() - earlier.timestamp() for earlier, later in pairwise(found)} == {3600}


@pytest.mark.parametrize("missed", [1, 3, 300])
def test_runs_that_were_missed_become_one(scheduled, monkeypatch, missed):
    """An Airflow that was away over three runs makes one, which reads all; then the next comes at its time."""
    dag = scheduled("0 * * * *")
    last = pendulum.datetime(2026, 3, 1, 12)
    now = last + timedelta(hours=missed, minutes=20)
    monkeypatch.setattr(cron_timetable, "utcnow", lambda: now)

    assert dag.catchup is False
    restriction = TimeRestriction(earliest=last - timedelta(days=1), latest=None, catchup=dag.catchup)
    found, interval = [], DataInterval.exact(last)
    for _ in range(2):
        info = dag.timetable.next_dagrun_info(last_automated_data_interval=interval, restriction=restriction)
        found.append(info.run_after)
        interval = info.data_interval

    assert found == [last + timedelta(hours=missed), last + timedelta(hours=missed + 1)]
