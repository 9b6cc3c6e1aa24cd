"""Commands on a hostile control folder: what drivers and other tools leave there is shown in printable words, or refused."""

import shutil
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fuzz.command import odd_characters, run, write_tree
from streamops.cli.wiring import Wiring
from streamops.control import codec
from streamops.control.drivers import DriverPhase, ExitRecord, Heartbeat
from streamops.control.layout import control_folder
from streamops.control.records import Outcome, Parked
from streamops.settings import load_settings
from support.clock import START, FakeClock
from support.hostile import contents, texts
from support.launcher import FakeLauncher
from support.records import a_claim, a_record, a_submit, an_end, token_of
from support.settings import a_declared_stream, a_project

RECORDS = tuple(
    codec.encode_record(a_record(body, number))
    for number, body in enumerate((a_claim(1), a_submit(1), an_end(1, Outcome.FAILED), Parked()))
)
BEAT = codec.encode(
    Heartbeat(
        epoch=1,
        instance="0a0a0a0a",
        token=token_of(1),
        sequence=7,
        phase=DriverPhase.RUNNING,
        at=START.isoformat(),
        host="host-1",
        pid=9,
    )
)
EXIT = codec.encode(
    ExitRecord(epoch=1, instance="0a0a0a0a", outcome=Outcome.FAILED, at=START.isoformat(), text="boom\nCaused by: x")
)


def control_folders():
    """The files of one: a log of some length, a driver's beat and exit, each as it should be or hostile."""
    log = st.integers(1, len(RECORDS)).flatmap(
        lambda count: st.tuples(*(st.just(record) | contents(record) for record in RECORDS[:count]))
    )
    names = st.sampled_from(
        ["log/00000000000000000009.json", "log/x", "drivers/7-0a0a0a0b/heartbeat.json", "snapshots/3"]
    )
    return st.builds(
        lambda records, beat, end, odd: {
            **{f"log/{number:020d}.json": record for number, record in enumerate(records)},
            "drivers/1-0a0a0a0a/heartbeat.json": beat,
            "drivers/1-0a0a0a0a/exit.json": end,
            **odd,
        },
        log,
        contents(BEAT),
        contents(EXIT),
        st.dictionaries(
            names | texts.map(lambda text: "drivers/1-" + text.replace("/", "")), contents(BEAT), max_size=2
        ),
    )


def on_disk(name):
    """The name as a Linux file system can hold it."""
    return name.replace("\0", "").encode(errors="surrogatepass")[:200]


@contextmanager
def a_terminal():
    """A project with one stream; its settings file, the stream's control folder, and a launcher without processes."""
    with tempfile.TemporaryDirectory() as root:
        project = a_project(Path(root))
        project.load(streams={"orders": a_declared_stream("orders")})
        spec = load_settings(project.file).stream("orders")
        wiring = Wiring(launcher=FakeLauncher(), clock=FakeClock(), patience=timedelta(0))
        yield project.file, Path(control_folder(spec.checkpoint).removeprefix("file://")), wiring


COMMANDS = (("status",), ("history", "orders"), ("plan", "orders"), ("reconcile",))


def test_any_control_folder_is_told_in_printable_words():
    with a_terminal() as (settings, control, wiring):

        @given(control_folders(), st.sampled_from(COMMANDS), st.sampled_from([(), ("--json",)]))
        def holds(files, command, form):
            shutil.rmtree(control, ignore_errors=True)
            write_tree(control, {on_disk(name): content for name, content in files.items()})

            code, out, err = run("--config", str(settings), *command, *form, wiring=wiring)

            assert code in (0, 1, 3, 4)
            assert odd_characters(out + err) == set()
            assert "Traceback" not in err

        holds()
