"""What goes on for too long and what grows; and all that must not be taken for it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from streamops.catalogue.watch import HealthSample, Watch
from streamops.checkpoint.batch_times import BatchTimes
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.judge import SINK_RULES, TIME_RULES, explanations
from streamops.places.sink import FileSink, SinkView
from streamops.places.sink_log import SinkLogFacts
from streamops.verdict import Severity, Verdict
from support.base_checkpoint import ADDRESS, entry, files, stored
from support.plans import by_rules, findings_on
from support.state_files import CHANGES

NOTE, WARNING = Severity.NOTE, Severity.WARNING
PLANNED = datetime(2026, 3, 1, 12, 0, 4, tzinfo=UTC)
"""When each batch of the base checkpoint was planned, by its own words."""
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
QUICK = BatchTimes(durations=(timedelta(seconds=20),) * 20)
SLOW = BatchTimes(durations=(HOUR,) * 20)
IN_FLIGHT = files(commits_4=None)


def samples(*ages, offset=4, commit=3, **figures):
    """Checks that saw the logs end there, so long before PLANNED + 1 h."""
    return tuple(
        HealthSample(at=PLANNED + HOUR - age, verdict=Verdict.OK, last_offset=offset, last_commit=commit, **figures)
        for age in ages
    )


@dataclass(frozen=True, kw_only=True)
class Row:
    """A checkpoint with its past, and what the rules over time say of it."""

    because: str
    files: dict = field(hash=False, default_factory=lambda: IN_FLIGHT)
    now: datetime = PLANNED + HOUR
    said: tuple = ()
    before: tuple = ()
    times: BatchTimes = QUICK
    has_driver: bool | None = None
    driver_since: datetime | None = None
    trigger_interval: timedelta = timedelta(seconds=30)
    retained: int = 100


STUCK = (("stuck-batch", WARNING),)

JUST_NOW = [
    Row(
        because="planned two seconds ago, and no driver of ours is known: somebody runs it",
        now=PLANNED + timedelta(seconds=2),
        said=(("written-just-now", NOTE),),
    ),
    Row(because="two seconds ago, by our driver", now=PLANNED + timedelta(seconds=2), has_driver=True),
]
STUCK_BATCHES = [
    Row(because="an hour in a batch where 20 s are usual", has_driver=True, driver_since=PLANNED - HOUR, said=STUCK),
    Row(
        because="the driver was claimed two minutes ago: it runs the batch of the one before",
        has_driver=True,
        driver_since=PLANNED + 58 * MINUTE,
    ),
    Row(
        because="the driver was claimed half an hour ago, and has not finished it either",
        has_driver=True,
        driver_since=PLANNED + 30 * MINUTE,
        said=STUCK,
    ),
    Row(because="nine minutes are nothing yet", now=PLANNED + 9 * MINUTE, has_driver=True),
    Row(because="batches of an hour are usual", times=SLOW, trigger_interval=HOUR, has_driver=True),
    Row(
        because="too few batches to compare with, and no hour has passed",
        times=BatchTimes(durations=(timedelta(seconds=1),)),
        now=PLANNED + 59 * MINUTE,
        has_driver=True,
    ),
    Row(because="a trigger of two hours", trigger_interval=2 * HOUR, has_driver=True),
    Row(because="its clock is ahead of ours", now=PLANNED - HOUR, has_driver=True),
    Row(
        because="no driver: it was stopped, and has a pending batch for as long",
        has_driver=False,
        before=samples(50 * MINUTE, 40 * MINUTE, 30 * MINUTE, 20 * MINUTE),
    ),
    Row(because="nobody knows of a driver, and nobody looked before"),
    Row(because="two checks may have met it by chance", before=samples(50 * MINUTE, 20 * MINUTE)),
    Row(
        because="nobody knows of a driver, and three checks saw the same batch",
        before=samples(50 * MINUTE, 40 * MINUTE, 30 * MINUTE),
        said=STUCK,
    ),
    Row(
        because="three checks within five minutes are no long time",
        before=samples(5 * MINUTE, 4 * MINUTE, 3 * MINUTE),
    ),
    Row(
        because="a batch was committed since",
        before=samples(50 * MINUTE, 40 * MINUTE, 30 * MINUTE, offset=3, commit=2) + samples(20 * MINUTE),
    ),
    Row(
        because="the checks saw it under the driver before",
        before=samples(50 * MINUTE, 40 * MINUTE, 30 * MINUTE),
        has_driver=True,
        driver_since=PLANNED + 55 * MINUTE,
    ),
    Row(
        because="B83: an idle query commits nothing for a day, and nothing is pending",
        files=files(),
        now=PLANNED + 24 * HOUR,
        has_driver=True,
        before=samples(5 * HOUR, 4 * HOUR, 3 * HOUR, offset=4, commit=4),
    ),
]


def long_logs(count):
    """A checkpoint whose logs hold so many entries, the last one pinned to the sources of the base checkpoint."""
    found = files()
    for batch in range(5, count):
        found |= {
            f"offsets/{batch}": entry(batch, source='{"logOffset":4}'),
            f"commits/{batch}": b'v1\n{"nextBatchWatermarkMs":0}',
        }
    return found


def state(count):
    """One store with so many versions, all of them there."""
    return files() | {f"state/0/0/{version}.delta": CHANGES for version in range(1, count + 1)}


def compact(megabytes):
    found = {name: content for name, content in files().items() if not name.startswith("sources/")}
    found |= {f"sources/0/{log_id}": b"v1" for log_id in range(9)}
    return found | {"sources/0/9.compact": bytes(megabytes << 20)}


BATCHES_OF_A_MINUTE = BatchTimes(durations=(MINUTE,) * 11 + (timedelta(seconds=1),) * 9)
PACE = [
    Row(
        because="B82: most batches take longer than the interval",
        files=files(),
        times=BATCHES_OF_A_MINUTE,
        said=(("slow-batches", NOTE),),
    ),
    Row(because="some do", files=files(), times=BatchTimes(durations=(MINUTE,) * 9 + (timedelta(seconds=1),) * 11)),
    Row(because="four batches make no pace", files=files(), times=BatchTimes(durations=(MINUTE,) * 4)),
    Row(because="the interval is longer", files=files(), times=BATCHES_OF_A_MINUTE, trigger_interval=2 * MINUTE),
    Row(because="one batch follows the other", files=files(), times=BATCHES_OF_A_MINUTE, trigger_interval=timedelta(0)),
]

UNPURGED_NOTES = (("unpurged-logs", NOTE), ("unpurged-logs", NOTE))
MONTH_OF_BATCHES = 320

GROWTH = [
    Row(because="a hundred batches are kept", files=long_logs(105)),
    Row(because="ten batches are kept, and 105 are there", files=long_logs(105), retained=10, said=UNPURGED_NOTES),
    Row(
        because="they grew with every batch",
        files=long_logs(MONTH_OF_BATCHES),
        retained=10,
        before=samples(24 * HOUR, offset=100, commit=100, offset_entries=101, commit_entries=101),
        said=(("unpurged-logs", WARNING), ("unpurged-logs", WARNING)),
    ),
    Row(
        because="they did not grow",
        files=long_logs(MONTH_OF_BATCHES),
        retained=10,
        before=samples(24 * HOUR, offset=100, commit=100, offset_entries=320, commit_entries=320),
        said=UNPURGED_NOTES,
    ),
    Row(
        because="too few batches ago",
        files=long_logs(MONTH_OF_BATCHES),
        retained=10,
        before=samples(24 * HOUR, offset=121, commit=121, offset_entries=121, commit_entries=121),
        said=UNPURGED_NOTES,
    ),
    Row(because="B22: 15 MiB are nothing", files=compact(15)),
    Row(because="B22: 16 MiB", files=compact(16), said=(("large-compact-files", NOTE),)),
    Row(
        because="B22: 16 MiB that were 1 MiB a day ago",
        files=compact(16),
        before=samples(24 * HOUR, compact_bytes=1 << 20),
        said=(("large-compact-files", NOTE),),
    ),
    Row(
        because="B22: 64 MiB that were 1 MiB a day ago reach 1 GiB within 16 days",
        files=compact(64),
        before=samples(24 * HOUR, compact_bytes=1 << 20),
        said=(("large-compact-files", WARNING),),
    ),
    Row(
        because="B22: the same in an hour may be one large compaction",
        files=compact(64),
        before=samples(HOUR, compact_bytes=1 << 20),
        said=(("large-compact-files", NOTE),),
    ),
    Row(
        because="B22: it did not grow",
        files=compact(64),
        before=samples(24 * HOUR, compact_bytes=64 << 20),
        said=(("large-compact-files", NOTE),),
    ),
    Row(because="B82: state of a hundred versions", files=state(130)),
    Row(because="B82: many more, and nobody knows since when", files=state(1001), said=(("growing-state", NOTE),)),
    Row(
        because="B82: short runs never come round to delete",
        files=state(400) | long_logs(300),
        retained=30,
        before=samples(24 * HOUR, offset=50, commit=50, offset_entries=51, commit_entries=51, state_files=51),
        said=(("growing-state", WARNING),),
    ),
]


def said(row):
    watch = Watch(
        now=row.now,
        before=row.before,
        times=row.times,
        has_driver=row.has_driver,
        driver_since=row.driver_since,
        trigger_interval=row.trigger_interval,
    )
    findings = findings_on(inspect_checkpoint(stored(row.files), ADDRESS), watch=watch, retained_batches=row.retained)
    own = {rule.__name__.replace("_", "-") for rule in TIME_RULES}
    return [finding for finding in findings if finding.rule in own]


@pytest.mark.parametrize("row", [*JUST_NOW, *STUCK_BATCHES, *PACE, *GROWTH], ids=lambda row: row.because)
def test_what_takes_time_to_show_is_told_and_nothing_else(row):
    found = said(row)

    assert tuple((finding.rule, finding.severity) for finding in found) == row.said
    assert all(finding.evidence and finding.meaning for finding in found)
    assert all(finding.repair for finding in found if finding.severity > NOTE)


def test_each_rule_speaks_in_some_row_and_can_be_explained():
    spoken = {finding.rule for row in [*JUST_NOW, *STUCK_BATCHES, *PACE, *GROWTH] for finding in said(row)}

    assert spoken == {rule.__name__.replace("_", "-") for rule in TIME_RULES}
    assert spoken <= set(explanations())


def test_nothing_is_said_of_time_where_nobody_tells_it():
    assert findings_on(inspect_checkpoint(stored(long_logs(20)), ADDRESS), retained_batches=1) == ()


def test_the_evidence_names_how_long_and_what_is_usual():
    (found,) = said(STUCK_BATCHES[0])

    assert found.evidence == "batch 4 has no commit for 60 min; 95 % of the last took 20 s or less"


def test_the_evidence_says_when_a_compact_file_will_be_too_large():
    row = next(row for row in GROWTH if "within 16 days" in row.because)

    assert said(row)[0].evidence == "64 MiB, 1 GiB in 15 days at this pace"
    assert said(row)[0].file == "sources/0/9.compact"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param(None, [], id="no compact file yet"),
        pytest.param((16 << 20) - 1, [], id="nothing"),
        pytest.param(16 << 20, [("large-sink-log", NOTE)], id="worth knowing"),
        pytest.param(1 << 30, [("large-sink-log", WARNING)], id="SPARK-24295: minutes, and drivers out of memory"),
    ],
)
def test_b22_a_file_sink_lists_every_file_that_it_ever_wrote(size, expected):
    sink = FileSink(log=SinkLogFacts(output="file:///out", lowest=0, highest=4, compact_bytes=size))

    findings = by_rules(SINK_RULES, inspect_checkpoint(stored(files()), ADDRESS), SinkView(before=sink, latest=sink))

    assert [(finding.rule, finding.severity) for finding in findings] == expected
