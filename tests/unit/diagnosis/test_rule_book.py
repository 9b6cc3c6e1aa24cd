"""The page on findings is what the catalogue says."""

from support.rule_book import BOOK, book


def test_the_page_is_up_to_date():
    assert BOOK.read_text() == book(), "write it anew: PYTHONPATH=plugins:tests python -m support.rule_book"
