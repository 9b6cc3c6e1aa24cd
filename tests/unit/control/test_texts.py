"""What others say has no length of its own: it is cut with a mark, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.texts import (
    CLASS_LIMIT,
    FAILURE_LIMIT,
    REASON_LIMIT,
    checked_reason,
    reason_trouble,
    shortened,
    shortened_classes,
)
from streamops.errors import SettingsError


def test_a_text_within_the_limit_is_kept_whole():
    text = "x" * FAILURE_LIMIT

    assert shortened(text, FAILURE_LIMIT) == text


def test_a_longer_text_keeps_its_beginning_and_its_end():
    text = "[STREAM_FAILED]" + "x" * FAILURE_LIMIT + "the cause"

    short = shortened(text, FAILURE_LIMIT)

    assert short.startswith("[STREAM_FAILED]")
    assert short.endswith("the cause")
    assert f"… {len(text)} characters, their middle left out …" in short


@given(st.text(max_size=300), st.integers(0, 200))
def test_a_text_that_was_cut_is_within_its_limit_and_not_cut_again(text, limit):
    short = shortened(text, limit)

    assert len(short) <= limit or short == text
    assert len(short) <= max(limit, 0)
    assert shortened(short, limit) == short


@given(st.lists(st.text(max_size=300), max_size=80), st.integers(5, 50))
def test_of_many_classes_the_first_and_the_last_are_kept(classes, most):
    kept = shortened_classes(classes, most)
    cut = list(dict.fromkeys(name[:CLASS_LIMIT] for name in classes))

    assert len(kept) <= most
    assert list(kept[:1]) == cut[:1]
    assert list(kept[-1:]) == cut[-1:]
    assert shortened_classes(kept, most) == kept


def test_a_reason_is_kept_without_the_blanks_around_it():
    assert checked_reason("  night work\n") == "night work"


@pytest.mark.parametrize("reason", ["", "  ", "\n"])
def test_no_reason_is_refused(reason):
    with pytest.raises(SettingsError, match="the reason is empty: say why"):
        checked_reason(reason)


def test_a_reason_that_is_too_long_is_refused_and_never_cut():
    """Half a reason may say the opposite."""
    assert checked_reason("x" * REASON_LIMIT) == "x" * REASON_LIMIT
    assert not reason_trouble("x" * REASON_LIMIT)

    with pytest.raises(SettingsError, match="it has 2001 characters, 2000 at most"):
        checked_reason("x" * (REASON_LIMIT + 1))
