"""Whatever dies, and whenever: no dead letter comes to its topic twice, and none of a replay that is done is missing."""

from collections import Counter
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.dead_letters import RecordPosition
from streamops.dead_letters.replay import POSITION_HEADER, Replay
from streamops.errors import StreamOpsError
from support.replays import ReplayTrial

EVENTS = st.one_of(
    st.tuples(st.just("dies"), st.integers(0, 1), st.integers(0, 9)),
    st.tuples(st.just("dies again"), st.integers(0, 30)),
    st.tuples(st.just("sends")),
    st.tuples(st.just("killed"), st.integers(0, 6)),
    st.tuples(st.just("cluster away"), st.integers(0, 6), st.booleans()),
    st.tuples(st.just("unfit"), st.sampled_from([b"{0", b"{5", b"{9"])),
    st.tuples(st.just("gives up"), st.booleans()),
)


def happens(trial: ReplayTrial, event: tuple) -> None:
    match event:
        case ("dies", partition, offset):
            position = RecordPosition(topic="orders", partition=partition, offset=offset)
            trial.letters.dies(position, value=b"{%d" % offset)
        case ("dies again", number) if trial.sender.sent:
            topic, partition, offset = list(trial.sender.sent)[number % len(trial.sender.sent)]
            trial.letters.dies(RecordPosition(topic=topic, partition=partition, offset=offset))
        case ("sends",):
            trial.desk().carry_on(open_or_begun(trial), trial.letters)
        case ("killed", records):
            trial.killed_after(records, open_or_begun(trial))
        case ("cluster away", records, is_lost):
            trial.sender.breaks_after, trial.sender.loses_answers = records, is_lost
            trial.desk().carry_on(open_or_begun(trial), trial.letters)
        case ("unfit", value):
            trial.sender.unfit = frozenset({value})
        case ("gives up", is_unreadable) if trial.is_open:
            trial.sender.trouble = "away" if is_unreadable else ""
            trial.desk().give_up(trial.open_one(), reason="enough")


def open_or_begun(trial: ReplayTrial) -> Replay:
    if trial.is_open:
        return trial.open_one()
    return trial.desk().begin(trial.choice(again=True), table=trial.letters.address, reason="mended")


@settings(max_examples=300)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.lists(EVENTS, max_size=20))
def test_no_dead_letter_is_sent_twice_and_a_done_replay_has_sent_all(dead: list[int], events: list[tuple]) -> None:
    trial = ReplayTrial()

    for event in [*(("dies", offset % 2, offset) for offset in dead), *events]:
        # What is refused is refused.
        with suppress(StreamOpsError):
            happens(trial, event)
        trial.sender.breaks_after, trial.sender.loses_answers, trial.sender.trouble = None, False, ""

    times = Counter(trial.sender.header(POSITION_HEADER))
    assert [position for position, count in times.items() if count > 1] == []
    for replay in trial.shelf.replays():
        if replay.done and not replay.done.is_given_up:
            assert {position.header for position in replay.plan.positions} <= times.keys()
            assert replay.sent.keys() == set(replay.plan.positions)
