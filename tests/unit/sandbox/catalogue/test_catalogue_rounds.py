"""As many jobs at once as memory and cores allow; none is forgotten, and the order stays."""

import pytest

from streamops_sandbox.catalogue.rounds import GIBIBYTE, Demand, Room, plan_text, rounds_of
from streamops_sandbox.errors import SandboxError


def demands(*memories: float) -> tuple[Demand, ...]:
    return tuple(
        Demand(stream=name, memory=int(memory * GIBIBYTE)) for name, memory in zip("abcdefg", memories, strict=False)
    )


def a_room(memory: float, cores: int) -> Room:
    return Room(memory=int(memory * GIBIBYTE), cores=cores)


@pytest.mark.parametrize(
    ("memories", "room", "rounds"),
    [
        pytest.param((1.7, 1.7), a_room(9, 2), ("ab",), id="all fit"),
        pytest.param((1.7,) * 5, a_room(6.2, 4), ("abc", "de"), id="the memory decides"),
        pytest.param((1.7,) * 7, a_room(64, 2), ("abc", "def", "g"), id="one more than there are cores"),
        pytest.param((1.5, 1.5), a_room(3, 2), ("ab",), id="exactly as much as there is"),
        pytest.param((1.7,) * 3, a_room(1.7, 8), ("a", "b", "c"), id="one at a time"),
        pytest.param((1, 4, 1, 1), a_room(4.5, 8), ("a", "b", "cd"), id="a large one runs alone, in its place"),
        pytest.param((1.7,), a_room(2, 1), ("a",), id="one job"),
    ],
)
def test_each_round_has_as_many_as_fit(memories, room, rounds):
    assert rounds_of(demands(*memories), room) == tuple(tuple(found) for found in rounds)


def test_one_that_does_not_fit_alone_is_refused_before_anything_starts():
    with pytest.raises(SandboxError, match=r"^b takes about 4.0 GiB, and 2.0 GiB are free"):
        rounds_of(demands(1, 4), a_room(2, 8))


@pytest.mark.parametrize(
    ("count", "room", "text"),
    [
        (5, a_room(6.2, 4), "3 of 5 at once: 6.2 GiB free, about 1.7 GiB each, 4 cores; the rest in a further round"),
        (2, a_room(9, 2), "2 of 2 at once: 9.0 GiB free, about 1.7 GiB each, 2 cores"),
        (7, a_room(9, 2), "3 of 7 at once: 9.0 GiB free, about 1.7 GiB each, 2 cores; the rest in 2 further rounds"),
    ],
)
def test_it_is_said_how_many_and_why(count, room, text):
    wanted = demands(*(1.7,) * count)

    assert plan_text(wanted, rounds_of(wanted, room), room) == text
