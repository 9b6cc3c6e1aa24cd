"""Every stream of the catalogue is on trial, or it is said why not; and whoever names a job gets it."""

from pathlib import Path

import pytest

from streamops.settings import load_settings
from streamops.spark.sinks import postgres
from streamops_sandbox.catalogue import kept
from streamops_sandbox.catalogue.cases import CASES, LEFT_OUT, chosen, left_out
from streamops_sandbox.catalogue.delivery import made_landing_folders
from streamops_sandbox.catalogue.one_round import topics_of
from streamops_sandbox.errors import SandboxError

CATALOGUE = Path(__file__).parents[4] / "config" / "catalogue.yaml"
STREAMS = {spec.name: spec for spec in load_settings(CATALOGUE, {}).streams}


def test_each_stream_of_the_catalogue_has_a_case_or_a_reason():
    with_case, without = {case.stream for case in CASES}, {other.stream for other in LEFT_OUT}

    assert with_case | without == set(STREAMS)
    assert with_case & without == set()
    assert all(other.reason for other in LEFT_OUT)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.stream) for case in CASES if STREAMS[case.stream].reads_kafka]
)
def test_a_case_feeds_the_topics_that_its_stream_reads(case):
    assert sorted(feed.topic for feed in case.feeds) == sorted(STREAMS[case.stream].kafka.topics)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.stream) for case in CASES if not STREAMS[case.stream].reads_kafka]
)
def test_a_case_that_feeds_no_topic_has_a_folder_to_fill_that_no_other_case_fills(case, tmp_path):
    settings = load_settings(CATALOGUE, {"STREAMOPS_DATA": str(tmp_path)})
    cases = {other: settings.stream(other.stream) for other in CASES}

    folders = made_landing_folders(cases)

    (feed,) = case.feeds
    assert [name for name, folder in folders.items() if folder == folders[feed.topic]] == [feed.topic]
    assert folders[feed.topic].is_dir()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.stream) for case in CASES])
def test_a_case_expects_rows_and_dead_letters(case):
    sent = case.sent(seed=1, count=400)

    assert list(case.expected(sent))
    assert case.malformed(sent)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.stream) for case in CASES if not case.shows_batches])
def test_a_case_whose_batches_do_not_show_tells_when_its_sink_has_got_something(case):
    assert case.watch is not None


def test_a_staging_table_is_known_by_the_name_that_the_sink_gives_it():
    assert f"{postgres.STAGING}%" == kept.STAGING


def test_streams_that_run_side_by_side_get_the_same_records_of_a_topic():
    cases = chosen("J9,J11")

    together = topics_of(cases, seed=3, count=200)

    assert sorted(together) == ["clicks", "purchases"]
    for case in cases:
        assert all(together[topic] == records for topic, records in case.sent(seed=3, count=200).items())


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        ("J2", ["word_count"]),
        ("J9,J7", ["events_dedup", "clickstream_sessions"]),
        (" j2 , events_dedup ", ["word_count", "events_dedup"]),
        ("J2,word_count", ["word_count"]),
        ("all", [case.stream for case in CASES]),
    ],
)
def test_jobs_are_chosen_by_number_or_by_stream(text, streams):
    assert [case.stream for case in chosen(text)] == streams


def test_the_order_of_all_is_that_of_their_numbers():
    numbers = [int(case.job[1:]) for case in CASES]

    assert numbers == sorted(numbers)


def test_an_unknown_job_is_refused_with_those_that_there_are():
    with pytest.raises(
        SandboxError, match=r"no job 'J99' in the catalogue: give some of .*J2 \(word_count\).* or all$"
    ):
        chosen("J2,J99")


@pytest.mark.parametrize("text", ["", " , "])
def test_no_job_at_all_is_refused(text):
    with pytest.raises(SandboxError, match="no job is named"):
        chosen(text)


def test_a_job_that_is_left_out_is_refused_with_the_reason():
    with pytest.raises(SandboxError, match=r"^J18 rate_demo is left out: it drops its rows"):
        chosen("rate_demo")


@pytest.mark.parametrize(
    ("text", "streams"),
    [("J2", []), ("all", [other.stream for other in LEFT_OUT]), ("j18", ["rate_demo"])],
)
def test_what_of_the_jobs_named_is_left_out_is_known(text, streams):
    assert [other.stream for other in left_out(text)] == streams
