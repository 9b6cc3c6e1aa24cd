"""Which dead letters a replay sends, row by row."""

import pytest

from streamops.dead_letters.letter import Candidate, Choice, LeftOut, RecordPosition, choose


def at(offset: int, *, topic: str = "orders", partition: int = 0) -> RecordPosition:
    return RecordPosition(topic=topic, partition=partition, offset=offset)


def choice_of(*candidates: Candidate, **changes: object) -> Choice:
    given = {"topics": ("orders",), "held": frozenset(), "born_again": {}, **changes}
    return choose(candidates, **given)


@pytest.mark.parametrize(
    ("candidate", "changes", "why"),
    [
        pytest.param(Candidate(position=at(1)), {}, None, id="a plain one is sent"),
        pytest.param(Candidate(position=at(1)), {"held": {at(1)}}, LeftOut.HELD, id="a replay holds it"),
        pytest.param(
            Candidate(position=at(1)), {"born_again": {at(1): at(0)}}, LeftOut.DIED_AGAIN, id="it died after a replay"
        ),
        pytest.param(
            Candidate(position=at(1)), {"born_again": {at(1): at(0)}, "again": True}, None, id="and is wanted once more"
        ),
        pytest.param(
            Candidate(position=at(1)),
            {"born_again": {at(1): at(0)}, "again": True, "held": {at(1)}},
            LeftOut.HELD,
            id="but not twice",
        ),
        pytest.param(
            Candidate(position=at(1, topic="payroll")),
            {},
            LeftOut.OTHER_TOPIC,
            id="a topic that the stream does not read",
        ),
        pytest.param(Candidate(position=at(1), lacks_raw=True), {}, LeftOut.NO_RAW, id="its raw record was not kept"),
    ],
)
def test_one_candidate(candidate: Candidate, changes: dict[str, object], why: LeftOut | None) -> None:
    choice = choice_of(candidate, **changes)

    assert choice.chosen == ((candidate.position,) if why is None else ())
    assert choice.left_out == (((why, (candidate.position,)),) if why else ())


def test_a_row_that_is_there_twice_is_sent_once_and_all_in_order() -> None:
    letters = [at(9), at(2), at(9), at(1, partition=1)]

    choice = choice_of(*(Candidate(position=one) for one in letters))

    assert choice.chosen == (at(2), at(9), at(1, partition=1))


def test_only_what_was_asked_for_and_what_of_it_is_no_dead_letter() -> None:
    choice = choice_of(Candidate(position=at(1)), Candidate(position=at(2)), asked=frozenset({at(2), at(7)}))

    assert (choice.chosen, choice.unknown) == ((at(2),), (at(7),))


def test_more_than_one_replay_sends_wait() -> None:
    choice = choice_of(*(Candidate(position=at(offset)) for offset in (3, 1, 2)), most=2)

    assert (choice.chosen, choice.waiting) == ((at(1), at(2)), 1)
