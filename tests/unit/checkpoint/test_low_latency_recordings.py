"""What real Spark left of queries without batches, see `tests/data/low_latency`: no false alarm, and the start is foretold."""

from pathlib import Path

import pytest

from recorder.hygiene import problems
from streamops.checkpoint.source_offsets import KafkaOffset
from streamops.diagnosis.checkup import Checkup, check
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED
from streamops.storage.local import LocalStorage
from streamops.verdict import Severity, Verdict

RECORDINGS = Path(__file__).parents[2] / "data" / "low_latency"


def checked(kind: str, **told: bool | None) -> Checkup:
    return check(
        LocalStorage(), f"file://{RECORDINGS / kind / 'checkpoint'}", engine=PINNED, is_sink_idempotent=True, **told
    )


@pytest.mark.parametrize(
    ("kind", "is_continuous"),
    [
        pytest.param("continuous", True, id="continuous"),
        pytest.param("real-time", False, id="real time"),
        pytest.param("real-time", None, id="real time, of which nobody has said anything"),
    ],
)
def test_nothing_is_wrong_with_what_spark_left(kind: str, is_continuous: bool | None) -> None:
    checkup = checked(kind, is_continuous=is_continuous)

    assert checkup.verdict is Verdict.OK
    assert [finding.rule for finding in checkup.findings if finding.severity > Severity.NOTE] == []
    assert checkup.restart.safety in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT)
    (offset,) = checkup.snapshot.facts.newest.offsets
    assert isinstance(offset, KafkaOffset)
    assert [position.partition for position in offset.positions] == [0, 1]


def test_a_batch_of_real_time_is_logged_at_its_end_so_that_none_is_pending() -> None:
    facts = checked("real-time").snapshot.facts

    assert facts.last_commit >= 2
    assert not facts.has_pending_batch


@pytest.mark.parametrize(
    ("is_continuous", "verdict", "safety"),
    [
        pytest.param(None, Verdict.UNKNOWN, Safety.UNKNOWN, id="nobody says with which trigger"),
        pytest.param(False, Verdict.CRITICAL, Safety.FUTILE, id="the trigger was changed to one by batches"),
    ],
)
def test_continuous_entries_are_told_where_another_trigger_may_come(
    is_continuous: bool | None, verdict: Verdict, safety: Safety
) -> None:
    checkup = checked("continuous", is_continuous=is_continuous)

    assert (checkup.verdict, checkup.restart.safety) == (verdict, safety)
    assert [finding.rule for finding in checkup.findings if finding.severity > Severity.NOTE] == ["continuous-entries"]


def test_a_recording_tells_nothing_of_the_machine_that_made_it() -> None:
    assert list(problems(RECORDINGS)) == []
