"""What a terminal might obey is shown by its escape, in every kind of text that a command prints."""

import pytest
from rich.table import Table
from rich.text import Text

from streamops.terminal.console import PrintableConsole, printable


@pytest.mark.parametrize(
    "shown", [pytest.param("a\x1b[2Jb", id="text"), pytest.param(Text("a\x1b[2Jb", style="red"), id="styled text")]
)
def test_an_escape_sequence_is_shown_and_not_sent(shown, capsys):
    PrintableConsole().print(shown)

    assert capsys.readouterr().out == "a\\x1b[2Jb\n"


@pytest.mark.parametrize(
    "cell", [pytest.param("a\x1b[2Jb", id="text"), pytest.param(Text("a\x1b[2Jb"), id="styled text")]
)
def test_a_cell_of_a_table_may_be_cut_by_its_escapes_and_sends_none(cell, capsys):
    table = Table(show_header=False, box=None)
    table.add_row(cell)

    PrintableConsole().print(table)

    assert capsys.readouterr().out.strip() == r"a\x1b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("größer → 3\nok", "größer → 3\nok", id="letters of all scripts and line ends stay"),
        pytest.param("a\x9b2J", r"a\x9b2J", id="the escape of eight bits"),
        pytest.param("\u202eevil", r"\u202eevil", id="a mark of direction"),
        pytest.param("\ud800", r"\ud800", id="half a character, which no terminal's encoding has"),
        pytest.param("a\rb\t", r"a\rb\t", id="back to the start of the line"),
    ],
)
def test_text_is_made_printable(text, expected):
    assert printable(text) == expected
