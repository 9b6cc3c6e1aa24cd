"""How far work has come, told where there is no terminal."""

import pytest

from streamops.terminal.console import counted


@pytest.fixture
def talk(capsys):
    """What was said since it was asked last."""

    def said() -> list[str]:
        shown = capsys.readouterr()
        assert shown.out == ""
        return shown.err.splitlines()

    return said


def test_it_says_at_once_what_it_is_about(talk):
    with counted("catching orders up", total=100):
        assert talk() == ["catching orders up"]


def test_each_tenth_is_a_line_and_what_lies_between_is_none(talk):
    with counted("catching orders up", total=100) as tell:
        talk()
        for done in (3, 9, 10, 15, 19, 20, 100):
            tell(done, "reading")

    assert talk() == [
        "3 of 100: reading",
        "10 of 100: reading",
        "20 of 100: reading",
        "100 of 100: reading",
    ]


def test_other_words_are_a_line_however_little_is_done(talk):
    with counted("catching orders up", total=100) as tell:
        talk()
        tell(0, "starting")
        tell(0, "starting")
        tell(1, "reading")

    assert talk() == ["0 of 100: starting", "1 of 100: reading"]


@pytest.mark.parametrize("total", [None, 0], ids=["unknown", "nothing"])
def test_without_a_total_only_what_is_at_hand_is_told(talk, total):
    with counted("catching orders up", total=total) as tell:
        talk()
        tell(7, "reading")
        tell(8, "reading")

    assert talk() == ["reading"]


def test_more_than_was_expected_is_told_as_it_is(talk):
    """Batches that were cut off run again, and their rows count again."""
    with counted("catching orders up", total=10) as tell:
        talk()
        tell(25, "reading")

    assert talk() == ["25 of 10: reading"]


def test_what_a_terminal_might_obey_is_shown_escaped(talk):
    with counted("catching \x1b[2J up", total=10) as tell:
        tell(1, "why \x1b[31mnot\x07")

    assert talk() == ["catching \\x1b[2J up", "1 of 10: why \\x1b[31mnot\\x07"]
