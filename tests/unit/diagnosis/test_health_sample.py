"""What is kept of a check goes through JSON unchanged, and what is no sample is refused."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.catalogue.watch import HealthSample
from streamops.verdict import Verdict

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GIVEN = {"at": "2026-03-01T12:00:00+00:00", "verdict": "critical", "rules": ["commits-ahead"]}

moments = st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC))
figures = st.integers(-1, 2**63)
samples = st.builds(
    HealthSample,
    at=moments,
    verdict=st.sampled_from(Verdict),
    rules=st.lists(st.text()).map(tuple),
    safety=st.text(),
    last_offset=figures,
    last_commit=figures,
    offset_entries=figures,
    commit_entries=figures,
    compact_bytes=st.none() | figures,
    state_files=st.none() | figures,
    state_rows=st.none() | figures,
    state_memory=st.none() | figures,
)


@given(samples)
def test_a_sample_comes_back_from_json_as_it_was(sample):
    assert HealthSample.from_fields(json.loads(json.dumps(sample.fields()))) == sample


def test_what_an_earlier_release_did_not_write_is_not_known_and_what_a_later_one_adds_is_passed_over():
    sample = HealthSample.from_fields({**GIVEN, "colour": "blue"})

    assert (sample.at, sample.verdict, sample.rules) == (AT, Verdict.CRITICAL, ("commits-ahead",))
    assert (sample.last_offset, sample.last_commit, sample.compact_bytes, sample.state_files) == (-1, -1, None, None)


def test_a_moment_without_a_zone_is_utc_and_one_of_another_zone_is_the_same_moment():
    assert HealthSample.from_fields({**GIVEN, "at": "2026-03-01T12:00:00"}).at == AT
    assert HealthSample.from_fields({**GIVEN, "at": "2026-03-01T14:00:00+02:00"}).at == AT
    assert HealthSample.from_fields({**GIVEN, "at": "2026-03-01T14:00:00"}).at - AT == timedelta(hours=2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"at": None}, "`at`, a verdict and a list of rules", id="no moment"),
        pytest.param({"at": "noon"}, "isoformat", id="no moment of this world"),
        pytest.param({"verdict": "fine"}, "not a valid Verdict", id="no verdict"),
        pytest.param({"rules": "commits-ahead"}, "a list of rules", id="no list"),
        pytest.param({"last_offset": "4"}, "last_offset is no whole number", id="text for a number"),
        pytest.param({"state_files": 1.5}, "state_files is no whole number", id="half a file"),
        pytest.param({"commit_entries": True}, "commit_entries is no whole number", id="a boolean is no number"),
    ],
)
def test_what_is_no_sample_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        HealthSample.from_fields({**GIVEN, **changes})
