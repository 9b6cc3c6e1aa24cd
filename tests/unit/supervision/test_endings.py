"""What goes on record when a driver has ended."""

from dataclasses import replace

import pytest

from streamops.control.drivers import ExitRecord
from streamops.control.records import DriverHandle, Outcome, Position, Submitted
from streamops.control.texts import CLASSES_KEPT, FAILURE_LIMIT
from streamops.supervision.decision import Action, Decision
from streamops.supervision.endings import LOG_LINES, driver_end
from support.records import a_claim, a_state

AT_4 = Position(offset=4, commit=4)


def an_epoch(log: str = ""):
    """A submitted epoch whose driver logged into this file."""
    handle = DriverHandle(launcher="fake", host="host-1", process="1:1", log=log)
    return a_state(a_claim(1), Submitted(epoch=1, handle=handle)).newest


def ended(outcome: Outcome, *, exit_record: ExitRecord | None = None) -> Decision:
    return Decision(action=Action.RECORD_END, reason="gone", epoch=1, outcome=outcome, exit=exit_record)


def left(text: str) -> ExitRecord:
    return ExitRecord(epoch=1, instance="0a", outcome=Outcome.FAILED, at="2026-03-01T12:00:00+00:00", text=text)


def test_a_driver_that_said_why_is_recorded_with_its_words(tmp_path):
    log = tmp_path / "1.log"
    log.write_text("noise\n")

    end = driver_end(ended(Outcome.FAILED, exit_record=left("boom")), an_epoch(str(log)), position=AT_4)

    assert (end.text, end.instance, end.position) == ("boom", "0a", AT_4)
    assert end.failure_class
    assert end.remedy


def test_a_driver_that_died_without_a_word_is_recorded_with_the_end_of_its_log(tmp_path):
    log = tmp_path / "1.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))

    end = driver_end(ended(Outcome.DIED), an_epoch(str(log)), position=AT_4)

    assert end.text.splitlines()[0] == f"line {1000 - LOG_LINES}"
    assert end.text.splitlines()[-1] == "line 999"


def test_a_log_of_endless_lines_keeps_the_record_small(tmp_path):
    log = tmp_path / "1.log"
    log.write_text("x" * 100_000 + "\nthe last line\n")

    end = driver_end(ended(Outcome.LAUNCH_FAILED), an_epoch(str(log)), position=AT_4)

    assert len(end.text) == FAILURE_LIMIT
    assert end.text.endswith("the last line")


def test_a_log_that_is_out_of_reach_holds_nothing_up(tmp_path):
    end = driver_end(ended(Outcome.DIED), an_epoch(str(tmp_path / "gone.log")), position=AT_4)

    assert (end.outcome, end.text) == (Outcome.DIED, "")


def test_a_driver_that_obeyed_needs_no_log_on_record(tmp_path):
    log = tmp_path / "1.log"
    log.write_text("noise\n")

    assert driver_end(ended(Outcome.STOPPED), an_epoch(str(log)), position=AT_4).text == ""


def final(batch: int, text: str = "boom", outcome: Outcome = Outcome.FAILED) -> ExitRecord:
    return replace(left(text), outcome=outcome, batch=batch, is_batch_final=True)


def position_after(exit_record: ExitRecord | None, *, found: Position, epoch=None, query_id: str = "") -> Position:
    decision = replace(
        ended(exit_record.outcome if exit_record else Outcome.KILLED, exit_record=exit_record), query_id=query_id
    )
    return driver_end(decision, epoch or an_epoch(), position=found).position


TABLE_CONFLICT = "[DELTA_CONCURRENT_APPEND] Files were added to the root of the table by a concurrent update."
SECOND_WRITER = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 3."


@pytest.mark.parametrize(
    ("exit_record", "known"),
    [
        pytest.param(
            final(52), Position(offset=53, commit=52), id="one batch behind its last may be its own: it failed in it"
        ),
        pytest.param(
            final(52, SECOND_WRITER), Position(offset=52, commit=52), id="but not the one that it lost to another"
        ),
        pytest.param(
            final(52, TABLE_CONFLICT), Position(offset=53, commit=52), id="another job on the table took no batch of it"
        ),
        pytest.param(final(57), Position(offset=58, commit=52), id="never more than the checkpoint has"),
        pytest.param(left("boom"), Position(offset=58, commit=52), id="an exit record that can't tell proves nothing"),
        pytest.param(None, Position(offset=58, commit=52), id="nor does a driver that was killed"),
    ],
)
def test_the_position_on_record_is_how_far_the_driver_itself_came(exit_record, known):
    assert position_after(exit_record, found=Position(offset=58, commit=52)) == known


def test_commits_of_somebody_else_are_not_those_of_the_driver():
    assert position_after(final(52), found=Position(offset=60, commit=60)) == Position(offset=53, commit=53)


def test_commits_ahead_of_the_offsets_are_damage_and_stay_as_they_are():
    assert position_after(final(52, SECOND_WRITER), found=Position(offset=52, commit=53)).commit == 53


def test_a_driver_that_was_killed_for_a_foreign_batch_has_nothing_from_there_on():
    epoch = replace(an_epoch(), foreign_batch=54)

    assert position_after(None, found=Position(offset=60, commit=59), epoch=epoch) == Position(offset=53, commit=53)


def test_a_query_that_took_the_place_of_the_driver_s_own_is_not_on_record_as_its():
    position = position_after(final(52), found=Position(query_id="other", offset=4, commit=4), query_id="own")

    assert (position.query_id, position.offset) == ("own", 52)


def test_what_a_driver_of_an_older_version_left_is_cut_before_it_goes_on_record(tmp_path):
    """Its exit record may hold megabytes of each."""
    exit_record = replace(left("x" * 100_000), error_classes=tuple(f"WORD_{number}" for number in range(10_000)))

    end = driver_end(ended(Outcome.FAILED, exit_record=exit_record), an_epoch(), position=AT_4)

    assert len(end.text) == FAILURE_LIMIT
    assert len(end.error_classes) == CLASSES_KEPT
