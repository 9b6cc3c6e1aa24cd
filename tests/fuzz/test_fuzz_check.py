"""`streamops check` on hostile checkpoints: a verdict or a refusal, read within the folder, told in printable words."""

import io
import json
import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fuzz.command import odd_characters, run, write_tree
from fuzz.samples import CHECKPOINTS
from streamops.checkpoint.inspect import MAX_INPUT_FOLDERS
from streamops.cli.check import checkup_fields, show_checkup
from streamops.diagnosis.checkup import check
from streamops.engines import ENGINES
from streamops.errors import StorageError
from support.hostile import Fence, contents, trees

ADDRESS = "file:///checkpoints/orders"
LONGEST_REPORT = 200_000
"""Characters, whatever the files hold: what the batch reads is shown in full, everything else is cut."""


def a_report(storage, **options):
    """As the command prints it, for people and as JSON; the reason where the checkpoint can't be asked."""
    try:
        checkup = check(storage, ADDRESS, **options)
    except StorageError as error:
        return str(error)
    console = Console(file=io.StringIO(), highlight=False, emoji=False, markup=False, soft_wrap=True)
    show_checkup(checkup, console)
    return console.file.getvalue() + json.dumps(checkup_fields(checkup), ensure_ascii=True, indent=2)


@given(trees(list(CHECKPOINTS.values())), st.sampled_from(list(ENGINES.values())), st.sampled_from([None, False, True]))
def test_any_checkpoint_is_judged_from_its_own_files_in_printable_words(files, engine, choice):
    storage = Fence(ADDRESS, files)

    report = a_report(storage, engine=engine, is_sink_idempotent=choice, tracks_progress_async=choice)

    assert odd_characters(report) == set()
    assert len(report) <= LONGEST_REPORT + 20 * sum(map(len, files.values()))
    assert len(storage.listed_outside) <= 2 * MAX_INPUT_FOLDERS


FILE_NAMES = (st.binary(min_size=1, max_size=30) | st.sampled_from([b"7", b".7.crc", b"\x1b[2J", "٣".encode()])).filter(
    lambda name: not {b"/", b"\0"} & {name[i : i + 1] for i in range(len(name))} and name not in (b".", b"..")
)
"""Of a Linux file system: anything but a slash and a zero, in no encoding."""


@given(
    st.sampled_from(list(CHECKPOINTS.values())),
    st.dictionaries(
        st.tuples(
            st.sampled_from([b"", b"offsets", b"commits", b"sources", b"sources/0", b"state", b"state/0"]), FILE_NAMES
        ),
        contents(CHECKPOINTS["file source"]["offsets/4"]),
        max_size=4,
    ),
    st.sampled_from(["--json", "--spark-version=3.5", "--sink-idempotent=no"]),
)
def test_the_command_judges_any_folder_in_printable_words(files, added, option):
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "orders")
        write_tree(folder, {os.fsencode(name): content for name, content in files.items()})
        write_tree(folder, {os.path.join(*place): content for place, content in added.items()})

        code, out, err = run("check", str(folder), option)

    assert code in (0, 1, 3, 4)
    assert odd_characters(out + err) == set()
    assert "Traceback" not in err
    assert (code == 1) == err.startswith("error: ")
