"""Records are a wire format: what one version writes, the others must read, skip or refuse, and never misread."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.control.codec import decode, decode_record, encode, encode_record
from streamops.control.drivers import ExitRecord, Heartbeat
from streamops.control.records import KNOWN_BODIES, READER_VERSION, ClaimMode, Outcome, Parked, Position, UnknownBody
from streamops.errors import CorruptRecordError, NewerRecordError
from support.records import BODIES, a_claim, a_record, a_submit, an_end, bodies, records_of

ADDRESS = "file:///c.streamops/log/00000000000000000017.json"


def fields_of(record):
    return json.loads(encode_record(record))


def written(fields):
    return json.dumps(fields).encode()


def changed(record, **changes):
    """The record's JSON with some keys replaced, and those set to ... removed."""
    fields = {**fields_of(record), **changes}
    return written({key: value for key, value in fields.items() if value is not ...})


@pytest.mark.parametrize("kind", BODIES, ids=[kind.kind for kind in BODIES])
def test_every_kind_of_record_survives_the_file(kind):
    @settings(max_examples=25)
    @given(records_of(BODIES[kind]))
    def holds(record):
        assert decode_record(encode_record(record), address=ADDRESS) == record

    holds()


def test_the_strategies_draw_every_kind_that_there_is():
    assert {kind.kind for kind in BODIES} == set(KNOWN_BODIES)


@settings(max_examples=50)
@given(records_of(bodies))
def test_a_record_is_one_line_of_json(record):
    content = encode_record(record)

    assert b"\n" not in content
    assert json.loads(content)["min_reader"] == READER_VERSION


@given(
    records_of(bodies), st.dictionaries(st.text(min_size=1).map("x-".__add__), st.none() | st.integers() | st.text())
)
def test_keys_of_a_newer_version_are_skipped(record, extra):
    fields = fields_of(record)
    fields = {**fields, **extra, "by": {**fields["by"], **extra}, "body": {**fields["body"], **extra}}

    assert decode_record(written(fields), address=ADDRESS) == record


def test_a_kind_that_this_version_does_not_know_is_kept_by_name():
    content = changed(a_record(Parked(), 17), kind="rewound", body={"to": 4})

    assert decode_record(content, address=ADDRESS).body == UnknownBody(kind="rewound")


def test_a_record_that_needs_a_newer_reader_is_refused_with_both_versions():
    content = changed(a_record(Parked(), 17), min_reader=READER_VERSION + 1)

    with pytest.raises(NewerRecordError, match=f"{READER_VERSION + 1}.*{READER_VERSION}.*upgrade"):
        decode_record(content, address=ADDRESS)


def test_a_record_that_needs_a_newer_reader_is_refused_before_anything_else_of_it_is_looked_at():
    with pytest.raises(NewerRecordError):
        decode_record(written({"min_reader": READER_VERSION + 1, "shape": "new"}), address=ADDRESS)


def test_a_default_that_an_older_version_did_not_write_is_filled_in():
    content = changed(a_record(an_end(1, Outcome.DIED), 17), body={"epoch": 1, "outcome": "died", "position": {}})

    assert decode_record(content, address=ADDRESS).body == an_end(1, Outcome.DIED)


def test_a_claim_from_before_topics_were_remembered_knows_none():
    record = a_record(a_claim(1), 17)
    body = {key: value for key, value in fields_of(record)["body"].items() if key != "topics"}

    assert decode_record(changed(record, body=body), address=ADDRESS).body.topics == ()


def test_handles_and_beats_from_before_users_were_told_apart_know_none():
    submit = a_record(a_submit(1), 17)
    handle = {key: value for key, value in fields_of(submit)["body"]["handle"].items() if key != "uid"}
    beat = {
        "epoch": 1,
        "instance": "a",
        "token": "t",
        "sequence": 1,
        "phase": "running",
        "at": "",
        "host": "h",
        "pid": 1,
    }

    decoded = decode_record(changed(submit, body={"epoch": 1, "handle": handle}), address=ADDRESS)
    heartbeat = decode(Heartbeat, written(beat), address=ADDRESS)

    assert decoded.body.handle.uid == -1
    assert (heartbeat.uid, heartbeat.boot_id, heartbeat.pid_namespace) == (-1, "", "")


PARKED = a_record(Parked(), 17)
CLAIM = a_record(a_claim(1), 17)
SUBMIT = a_record(a_submit(1), 17)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty: the host lost power"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"\xff\xfe\x00", id="not text"),
        pytest.param(b"[]", id="not an object"),
        pytest.param(b"null", id="nothing"),
        pytest.param(b'"min_reader"', id="a string that contains a key"),
        pytest.param(changed(PARKED, min_reader=...), id="without its reader version"),
        pytest.param(changed(PARKED, min_reader="new"), id="with a reader version that is no number"),
        pytest.param(changed(PARKED, number=...), id="without its number"),
        pytest.param(changed(PARKED, number="seventeen"), id="with a number in words"),
        pytest.param(changed(PARKED, number=17.5), id="with half a number"),
        pytest.param(encode_record(PARKED).replace(b'"number":17', b'"number":1e999'), id="with an endless number"),
        pytest.param(changed(PARKED, at=...), id="without a time"),
        pytest.param(changed(PARKED, at="yesterday"), id="with a time that is none"),
        pytest.param(changed(PARKED, at="2026-03-01T12:00:00"), id="with a time without zone: it can't be compared"),
        pytest.param(changed(PARKED, by=...), id="without an author"),
        pytest.param(changed(PARKED, by="ana"), id="with an author of another shape"),
        pytest.param(changed(PARKED, reason=...), id="without a reason"),
        pytest.param(changed(PARKED, reason=5), id="with a reason that is no text"),
        pytest.param(changed(PARKED, nonce=None), id="with a nonce that is no text"),
        pytest.param(changed(PARKED, kind=...), id="without a kind"),
        pytest.param(changed(PARKED, kind=["parked"]), id="with a kind that is no word"),
        pytest.param(changed(PARKED, body=...), id="without a body"),
        pytest.param(changed(CLAIM, body={}), id="a claim that claims nothing"),
        pytest.param(changed(CLAIM, body={**fields_of(CLAIM)["body"], "epoch": "1"}), id="an epoch in quotes"),
        pytest.param(changed(CLAIM, body={**fields_of(CLAIM)["body"], "epoch": True}), id="an epoch that is a claim"),
        pytest.param(changed(CLAIM, body={**fields_of(CLAIM)["body"], "mode": "lively"}), id="a mode that is none"),
        pytest.param(
            changed(CLAIM, body={**fields_of(CLAIM)["body"], "topics": [{"topic": "orders"}]}),
            id="a topic without an id",
        ),
        pytest.param(changed(SUBMIT, body={"epoch": 1, "handle": None}), id="a submit without a handle"),
    ],
)
def test_a_broken_record_is_an_error_that_names_the_file(content):
    with pytest.raises(CorruptRecordError, match=ADDRESS):
        decode_record(content, address=ADDRESS)


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_worse_than_that(content):
    with suppress(CorruptRecordError, NewerRecordError):
        decode_record(content, address=ADDRESS)


@settings(max_examples=50)
@given(records_of(bodies), st.data())
def test_a_record_that_was_cut_anywhere_is_broken(record, data):
    content = encode_record(record)
    length = data.draw(st.integers(0, len(content) - 1))

    with pytest.raises(CorruptRecordError):
        decode_record(content[:length], address=ADDRESS)


# Other files of the same format


@pytest.mark.parametrize(
    "value",
    [
        Heartbeat(
            epoch=3,
            instance="0123456789abcdef",
            token="t",
            sequence=4,
            phase="running",
            at="2026-03-01T12:00:00+00:00",
            host="h",
            pid=1,
        ),
        ExitRecord(epoch=3, instance="0123456789abcdef", outcome=Outcome.FAILED, at="now", error_classes=("A", "B")),
        Position(query_id="q", offset=5, commit=4),
    ],
    ids=["heartbeat", "exit", "position"],
)
def test_drivers_files_survive_too(value):
    assert decode(type(value), encode(value), address=ADDRESS) == value


def test_a_heartbeat_that_does_not_parse_names_its_file():
    with pytest.raises(CorruptRecordError, match=ADDRESS):
        decode(Heartbeat, b'{"epoch": 3}', address=ADDRESS)


def test_words_on_the_wire_are_words_in_the_code():
    claim = decode_record(encode_record(CLAIM), address=ADDRESS)

    assert claim.body.mode is ClaimMode.LIVE
    assert claim.at == datetime(2026, 3, 1, 12, 0, 17, tzinfo=UTC)


def test_half_a_surrogate_is_written_as_a_question_mark():
    """A name of a file that is no text comes so from the operating system, and no file of ours could hold it."""
    record = replace(CLAIM, reason="lost \udcff.csv")

    assert decode_record(encode_record(record), address=ADDRESS).reason == "lost ?.csv"
