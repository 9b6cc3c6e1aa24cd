"""A checkup in plain lines."""

from hypothesis import given
from hypothesis import strategies as st

from streamops.diagnosis.checkup import check
from streamops.diagnosis.checkup_text import checkup_lines, printable
from streamops.engines import PINNED
from support.base_checkpoint import ADDRESS, BASE_ID, files, stored


def lines(found: dict[str, bytes]) -> tuple[str, ...]:
    return checkup_lines(check(stored(found), ADDRESS, engine=PINNED))


def test_a_healthy_checkpoint_is_told_in_three_lines() -> None:
    verdict, plan, standing = lines(files())

    assert verdict == f"ok  {ADDRESS}"
    assert plan == "A start with Spark 4.2 is safe: batch 4 is committed: batch 5 is planned next."
    assert standing.startswith(f"query {BASE_ID}, offsets to batch 4 (planned 2026-03-01 12:00:04 UTC), commits to")


def test_a_damaged_one_is_told_verdict_first_with_the_way_out() -> None:
    told = lines(files(commits_4=b""))

    assert told[0] == f"critical  {ADDRESS}"
    assert "Spark will say: Incomplete log file in the offset commit log" in told
    assert "critical  unreadable-last-commit  commits/4" in told
    assert any(line.startswith("  repair: delete commits/4") for line in told)
    assert any(line.startswith("  but not: ") for line in told)


def test_nothing_in_a_file_can_move_a_cursor_or_begin_a_line() -> None:
    told = lines(files(metadata=b'{"id":"\\u001b[2J\\nok"}', commits_4=b"v9\x1b]0;x\x07"))

    assert all(line.isprintable() for line in told)


@given(st.text())
def test_every_text_becomes_printable(text: str) -> None:
    assert printable(text).isprintable()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text
