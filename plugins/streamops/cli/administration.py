"""`streamops init`, `config`, `forget`: the state root, the settings file, and streams that the registry lets go."""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from streamops.cli.acting import ask_whether
from streamops.cli.options import AsJson, DryRun, Reason, Stream, Yes, session_of
from streamops.cli.wiring import Session
from streamops.control.state_root import MadeStateRoot, make_state_root, marker_address
from streamops.errors import SettingsError, StorageError
from streamops.operations.forgetting import ACT, Forgetting
from streamops.operations.requests import this_person
from streamops.settings import settings_in_force
from streamops.settings.folders import resolve_state_folder
from streamops.storage import parent
from streamops.storage.address import local_path
from streamops.storage.kinds import storage_for
from streamops.storage.self_test import Mount, folder_problems, mount_of
from streamops.terminal.console import say, waiting
from streamops.terminal.output import output

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The settings file.")


@app.callback()
def _group() -> None:
    """The settings file."""


@app.command()
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Show which declarations are right, and what is wrong.

    A stream whose declaration is wrong, or gone without a stop, goes on as it was declared last, and that is told too.

    Exit code 0: all are. 2: something is wrong; streams without problems can be started all the same. What works and should be
    declared otherwise is told and changes no exit code.
    """
    settings = settings_in_force(session_of(context).path)
    output(as_json=as_json).settings(settings)
    raise typer.Exit(2 if settings.problems else 0)


@app.command()
def schema() -> None:
    """Print the JSON schema of the settings file, for an editor that checks YAML.

    Needs no settings file. `# yaml-language-server: $schema=FILE` in the first line of the YAML names it.
    """
    from streamops.settings.schema import settings_schema

    sys.stdout.write(json.dumps(settings_schema(), indent=2) + "\n")


MOUNT_TABLE = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedFolder:
    """One folder of each file system that the suite works on."""

    address: str
    mount: Mount
    problems: tuple[str, ...]


def init(
    context: typer.Context,
    state_root: Annotated[
        str,
        typer.Option(
            "--state-root", metavar="FOLDER", help="The folder. Default: what the settings say.", show_default=False
        ),
    ] = "",
    accept_mount: Annotated[
        bool,
        typer.Option(
            "--accept-mount",
            help="Work on a network file system without the mount options that the suite asks for: one host alone uses it.",
            show_default=False,
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the folder that holds the registry a state root; one that is stays as it is.

    Without this mark nothing is started and nothing is made below it: a volume that is not mounted looks like an empty folder.
    Before that the file systems of the state root and of the declared checkpoints are tried: that of several processes
    exactly one can create a name, that others see a new name at once, and that files are replaced whole.
    """
    session = session_of(context)
    root = resolve_state_folder(state_root, root=os.getcwd()) if state_root else session.settings().state_root
    tested = _tested([root, *(() if state_root else _places(session))])
    problems = [problem for folder in tested for problem in folder.problems]
    if not accept_mount:
        problems += [
            f"{trouble}, or `--accept-mount` where one host alone uses it"
            for trouble in dict.fromkeys(folder.mount.trouble for folder in tested)
            if trouble
        ]
    if problems:
        raise StorageError("; ".join(problems))
    storage = storage_for(root) if state_root else session.settings().storage_for(root)
    made = make_state_root(storage, root, clock=session.clock, author=this_person())
    if as_json:
        sys.stdout.write(json.dumps(_fields(root, made, tested), ensure_ascii=True, indent=2) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(root, made, tested))


def _places(session: Session) -> Iterable[str]:
    """The folders around declared checkpoints."""
    return dict.fromkeys(parent(spec.checkpoint) for spec in session.settings().streams)


def _tested(addresses: Iterable[str]) -> tuple[TestedFolder, ...]:
    """The first of these folders on each mount, tried. A state root that is not there yet is tried by the folder around it."""
    table = MOUNT_TABLE.read_text(encoding="utf-8") if MOUNT_TABLE.exists() else ""
    by_mount: dict[str, tuple[str, Mount]] = {}
    for number, address in enumerate(addresses):
        there = _nearest_there(address) if number == 0 else address
        path = local_path(there)
        if path and os.path.isdir(path):
            mount = mount_of(path, table)
            by_mount.setdefault(mount.point, (there, mount))
    with waiting(f"trying {len(by_mount)} file systems"):
        return tuple(
            TestedFolder(address=address, mount=mount, problems=folder_problems(address))
            for address, mount in by_mount.values()
        )


def _nearest_there(address: str) -> str:
    while not os.path.isdir(local_path(address) or "/"):
        address = parent(address)
    return address


def _what(made: MadeStateRoot) -> str:
    if made.is_taken_over:
        return "taken-over"
    return "made" if made.is_new else "there-already"


_TOLD = {
    "made": "is a state root from now on",
    "taken-over": "held streams of an earlier version, and is a state root from now on",
    "there-already": "is a state root already",
}


def _lines(root: str, made: MadeStateRoot, tested: Iterable[TestedFolder]) -> Iterable[str]:
    for folder in tested:
        yield f"{folder.address} on {folder.mount.kind}, mounted at {folder.mount.point}: it does what is needed"
    by, at = made.root.created_by.actor, made.root.created_at.isoformat(timespec="seconds")
    yield f"{root} {_TOLD[_what(made)]} ({marker_address(root)}, by {by} at {at})"


def _fields(root: str, made: MadeStateRoot, tested: Iterable[TestedFolder]) -> dict[str, object]:
    return {
        "state_root": root,
        "outcome": _what(made),
        "id": made.root.id,
        "version": made.root.version,
        "created_at": made.root.created_at.isoformat(),
        "created_by": made.root.created_by.actor,
        "tested": [
            {"folder": folder.address, "mounted_at": folder.mount.point, "file_system": folder.mount.kind}
            for folder in tested
        ],
    }


def forget(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Remove a stream from the registry: for a new start on purpose, a checkpoint that was moved, or a stream that was renamed.

    The registry is what tells a checkpoint that is not mounted from a new one. This is refused while a driver of the stream
    lives or may live. The entry is kept below the state root, in registry/forgotten.
    """
    session = session_of(context)
    if not reason.strip():
        raise SettingsError("--reason is empty: say why, others will read it")
    forgetting = Forgetting(
        storage_for=session.settings().storage_for,
        state_root=session.settings().state_root,
        launcher=session.wiring.launcher,
        clock=session.clock,
        author=this_person(),
    )
    declared_at = _declared_at(session, stream)
    plan = forgetting.plan(stream, declared_at=declared_at, reason=reason)
    kept = ""
    if not dry_run:
        for line in plan.lines:
            say(line)
        ask_whether(f"{ACT} {stream}", yes=yes)
        kept = forgetting.carry_out(plan, declared_at=declared_at)
    if as_json:
        fields = {"stream": stream, "outcome": "planned" if dry_run else "forgotten", "kept": kept, "plan": plan.lines}
        sys.stdout.write(json.dumps(fields, ensure_ascii=True, indent=2) + "\n")
    else:
        lines = plan.lines if dry_run else (f"{stream}: forgotten; its entry is kept in {kept}",)
        sys.stdout.writelines(f"{line}\n" for line in lines)


def _declared_at(session: Session, stream: str) -> str:
    """Its checkpoint as declared; empty where no valid stream has that name: it may have left the settings."""
    declared = {spec.name: spec.checkpoint for spec in session.settings().streams}
    return declared.get(stream, "")
