"""`streamops forget`: the registry lets a stream go."""

import json
import sys

import typer

from streamops.cli.acting import ask_whether
from streamops.cli.options import AsJson, DryRun, Reason, Stream, Yes, session_of
from streamops.cli.stderr import say
from streamops.cli.wiring import Session
from streamops.errors import SettingsError
from streamops.operations.forgetting import ACT, Forgetting
from streamops.operations.requests import this_person


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
