"""What goes on record when a driver has ended."""

from streamops.control.drivers import ExitRecord
from streamops.control.records import DriverHandle, Outcome, Position, Submitted
from streamops.supervisor.decision import Action, Decision
from streamops.supervisor.endings import LOG_LINES, TEXT_LIMIT, driver_end
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

    assert len(end.text) == TEXT_LIMIT
    assert end.text.endswith("the last line")


def test_a_log_that_is_out_of_reach_holds_nothing_up(tmp_path):
    end = driver_end(ended(Outcome.DIED), an_epoch(str(tmp_path / "gone.log")), position=AT_4)

    assert (end.outcome, end.text) == (Outcome.DIED, "")


def test_a_driver_that_obeyed_needs_no_log_on_record(tmp_path):
    log = tmp_path / "1.log"
    log.write_text("noise\n")

    assert driver_end(ended(Outcome.STOPPED), an_epoch(str(log)), position=AT_4).text == ""
