"""A living driver is never taken for dead because `/proc` does not show it: real mounts, real users, a supervisor of each."""

from pathlib import Path

import pytest

from support.hidden_proc import ANA, BEN, ENDS_BEFORE_ITS_CHILD, HiddenProc, User, make_place
from support.waiting import eventually

TAKEOVER = 80
"""Longer than a beat may stand still, in seconds."""


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


@pytest.fixture
def mounted():
    """Mounts `/proc` with these options, for the test."""
    begun = []

    def mount(options: str) -> HiddenProc:
        begun.append(HiddenProc(options))
        return begun[-1]

    yield mount
    for proc in begun:
        proc.end()


def submitted(user: User, place: str) -> str:
    """The driver that a supervisor of this user has submitted."""
    (handle,) = user.settle(place)["handles"]
    return handle


def starts(place: str) -> int:
    """How often spark-submit was started."""
    log = Path(place) / "started"
    return len(log.read_text().split()) if log.exists() else 0


# Another user


@pytest.mark.parametrize("options", ["hidepid=1", "hidepid=2", "hidepid=4"])
def test_a_driver_that_is_hidden_is_waited_for_and_neither_ended_nor_claimed_over(mounted, place, options):
    proc = mounted(options)
    ana, ben = proc.user(ANA), proc.user(BEN)
    handle = submitted(ana, place)
    assert eventually(lambda: starts(place) == 1)

    found = ben.settle(place, after=TAKEOVER)
    refused = ben.kill(handle)

    assert (found["action"], found["needs_attention"]) == ("wait", True)
    assert "hide" in found["reason"]
    assert "run as the user that started it" in found["reason"]
    assert "--confirm-dead 1" in found["reason"]
    assert found["records"] == ["claimed", "submitted"]
    assert "can't be signalled from here" in refused or "hides process" in refused
    assert starts(place) == 1
    assert ana.poll(handle)[0] == "running"


def test_its_end_is_seen_by_its_own_user_and_stays_unknown_to_the_other(mounted, place):
    proc = mounted("hidepid=2")
    ana, ben = proc.user(ANA), proc.user(BEN)
    handle = submitted(ana, place)

    ana.kill(handle)

    assert eventually(lambda: ana.poll(handle)[0] == "ended")
    state, evidence = ben.poll(handle)
    assert state == "unknown"
    assert f"hides processes of user {ANA} from user {BEN}" in evidence


@pytest.mark.parametrize("options", ["hidepid=1", "hidepid=2"])
def test_what_is_left_of_a_group_is_hidden_like_its_leader(mounted, tmp_path, options):
    proc, place = mounted(options), make_place(tmp_path, ENDS_BEFORE_ITS_CHILD)
    ana, ben = proc.user(ANA), proc.user(BEN)
    handle = submitted(ana, place)
    (tmp_path / "enough").touch()

    assert eventually(lambda: ana.poll(handle)[0] == "broken")
    assert ben.poll(handle)[0] == "unknown"


@pytest.mark.parametrize("options", ["hidepid=1", "hidepid=2"])
def test_a_replay_that_a_hidden_process_has_taken_up_is_carried_on_by_a_persons_word_only(mounted, place, options):
    proc = mounted(options)
    ana, ben = proc.user(ANA), proc.user(BEN)

    refused = ben.carry_on_a_replay_of(submitted(ana, place))

    assert "from here nobody can tell whether that still sends" in refused
    assert "--take-over" in refused


@pytest.mark.parametrize(
    ("options", "who"),
    [
        pytest.param("hidepid=2", {"uid": 0}, id="root, who may trace everybody"),
        pytest.param(
            "hidepid=2", {"uid": BEN, "groups": (0,)}, id="a member of the mount's group, which is 0 unless told"
        ),
        pytest.param(
            "hidepid=1,gid=777", {"uid": BEN, "groups": (5, 777)}, id="a member of the group that the mount names"
        ),
        pytest.param("hidepid=0", {"uid": BEN}, id="anybody where nothing is hidden"),
    ],
)
def test_whoever_sees_the_other_user_sees_the_end_as_well(mounted, place, options, who):
    proc = mounted(options)
    ana, other = proc.user(ANA), proc.user(**who)
    handle = submitted(ana, place)

    alive = other.poll(handle)[0]
    ana.kill(handle)

    assert alive == "running"
    assert eventually(lambda: other.poll(handle)[0] == "ended")


def test_what_is_hidden_by_the_group_alone_is_unknown_although_the_user_is_the_same(mounted, place):
    """The kernel compares group ids, too. It tells all the same that the process group exists."""
    proc = mounted("hidepid=2")
    ana, in_another_group = proc.user(ANA), proc.user(ANA, gid=777)
    handle = submitted(ana, place)

    state, evidence = in_another_group.poll(handle)

    assert state == "unknown"
    assert "exists and /proc hides it" in evidence
    assert "can't be signalled from here" in in_another_group.kill(handle)


@pytest.mark.parametrize("gid", ["0", "777"])
def test_no_group_sees_through_a_mount_that_asks_who_may_trace(mounted, gid):
    ben = mounted(f"hidepid=4,gid={gid}").user(BEN, groups=(0, 777))

    assert "hidepid=ptraceable" in ben.why_unseen(ANA)


def test_that_no_driver_is_found_counts_only_for_users_that_are_not_hidden(mounted):
    ben = mounted("hidepid=2").user(BEN)

    assert ben.why_unseen(BEN) == ""
    assert "hidepid=invisible" in ben.why_unseen(ANA)
    assert "hides processes of other users" in ben.why_unseen(-1)


# Another pid namespace


def test_with_the_proc_of_another_pid_namespace_nothing_is_known_signalled_or_started(mounted, place):
    proc = mounted("hidepid=0")
    ana, lost = proc.user(ANA), proc.user(0, inside=("unshare", "--pid", "--fork"))
    handle = submitted(ana, place)
    assert eventually(lambda: starts(place) == 1)

    seen = lost.settle(place, after=TAKEOVER)

    assert seen["action"] == "wait"
    assert seen["records"] == ["claimed", "submitted"]
    for answer in (lost.poll(handle)[1], lost.kill(handle), lost.find("a token"), lost.why_unseen(0)):
        assert "/proc belongs to another pid namespace" in answer
        assert "mount -t proc proc /proc" in answer
    assert ana.poll(handle)[0] == "running"


def test_nothing_is_started_where_the_driver_could_not_be_followed(mounted, place):
    lost = mounted("hidepid=0").user(0, inside=("unshare", "--pid", "--fork"))

    refused = lost.settle(place)

    assert "/proc belongs to another pid namespace" in refused
    assert starts(place) == 0
