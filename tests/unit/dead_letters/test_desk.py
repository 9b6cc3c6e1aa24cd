"""Replays, carried on and ended: what is refused, and with which words."""

import pytest

from streamops.control import codec
from streamops.control.layout import replays_folder
from streamops.control.records import Author
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.replay import POSITION_HEADER, REPLAY_HEADER
from streamops.errors import CorruptRecordError, ReplayError
from streamops.storage import join
from support.replays import LIVING, ReplayTrial


def at(offset: int, *, partition: int = 0) -> RecordPosition:
    return RecordPosition(topic="orders", partition=partition, offset=offset)


@pytest.fixture
def trial() -> ReplayTrial:
    trial = ReplayTrial()
    for position in (at(3), at(5), at(1, partition=1)):
        trial.letters.dies(position)
    return trial


def test_each_goes_back_to_its_partition_with_its_mark(trial: ReplayTrial) -> None:
    replay = trial.begun()

    outcome = trial.desk().carry_on(replay, trial.letters)

    assert (outcome.is_done, outcome.sent, outcome.sent_now) == (True, 3, 3)
    assert list(trial.sender.sent) == [("orders", 0, 10), ("orders", 0, 11), ("orders", 1, 10)]
    assert trial.sender.header(POSITION_HEADER) == ["orders/0/3", "orders/0/5", "orders/1/1"]
    assert set(trial.sender.header(REPLAY_HEADER)) == {replay.plan.id}
    (done,) = trial.shelf.replays()
    assert done.sent == {at(3): at(10), at(5): at(11), at(1, partition=1): at(10, partition=1)}


def test_a_partition_that_is_gone_is_left_to_the_key(trial: ReplayTrial) -> None:
    trial.broker.has("orders", (0, 10))

    trial.desk().carry_on(trial.begun(), trial.letters)

    assert [record.partition for record in trial.sender.sent.values()] == [0, 0, None]


def test_what_a_killed_process_has_sent_is_not_sent_again(trial: ReplayTrial) -> None:
    trial.killed_after(2, trial.begun())

    outcome = trial.desk().carry_on(trial.open_one(), trial.letters)

    assert (outcome.is_done, outcome.sent, outcome.sent_now) == (True, 3, 1)
    assert trial.sender.header(POSITION_HEADER) == ["orders/0/3", "orders/0/5", "orders/1/1"]


def test_a_cluster_that_goes_away_leaves_the_replay_open(trial: ReplayTrial) -> None:
    trial.sender.breaks_after = 1

    outcome = trial.desk().carry_on(trial.begun(), trial.letters)

    assert (outcome.is_done, outcome.sent) == (False, 1)
    assert outcome.trouble == "orders/0:5: _MSG_TIMED_OUT: Local: Message timed out"
    assert trial.open_one().end is not None


def test_a_record_that_the_topic_refuses_does_not_hold_up_the_others(trial: ReplayTrial) -> None:
    trial.letters.dies(at(4), value=b"huge")
    trial.sender.unfit = frozenset({b"huge"})

    outcome = trial.desk().carry_on(trial.begun(), trial.letters)

    assert (outcome.is_done, outcome.sent) == (False, 3)
    assert outcome.trouble == "orders/0:4: MSG_SIZE_TOO_LARGE: Broker: Message size too large"


def test_a_given_up_replay_frees_what_it_has_not_sent(trial: ReplayTrial) -> None:
    trial.killed_after(2, trial.begun())

    trial.desk().give_up(trial.open_one(), reason="enough")

    assert trial.choice().chosen == (at(1, partition=1),)


def test_a_given_up_replay_of_which_nothing_can_be_read_frees_nothing(trial: ReplayTrial) -> None:
    trial.killed_after(2, trial.begun())
    trial.sender.trouble = "away"

    done = trial.desk().give_up(trial.open_one(), reason="enough")

    assert done.is_unknown
    assert trial.choice().chosen == ()


def test_what_died_again_is_known_by_its_first_position(trial: ReplayTrial) -> None:
    trial.desk().carry_on(trial.begun(), trial.letters)
    trial.letters.dies(at(10))

    assert trial.choice().chosen == ()
    assert trial.choice(again=True).chosen == (at(10),)


def test_a_second_replay_is_refused_while_one_is_open(trial: ReplayTrial) -> None:
    trial.begun()
    trial.letters.dies(at(9))

    with pytest.raises(ReplayError, match="replay 1 is open"):
        trial.begun()


def test_a_choice_that_another_replay_has_sent_meanwhile_is_refused(trial: ReplayTrial) -> None:
    choice = trial.choice()
    trial.desk().carry_on(trial.begun(), trial.letters)

    with pytest.raises(ReplayError, match="another replay has sent orders/0:3 meanwhile"):
        trial.desk().begin(choice, table=trial.letters.address, reason="mended")


def test_of_two_that_begin_at_once_one_is_refused(trial: ReplayTrial) -> None:
    plan = trial.begun().plan

    with pytest.raises(ReplayError, match="another replay has just begun"):
        trial.shelf.begin(plan)


def test_of_two_that_carry_on_at_once_one_is_refused(trial: ReplayTrial) -> None:
    replay = trial.begun()
    trial.killed_after(1, replay)

    with pytest.raises(ReplayError, match="another process has just taken replay 1 up"):
        trial.desk().carry_on(replay, trial.letters)


def test_nobody_carries_on_while_the_author_lives(trial: ReplayTrial) -> None:
    replay = trial.begun()
    trial.desk(LIVING).take_up(replay, takes_over=False)

    with pytest.raises(ReplayError, match="replay 1 is under way: person:ana, process"):
        trial.desk().carry_on(trial.open_one(), trial.letters, takes_over=True)


def test_a_process_of_another_host_is_taken_over_on_a_persons_word_only(trial: ReplayTrial) -> None:
    replay = trial.begun()
    trial.desk(Author(actor="person:eve", host="elsewhere", pid=7)).take_up(replay, takes_over=False)

    with pytest.raises(ReplayError, match="add --take-over"):
        trial.desk().carry_on(trial.open_one(), trial.letters)
    assert trial.desk().carry_on(trial.open_one(), trial.letters, takes_over=True).is_done


def test_a_topic_that_was_made_anew_tells_nothing_of_what_was_sent(trial: ReplayTrial) -> None:
    trial.killed_after(1, trial.begun())
    trial.broker.has("orders", (0, 0), (0, 0), topic_id="second")

    with pytest.raises(ReplayError, match="topic orders was made anew since replay 1 began"):
        trial.desk().carry_on(trial.open_one(), trial.letters)


def test_records_that_were_deleted_since_may_be_those_that_were_sent(trial: ReplayTrial) -> None:
    trial.killed_after(1, trial.begun())
    trial.broker.has("orders", (11, 11), (0, 10), topic_id="first")

    with pytest.raises(ReplayError, match="partition 0: records 10 to 10 are deleted"):
        trial.desk().carry_on(trial.open_one(), trial.letters)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [("", "topic orders is gone"), ("_TRANSPORT: no broker", "topic orders: the cluster does not answer: _TRANSPORT")],
)
def test_without_its_topic_nothing_begins(trial: ReplayTrial, trouble: str, words: str) -> None:
    trial.broker.topics.clear()
    trial.broker.trouble = trouble

    with pytest.raises(ReplayError, match=words):
        trial.begun()
    assert trial.shelf.replays() == ()


def test_dead_letters_that_are_deleted_meanwhile_are_named(trial: ReplayTrial) -> None:
    replay = trial.begun()
    del trial.letters.rows[at(5)]

    outcome = trial.desk().carry_on(replay, trial.letters)

    assert (outcome.sent, outcome.trouble) == (
        2,
        "1 dead letters are no longer in file:///dead/orders, orders/0:5 is one",
    )


def test_a_broken_plan_is_an_error_that_names_the_file(trial: ReplayTrial) -> None:
    address = join(replays_folder(trial.shelf.checkpoint), "000001", "plan.json")
    trial.storage.write(address, codec.encode({"number": 1}))

    with pytest.raises(CorruptRecordError, match=r"replays/000001/plan\.json does not hold a ReplayPlan"):
        trial.shelf.replays()
