"""One checkpoint, one verdict: whoever asks, and by whichever entrance, is told the same of the next start.

`check FOLDER`, `check NAME`, `plan NAME` with its exit code, the plan in a form and the preflight rest on one catalogue; the
supervisor's next step is what the plan says.
"""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.catalogue.watch import Watch
from streamops.control.layout import control_folder
from streamops.control.records import DriverEnded, Outcome
from streamops.diagnosis.checkup import check, check_stream
from streamops.diagnosis.companions import position_of, read_checkpoints
from streamops.diagnosis.declared_places import SourceInput
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED
from streamops.operations.snapshot import outlook_of
from streamops.operations.stream_operations import StreamOperations
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from streamops.supervision.decision import Action
from support.base_checkpoint import ADDRESS, INPUT, SOURCE, entry, files, source_entry
from support.damage_matrix import DEPTH_ROWS, OFFSET_ROWS, ROWS
from support.records import a_claim, a_log, a_submit, write_log
from support.specs import PERSON, a_stream, seconds
from support.state_files import CHANGES
from support.world import World

SPEC = a_stream(checkpoint=ADDRESS, source=SOURCE)
WITH_STATE = files() | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
CONTENTS = st.sampled_from([b"", b"v1", b"\0" * 40, b"v1\n{}", entry(4), entry(2), source_entry(3), CHANGES[:-30]])
ACCEPTED = (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT)
STARTS = (Action.CLAIM, Action.SUBMIT)


READ_AT = datetime.fromtimestamp(1772366400, UTC)
"""When the input of the first batch was written, by the source's log."""


def a_world(state_root: Path, found, *, alter_input=lambda put: None) -> World:
    """A stream whose first driver has ended; its checkpoint holds these files. `alter_input` is given what writes input."""
    world = World(state_root, spec=SPEC)
    moment = [READ_AT]
    world.storage = MemoryStorage(now=lambda: moment[0])

    def put(name, at=READ_AT):
        moment[0] = at
        world.storage.write(join(INPUT, name), b"{}")

    for batch in range(5):
        put(f"{batch}.json")
    alter_input(put)
    moment[0] = READ_AT
    for name, content in found.items():
        world.storage.write(join(ADDRESS, name), content)
    stands = position_of(*read_checkpoints(world.storage, ADDRESS))
    ended = DriverEnded(epoch=1, outcome=Outcome.STOPPED, position=stands)
    write_log(world.storage, control_folder(ADDRESS), a_log(a_claim(1, position=stands), a_submit(1), ended))
    world.clock.advance(seconds(3600))
    return world


def verdicts(world: World):
    """The safety of the next start, by everyone who tells of it."""
    folder = check(
        world.storage,
        ADDRESS,
        engine=PINNED,
        is_declared=True,
        tracks_progress_async=False,
        is_continuous=False,
        watch=Watch(now=world.clock.now()),
        source_inputs=[SourceInput(storage=world.storage, address=INPUT)],
    )
    name = check_stream(SPEC, storage_for=lambda _: world.storage, now=world.clock.now())
    desk = StreamOperations(
        world.supervisor(), storage=world.storage, clock=world.clock, state_root=world.state_root, author=PERSON
    )
    outlook = outlook_of(desk.sight(), SPEC)
    return {
        "check FOLDER": folder.restart.safety,
        "check NAME": name.restart.safety,
        "plan": outlook.plan.safety,
    }, outlook


def agree(found) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told, outlook = verdicts(a_world(Path(folder), found))

    assert len(set(told.values())) == 1, told
    assert outlook.is_refused is (outlook.plan.safety not in ACCEPTED), outlook
    assert (outlook.next_step in STARTS) is (outlook.plan.safety in ACCEPTED), outlook


@pytest.mark.parametrize("row", [pytest.param(row, id=row.code) for row in (*ROWS, *DEPTH_ROWS, *OFFSET_ROWS)])
def test_damage_that_was_tried(row):
    if PINNED.version in row.engines:
        agree(row.applied(files()))


def test_an_entry_from_the_future():
    agree(files() | {"sources/0/4": source_entry(4).replace(b"1772366400004", b"9772366400004")})


def put_again(put):
    put("4.json", READ_AT + seconds(600))


def put_too_late(put):
    put("late.json", READ_AT - timedelta(days=8))


ELSEWHERE = {
    f"sources/0/{batch}": source_entry(batch).replace(INPUT.encode(), b"hdfs://cluster/old") for batch in range(5)
}


@pytest.mark.parametrize(
    ("found", "alter", "safety"),
    [
        pytest.param(files(), put_again, Safety.SAFE, id="rewritten after it was read"),
        pytest.param(files(commits_4=None), put_again, Safety.BLOCKED, id="rewritten while its batch is in flight"),
        pytest.param(files(), put_too_late, Safety.SAFE, id="too old to be read"),
        pytest.param(files() | ELSEWHERE, put_too_late, Safety.UNSAFE, id="all that was read lies elsewhere"),
    ],
)
def test_input_of_a_declared_folder(found, alter, safety):
    with tempfile.TemporaryDirectory() as folder:
        told, outlook = verdicts(a_world(Path(folder), found, alter_input=alter))

    assert set(told.values()) == {safety}
    assert (outlook.next_step in STARTS) is (safety in ACCEPTED), outlook


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(WITH_STATE)), st.none() | CONTENTS, max_size=3), st.booleans())
def test_any_damage(damage, is_pending):
    found = WITH_STATE | damage
    if is_pending:
        found.pop("commits/4", None)

    agree({name: content for name, content in found.items() if content is not None})
