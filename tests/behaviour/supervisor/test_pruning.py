"""The pruner over real storages: what it deletes, what a crash or a second pruner makes of it, and who calls it.

The epochs here have ended long ago, as files and the log tell; the rules alone are judged in `test_prune_rules`.
"""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streamops.control import codec
from streamops.control.layout import backfill_checkpoint, control_folder, driver_folder
from streamops.control.log import LogReader
from streamops.control.records import DriverHandle, StopRequested, Submitted
from streamops.errors import LaunchError
from streamops.launch import SubmitRequest
from streamops.reconcile import DeclaredStreams, Pruner, ReconcilePorts, Reconciler
from streamops.reconcile.pruner import PrunedPlace
from streamops.spec import Keep
from streamops.storage import join
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from streamops.supervision import bundle as bundles
from streamops.supervision.bundle import bundle_name, driver_bundle, log_folder
from support.clock import FakeClock
from support.launcher import FakeLauncher
from support.model_tasks import Gone
from support.records import a_claim, a_log, a_submit, an_end, write_log
from support.specs import SUPERVISOR, a_stream, seconds
from support.state_root import init
from support.storage import InterruptibleStorage, SwitchableStorage

TWO = Keep(epochs=2, days=0)
LATER = timedelta(days=30)
OWN_FILES = ("heartbeat.json", ".heartbeat.json.crc", "progress.jsonl", "exit.json")


class Yard:
    """A stream whose drivers have left things, and a pruner."""

    def __init__(self, storage, root: str) -> None:
        self.storage = storage
        self.clock = FakeClock(datetime.now(UTC) + LATER)
        self.launcher = FakeLauncher()
        self.state_root = join(root, "state")
        init(storage, self.state_root)
        self.spec = a_stream(checkpoint=join(root, "checkpoints", "orders"), keep=TWO)
        self.control = control_folder(self.spec.checkpoint)

    def pruner(self, storage=None) -> Pruner:
        return Pruner(
            storage_for=lambda address: storage or self.storage,
            launcher=self.launcher,
            clock=self.clock,
            state_root=self.state_root,
        )

    def prune(self, storage=None):
        return self.pruner(storage).run([self.spec], patience=seconds(20))

    def have_run(self, *epochs: int, ended: bool = True, checkpoint: str = "", stream: str = "orders") -> None:
        """Drivers of these epochs, with a log in two pieces and a folder each."""
        control = control_folder(checkpoint or self.spec.checkpoint)
        bodies = []
        for epoch in epochs:
            bodies += [a_claim(epoch, stream=stream), a_submit(epoch), *([an_end(epoch)] if ended else [])]
            self.leave(epoch, control=control, stream=stream)
        write_log(self.storage, control, a_log(*bodies))

    def leave(self, epoch: int, *, control: str = "", stream: str = "orders", instance: str = "0a0a0a0a") -> None:
        for name in OWN_FILES:
            self.storage.write(join(driver_folder(control or self.control, epoch, instance), name), b"{}")
        for piece in ("", ".1"):
            self.storage.write(join(log_folder(self.state_root, stream), f"{epoch:06d}.log{piece}"), b"x" * 100)

    @property
    def logs(self) -> list[str]:
        return list(self.storage.list(log_folder(self.state_root, "orders")))

    @property
    def folders(self) -> list[str]:
        return list(self.storage.list(join(self.control, "drivers")))


@pytest.fixture(params=["local", "memory"])
def yard(request, tmp_path) -> Yard:
    if request.param == "local":
        return Yard(LocalStorage(), f"file://{tmp_path}")
    return Yard(MemoryStorage(lambda: datetime.now(UTC)), "file:///memory")


def test_logs_in_both_pieces_and_folders_of_old_epochs_go_and_the_control_log_stays_whole(yard):
    yard.have_run(1, 2, 3, 4)
    yard.leave(1, instance="0b0b0b0b")
    records = yard.storage.list(join(yard.control, "log"))

    (pruned,) = yard.prune()

    assert (pruned.epochs, pruned.troubles) == ((1, 2), ())
    assert pruned.size == 2 * (2 * 100 + 4 * 2) + 4 * 2
    assert yard.logs == ["000003.log", "000003.log.1", "000004.log", "000004.log.1"]
    assert yard.folders == ["3-0a0a0a0a", "4-0a0a0a0a"]
    assert yard.storage.list(join(yard.control, "log")) == records


def test_nothing_of_an_open_epoch_goes_however_old_it_is(yard):
    yard.have_run(1, 2, 3, 4, 5, ended=False)

    assert [pruned.epochs for pruned in yard.prune()] == [()]
    assert len(yard.folders) == 5


def test_names_that_are_not_ours_stay(yard):
    yard.have_run(1, 2, 3, 4)
    strange = (join(log_folder(yard.state_root, "orders"), "notes.txt"), join(yard.control, "drivers", "mine", "a"))
    for address in strange:
        yard.storage.write(address, b"x")

    yard.prune()

    assert [yard.storage.read(address) for address in strange] == [b"x", b"x"]


def test_a_disowned_driver_that_lives_keeps_its_log_and_its_folder(yard):
    yard.have_run(1, 2, 3, 4)
    yard.launcher.add("t", request=request(yard.control, epoch=1))

    (pruned,) = yard.prune()

    assert pruned.epochs == (2,)


def test_a_log_that_a_driver_of_another_checkpoint_writes_stays(yard):
    """The stream was moved, and the driver of the old place lives: its log would go on growing where nobody sees it."""
    yard.have_run(1, 2, 3, 4)
    log = local_path(join(log_folder(yard.state_root, "orders"), "000002.log"))
    yard.launcher.add("t", log=log, request=request("file:///elsewhere.streamops", epoch=2))

    (pruned,) = yard.prune()

    assert pruned.epochs == (1,)


def test_nothing_goes_while_nobody_can_tell_who_lives(yard):
    yard.have_run(1, 2, 3, 4)
    yard.launcher.poll_error = LaunchError("/proc can't be read")

    assert yard.prune() == ()
    assert len(yard.folders) == 4


def test_a_log_that_is_gone_by_the_time_of_the_act_stops_it(yard):
    """Planned, and judged once more right before: the control log was put back or deleted in between."""
    yard.have_run(1, 2, 3, 4)

    def lose_log(moment: str) -> None:
        if moment == f"before details {log_folder(yard.state_root, 'orders')}":
            for name in yard.storage.list(join(yard.control, "log")):
                yard.storage.delete(join(yard.control, "log", name))

    (pruned,) = yard.prune(InterruptibleStorage(yard.storage, lose_log))

    assert pruned.epochs == ()
    assert len(yard.folders) == 4
    assert "restore the log" in pruned.troubles[0].lower()


def test_an_epoch_that_is_written_meanwhile_stays(yard):
    yard.have_run(1, 2, 3, 4)
    written = []

    def write(moment: str) -> None:
        if moment.startswith(f"before list {yard.control}/log") and len(written) < 3:
            written.append(moment)
            yard.clock.set_wall(datetime.now(UTC))
            yard.leave(1)

    (pruned,) = yard.prune(InterruptibleStorage(yard.storage, write))

    assert 1 not in pruned.epochs
    assert "000001.log" in yard.logs


def test_a_crash_between_any_two_deletions_is_made_good_by_the_next_round(yard):
    yard.have_run(1, 2, 3, 4)
    deletions = 0

    for survived in range(100):
        steps = iter(range(survived))

        def crash(moment: str, steps=steps) -> None:
            if moment.startswith("before delete") and next(steps, None) is None:
                raise Gone

        try:
            yard.pruner(InterruptibleStorage(yard.storage, crash)).prune(place(yard), ())
        except Gone:
            deletions += 1
            assert yard.folders[-2:] == ["3-0a0a0a0a", "4-0a0a0a0a"]
            yard.leave(1)
            continue
        break

    assert deletions > 10
    assert (yard.logs[0], yard.folders) == ("000003.log", ["3-0a0a0a0a", "4-0a0a0a0a"])


def test_two_pruners_at_once_do_no_harm(yard):
    """At each deletion of the one, the other prunes all."""
    yard.have_run(1, 2, 3, 4)
    others = []

    def the_other(moment: str) -> None:
        if moment.startswith("before delete"):
            others.extend(yard.prune())

    (pruned,) = yard.prune(InterruptibleStorage(yard.storage, the_other))

    assert pruned.troubles == ()
    assert all(other.troubles == () for other in others)
    assert yard.folders == ["3-0a0a0a0a", "4-0a0a0a0a"]


def test_a_folder_that_can_not_be_read_keeps_itself_and_nothing_else(yard):
    yard.have_run(1, 2, 3, 4)
    away = SwitchableStorage(yard.storage)
    away.unreachable = "/1-0a0a0a0a"

    (pruned,) = yard.prune(away)

    assert pruned.epochs == (2,)
    assert yard.folders[0] == "1-0a0a0a0a"


def test_a_folder_with_something_below_it_is_told_and_holds_nobody_up(yard):
    yard.have_run(1, 2, 3, 4)
    yard.storage.write(join(driver_folder(yard.control, 1, "0a0a0a0a"), "deep", "f"), b"x")

    (pruned,) = yard.prune()

    assert (pruned.epochs, len(pruned.troubles)) == ((2,), 1)


def test_another_stream_that_can_not_be_reached_is_told_and_the_others_are_pruned(yard):
    yard.have_run(1, 2, 3, 4)
    other = a_stream("other", checkpoint="file:///away/other", keep=TWO)
    away = SwitchableStorage(yard.storage)
    away.unreachable = "/away/"

    found = yard.pruner(away).run([other, yard.spec], patience=seconds(20))

    assert [(pruned.stream, pruned.epochs) for pruned in found] == [("other", ()), ("orders", (1, 2))]
    assert "can't be reached" in found[0].troubles[0]


def test_backfills_are_pruned_as_the_streams_that_they_are(yard):
    checkpoint = backfill_checkpoint(yard.spec.checkpoint, "20260301-120000")
    yard.have_run(1, 2, 3, 4, checkpoint=checkpoint, stream="orders__20260301_120000")

    found = yard.prune()

    assert [(pruned.stream, pruned.epochs) for pruned in found] == [
        ("orders", ()),
        ("orders__20260301_120000", (1, 2)),
    ]


def test_a_stream_that_was_never_pruned_takes_several_rounds(yard, monkeypatch):
    yard.have_run(*range(1, 8))
    monkeypatch.setattr("streamops.reconcile.pruner.MOST_AT_ONCE", 3)

    assert [yard.prune()[0].epochs for _ in range(3)] == [(1, 2, 3), (4, 5), ()]


def test_a_stream_within_its_bound_costs_two_listings(yard):
    yard.have_run(1, 2)
    calls = []

    yard.prune(InterruptibleStorage(yard.storage, calls.append))

    own = [call for call in calls if "backfills" not in call and not call.endswith("/lib")]
    assert own == [f"before list {log_folder(yard.state_root, 'orders')}", f"before list {yard.control}/drivers"]


def request(control: str, *, epoch: int) -> SubmitRequest:
    return SubmitRequest(
        token="t",
        name="n",
        spark_submit="s",
        master="m",
        deploy_mode="client",
        application="a",
        arguments=("--control", control, "--epoch", str(epoch)),
        log="",
        folder="/",
    )


def place(yard: Yard) -> PrunedPlace:
    return PrunedPlace(stream="orders", checkpoint=yard.spec.checkpoint, keep=TWO)


@pytest.mark.parametrize(("act", "left"), [(False, 4), (True, 2)], ids=["looks only", "acts"])
def test_a_reconciler_prunes_when_it_acts(yard, act, left):
    yard.have_run(1, 2, 3, 4)
    doors = ReconcilePorts(
        storage_for=lambda address: yard.storage,
        launcher=yard.launcher,
        clock=yard.clock,
        supervisor_of=lambda spec: pytest.fail("nothing of it is to be supervised"),
        patience=seconds(20),
    )
    write_log(yard.storage, yard.control, a_log(*[record.body for record in read(yard)], StopRequested(epoch=4)))

    Reconciler(
        declared=DeclaredStreams(state_root=yard.state_root, specs=(yard.spec,)), doors=doors, author=SUPERVISOR
    ).run(act=act)

    assert len(yard.folders) == left


def read(yard: Yard):
    return LogReader(yard.storage, yard.control).read()


# Bundles: real files, since they are local only


@pytest.fixture
def local(tmp_path) -> Yard:
    return Yard(LocalStorage(), f"file://{tmp_path}")


def another_version(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(bundles, "_zip", lambda: content)


def given(yard: Yard, monkeypatch, content: bytes, *, user: str = "") -> str:
    """The bundle of a version, given to the stream's next driver; its name."""
    another_version(monkeypatch, content)
    return bundle_name(driver_bundle(yard.state_root, user=user or yard.control).library)


def kept(yard: Yard) -> set[str]:
    return set(yard.storage.list(join(yard.state_root, "lib")))


def submitted(epoch: int, bundle: str) -> Submitted:
    return replace(a_submit(epoch), bundle=bundle)


def test_a_bundle_that_no_open_epoch_uses_goes_and_that_of_this_version_stays(local, monkeypatch):
    old, new = given(local, monkeypatch, b"old"), given(local, monkeypatch, b"new")
    log = a_log(a_claim(1), submitted(1, old), an_end(1), a_claim(2), submitted(2, new))
    write_log(local.storage, local.control, log)

    local.prune()

    assert kept(local) == {new}


@pytest.mark.parametrize(
    ("bodies", "because"),
    [
        pytest.param(lambda old: [a_claim(1), submitted(1, old)], "the newest epoch reads it", id="open"),
        pytest.param(
            lambda old: [a_claim(1), submitted(1, old), a_claim(2), submitted(2, "f" * 16)],
            "a superseded epoch whose end is not on record reads it",
            id="superseded",
        ),
        pytest.param(lambda old: [a_claim(1)], "a claim may be about to be submitted with it", id="claimed"),
        pytest.param(
            lambda old: [a_claim(1), a_submit(1)], "nobody noted which one it was given", id="of a version before"
        ),
        pytest.param(lambda old: [], "a log that is gone may come back with a driver", id="no log"),
    ],
)
def test_a_bundle_that_may_be_in_use_stays(local, monkeypatch, bodies, because):
    old = given(local, monkeypatch, b"old")
    given(local, monkeypatch, b"new")
    write_log(local.storage, local.control, a_log(*bodies(old)))

    local.prune()

    assert old in kept(local), because


def test_a_bundle_of_which_nobody_noted_the_users_stays(local, monkeypatch):
    another_version(monkeypatch, b"old")
    old = bundle_name(driver_bundle(local.state_root).library)
    given(local, monkeypatch, b"new")

    local.prune()

    assert old in kept(local)


def test_a_bundle_stays_where_one_of_its_users_can_not_be_asked(local, monkeypatch):
    old = given(local, monkeypatch, b"old")
    given(local, monkeypatch, b"old", user="file:///away/orders.streamops")
    given(local, monkeypatch, b"new")
    write_log(local.storage, local.control, a_log(a_claim(1), submitted(1, old), an_end(1)))
    away = SwitchableStorage(local.storage)
    away.unreachable = "/away/"

    local.prune(away)

    assert old in kept(local)


def test_a_bundle_that_a_disowned_driver_of_this_host_may_read_stays(local, monkeypatch):
    old = given(local, monkeypatch, b"old")
    given(local, monkeypatch, b"new")
    write_log(local.storage, local.control, a_log(a_claim(1), submitted(1, old), an_end(1)))
    local.launcher.add("t", request=request(local.control, epoch=1))

    local.prune()

    assert old in kept(local)


def test_a_young_bundle_stays(local, monkeypatch):
    old = given(local, monkeypatch, b"old")
    given(local, monkeypatch, b"new")
    write_log(local.storage, local.control, a_log(a_claim(1), submitted(1, old), an_end(1)))
    local.clock.set_wall(datetime.now(UTC) + timedelta(days=6))

    local.prune()

    assert old in kept(local)


def test_a_version_that_comes_back_makes_its_bundle_anew(local, monkeypatch):
    old = given(local, monkeypatch, b"old")
    given(local, monkeypatch, b"new")
    write_log(local.storage, local.control, a_log(a_claim(1), submitted(1, old), an_end(1)))
    local.prune()
    assert old not in kept(local)

    given(local, monkeypatch, b"old")

    folder = Path(local_path(join(local.state_root, "lib", old)))
    assert sorted(os.listdir(folder)) == ["streamops.zip", "streamops_driver.py", "users"]


def test_a_submit_notes_its_bundle_and_its_user(world, tmp_path):
    world.supervisor().settle()

    (submit,) = [record.body for record in world.records if isinstance(record.body, Submitted)]
    assert bundles.kept_bundles(LocalStorage(), world.state_root) == (), "the bundle of this very version is not listed"
    notes = tmp_path / "lib" / submit.bundle / "users"
    assert [note.read_text() for note in notes.iterdir()] == [world.control]


def test_a_submit_of_a_version_before_has_no_bundle():
    record = codec.encode(Submitted(epoch=1, handle=DriverHandle(launcher="local"), bundle="x"))
    before = json.loads(record)
    del before["bundle"]

    assert codec.decode(Submitted, json.dumps(before).encode(), address="a").bundle == ""
