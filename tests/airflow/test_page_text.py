"""Texts for Airflow's page: nothing is lost on the way, and nothing of it is markup."""

import re

from hypothesis import given
from hypothesis import strategies as st

from streamops.airflow.page_text import LINE, as_markdown, fitting

TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=200)


@given(TEXTS)
def test_lines_end_before_the_edge_unless_one_word_is_longer(text):
    lines = fitting(text).splitlines()

    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert all(len(line) <= LINE or len(line.split()) == 1 for line in lines)


def test_each_line_of_a_text_begins_one():
    assert fitting("commits/4 is empty\nNothing is put on record.").splitlines() == [
        "commits/4 is empty",
        "Nothing is put on record.",
    ]


@given(st.lists(TEXTS, max_size=4))
def test_each_line_is_one_piece_of_code_whatever_people_typed(lines):
    items = [line for line in as_markdown(lines).split("\n") if line]

    assert len(items) == len(lines)
    for item, line in zip(items, lines, strict=True):
        code = re.fullmatch(r"- (`+) (.*) \1", item)
        assert code
        assert code[2] == " ".join(line.split())
        assert code[1] not in re.findall("`+", code[2])
