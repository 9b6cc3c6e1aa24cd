"""Shares and watermarks by a sample of delays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.cost.estimates import included_by, watermark_for
from support.specs import seconds

SAMPLE = tuple(map(seconds, (30, 0, 5, 60, 5)))


@pytest.mark.parametrize(
    ("watermark", "share"),
    [
        pytest.param(0, 0.2, id="what comes at once"),
        pytest.param(4.999, 0.2, id="just below two of them"),
        pytest.param(5, 0.6, id="a delay as long as the watermark is included"),
        pytest.param(60, 1.0, id="all of the sample"),
    ],
)
def test_a_watermark_lets_in_the_delays_up_to_it(watermark, share):
    (included,) = included_by(SAMPLE, seconds(watermark)).results

    assert included.number == share


@pytest.mark.parametrize(
    ("share", "watermark"),
    [
        pytest.param(0.2, 0, id="one of five"),
        pytest.param(0.21, 5, id="a little more than one of five"),
        pytest.param(0.6, 5, id="three of five"),
        pytest.param(0.8, 30, id="four of five"),
        pytest.param(1.0, 60, id="all"),
    ],
)
def test_the_watermark_for_a_share_is_the_shortest_that_covers_it(share, watermark):
    (needed,) = watermark_for(SAMPLE, share).results

    assert needed.duration == seconds(watermark)


@given(
    delays=st.lists(st.integers(0, 1000).map(seconds), min_size=1, max_size=50),
    share=st.floats(0.001, 1.0),
)
def test_the_watermark_for_a_share_includes_it(delays, share):
    (needed,) = watermark_for(delays, share).results
    (included,) = included_by(delays, needed.duration).results

    assert included.number >= share - 1e-12


def test_a_sample_that_nothing_exceeds_is_no_proof_of_all():
    notes = included_by([seconds(1)] * 300, seconds(1)).notes

    assert "no delay of the sample is longer: of all events, up to 1 % may be (95 % sure, rule of three)" in notes


def test_a_sample_too_small_for_its_share_says_how_many_would_tell():
    assert (
        "the sample is small for this share: 3000 delays or more would tell, it has 5"
        in watermark_for(SAMPLE, 0.999).notes
    )
    assert len(watermark_for(SAMPLE * 600, 0.999).notes) == 2


@pytest.mark.parametrize("asked", [lambda: included_by((), seconds(1)), lambda: watermark_for((), 0.5)])
def test_an_empty_sample_tells_nothing(asked):
    with pytest.raises(ValueError, match="the sample is empty"):
        asked()
