"""Appending *is* the compare-and-swap: of any number of claimants one gets the number, and each knows whether it did."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamops.control.codec import encode_record
from streamops.control.fold import fold
from streamops.control.layout import record_address
from streamops.control.log import ControlLog
from streamops.control.snapshot import load_state, save_snapshot_if_due
from streamops.errors import AppendRefusedError, ControlLogError, NewerRecordError, StorageError
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from support.records import a_claim, a_record
from support.storage import FlakyStorage

CLAIMANTS = 8
ROUNDS = 200


@pytest.fixture(params=["local", "memory"])
def log(request, tmp_path):
    if request.param == "local":
        return ControlLog(LocalStorage(), f"file://{tmp_path}/orders.streamops")
    return ControlLog(MemoryStorage(), "memory://orders.streamops")


def a_claim_at(number, claimant="me"):
    body = a_claim(number + 1, token=f"{claimant}-{number}")
    return a_record(body, number, nonce=f"{claimant}-{number}")


def test_of_eight_claimants_at_once_exactly_one_gets_the_number(log):
    barrier = threading.Barrier(CLAIMANTS)

    def claim(number, claimant):
        barrier.wait()
        try:
            return log.append(a_claim_at(number, str(claimant))).body.token
        except AppendRefusedError:
            return None

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        for number in range(ROUNDS):
            tokens = pool.map(claim, [number] * CLAIMANTS, range(CLAIMANTS))
            winners = [token for token in tokens if token]
            assert len(winners) == 1
            assert log.read_behind(number - 1)[0].body.token == winners[0]

    state = fold(log.read())
    assert (state.newest.number, state.contradictions) == (ROUNDS, 0)


def test_claimants_that_observe_anew_after_each_refusal_build_one_log_without_holes(log):
    """Each claims five epochs of its own; nobody's claim is lost or lands on an old fold."""

    def claim_five(claimant):
        won = 0
        while won < 5:
            state = load_state(log.storage, log.control)
            number, epoch = state.next_number, state.next_epoch
            record = a_record(a_claim(epoch, token=f"{claimant}-{won}"), number, nonce=f"{claimant}-{won}")
            try:
                log.append(record)
            except AppendRefusedError:
                continue
            save_snapshot_if_due(log.storage, log.control, state, record)
            won += 1

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        list(pool.map(claim_five, range(CLAIMANTS)))

    state = fold(log.read())
    assert (state.newest.number, state.next_number, state.contradictions) == (5 * CLAIMANTS, 5 * CLAIMANTS, 0)
    assert load_state(log.storage, log.control) == state


def test_a_refused_claim_never_moves_on_to_the_next_number(log):
    log.append(a_claim_at(0, "other"))

    with pytest.raises(AppendRefusedError, match="observe and decide anew"):
        log.append(a_claim_at(0, "me"))
    assert [record.body.token for record in log.read()] == ["other-0"]


# Lost requests and lost answers


@pytest.mark.parametrize(
    "fates",
    [
        pytest.param(("lost request",), id="the request was lost: it is sent again"),
        pytest.param(("lost answer",), id="the answer was lost: the record found there carries our nonce"),
        pytest.param(("lost request", "lost answer"), id="first the one, then the other"),
        pytest.param(("lost answer", "lost request"), id="done, and then the second try gets lost too"),
        pytest.param(("lost request", "lost request"), id="the last try gets through"),
    ],
)
def test_a_claim_survives_a_bad_connection(log, fates):
    flaky = ControlLog(FlakyStorage(log.storage, creates=fates), log.control)

    appended = flaky.append(a_claim_at(0))

    assert log.read() == (appended,)


@pytest.mark.parametrize("fate", ["lost request", "lost answer"])
def test_a_claim_that_another_was_faster_to_make_is_refused_however_bad_the_connection(log, fate):
    log.append(a_claim_at(0, "other"))
    flaky = ControlLog(FlakyStorage(log.storage, creates=(fate,)), log.control)

    with pytest.raises(AppendRefusedError):
        flaky.append(a_claim_at(0, "me"))
    assert [record.body.token for record in log.read()] == ["other-0"]


def test_an_appender_that_gets_no_answer_at_all_is_told_so_and_not_that_it_lost(log):
    flaky = ControlLog(FlakyStorage(log.storage, creates=("lost request",) * 3), log.control)

    with pytest.raises(StorageError):
        flaky.append(a_claim_at(0))
    assert log.read() == ()


def test_a_record_that_was_made_without_any_answer_is_found_by_the_next_reader(log):
    storage = FlakyStorage(log.storage, creates=("lost request", "lost request", "lost answer"))

    with pytest.raises(StorageError):
        ControlLog(storage, log.control).append(a_claim_at(0))
    assert [record.body.token for record in log.read()] == ["me-0"]


def test_the_same_record_appended_again_by_its_writer_is_no_refusal(log):
    record = a_claim_at(0)

    assert log.append(record) == log.append(record)


def test_the_same_body_with_another_nonce_is_another_writers(log):
    log.append(a_record(a_claim(1), 0, nonce="a"))

    with pytest.raises(AppendRefusedError):
        log.append(a_record(a_claim(1), 0, nonce="b"))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(b"", ControlLogError, id="an empty file"),
        pytest.param(b'{"min_reader":99}', NewerRecordError, id="a newer version's record"),
    ],
)
def test_a_number_that_holds_something_unreadable_is_never_taken_for_ours(log, content, error):
    log.storage.create(record_address(log.control, 0), content)

    with pytest.raises(error):
        log.append(a_claim_at(0))


def test_a_record_is_read_back_as_it_was_written(log):
    record = a_claim_at(0)
    log.append(record)

    assert log.read() == (record,)
    assert log.storage.read(record_address(log.control, 0)) == encode_record(record)
