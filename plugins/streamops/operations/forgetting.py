"""Lets the registry forget a stream on purpose: a new start at the same place, another checkpoint, another name.

The entry is what keeps a checkpoint that is not mounted from passing for a new one, and another stream from having it. So
it goes by a person's word only, and not while a driver of the stream may live. It is kept among the forgotten ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamops.clock import Clock
from streamops.control import codec
from streamops.control.layout import control_folder
from streamops.control.log import ControlLog
from streamops.control.records import ActBegun, ActEnded, Author, Body
from streamops.control.registry import BrokenEntry, entry_address, read_entry, registry_folder
from streamops.control.snapshot import load_state
from streamops.errors import AppendRefusedError, ControlLogError, ObjectNotFoundError, SettingsError
from streamops.launch import Launcher
from streamops.storage import Storage, join
from streamops.supervision.act import new_record

ACT = "forget"
_TRIES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """What is about to be forgotten."""

    stream: str
    reason: str
    checkpoint: str
    """As registered; empty where the entry can't be read."""
    entry: str
    """Address of the entry."""
    effects: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan, a fact a line."""
        return (
            f"{ACT} {self.stream}",
            f"  because  {self.reason}",
            f"  removes  {self.entry}",
            *(f"  then     {effect}" for effect in self.effects),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenEntry:
    """What is kept of an entry that was forgotten."""

    stream: str
    at: str
    by: Author
    reason: str
    entry: str
    """The content of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """Plans and does it, for one author."""

    storage_for: Callable[[str], Storage]
    state_root: str
    launcher: Launcher
    clock: Clock
    author: Author

    def plan(self, stream: str, *, declared_at: str, reason: str) -> ForgetPlan:
        """What would be forgotten. `declared_at`: the checkpoint that the settings give it, empty where they give none.

        SettingsError where there is no entry; ControlLogError where a driver lives or may live; StorageError.
        """
        known = read_entry(self.storage_for(self.state_root), self.state_root, stream)
        address = entry_address(self.state_root, stream)
        if known is None:
            raise SettingsError(f"{stream}: the registry knows no such stream ({address}): there is nothing to forget")
        is_broken = isinstance(known, BrokenEntry)
        checkpoint = "" if isinstance(known, BrokenEntry) else known.checkpoint
        places = dict.fromkeys(place for place in (checkpoint, declared_at) if place)
        self._refuse_while_it_runs(stream, tuple(places))
        effects = [f"the entry is kept in {_shelf(self.state_root)}"]
        if is_broken:
            effects.append("its checkpoint can't be told: make sure that no driver of it lives")
        if declared_at:
            effects.append(
                f"its next start is a first one, on {declared_at}: a checkpoint that is not there begins anew"
            )
        else:
            effects.append("no settings declare it: its checkpoint is free for another stream")
        return ForgetPlan(stream=stream, reason=reason, checkpoint=checkpoint, entry=address, effects=tuple(effects))

    def carry_out(self, plan: ForgetPlan, *, declared_at: str) -> str:
        """Do it; where the entry is kept. It rests on a fresh look, and raises what `plan` raises."""
        plan = self.plan(plan.stream, declared_at=declared_at, reason=plan.reason)
        root, now = self.storage_for(self.state_root), self.clock.now()
        kept = join(_shelf(self.state_root), f"{plan.stream}-{now:%Y%m%dT%H%M%S%f}.json")
        try:
            content = root.read(plan.entry).decode(errors="replace")
        except ObjectNotFoundError:
            raise SettingsError(f"{plan.stream}: somebody was faster, its entry is gone") from None
        forgotten = ForgottenEntry(
            stream=plan.stream, at=now.isoformat(), by=self.author, reason=plan.reason, entry=content
        )
        root.create(kept, codec.encode(forgotten))
        self._tell(plan, ActBegun(act=ACT, plan=kept))
        root.delete(plan.entry)
        self._tell(plan, ActEnded(act=ACT, plan=kept, outcome="forgotten"))
        return kept

    def _refuse_while_it_runs(self, stream: str, checkpoints: Sequence[str]) -> None:
        controls = {control_folder(checkpoint): checkpoint for checkpoint in checkpoints}
        for driver in self.launcher.living():
            if driver.control in controls:
                raise ControlLogError(
                    f"{stream}: a driver lives on {controls[driver.control]} (process {driver.handle.process}, epoch"
                    f" {driver.epoch}): `streamops stop {stream} --reason …` first"
                )
        for control, checkpoint in controls.items():
            state = load_state(self.storage_for(checkpoint), control)
            if state.open_epochs and state.stream == stream:
                raise ControlLogError(
                    f"{stream}: epoch {state.open_epochs[-1].number} on {checkpoint} is open, its driver may live:"
                    f" `streamops stop {stream} --reason …` first, or vouch for its end with"
                    f" `streamops start {stream} --confirm-dead {state.open_epochs[-1].number} --reason …`"
                )

    def _tell(self, plan: ForgetPlan, body: Body) -> None:
        """In the control log as well, where there is one and it is the stream's."""
        if not plan.checkpoint:
            return
        storage, control = self.storage_for(plan.checkpoint), control_folder(plan.checkpoint)
        for _ in range(_TRIES):
            state = load_state(storage, control)
            if state.stream != plan.stream:
                return
            number = state.next_number
            record = new_record(body, number=number, clock=self.clock, author=self.author, reason=plan.reason)
            try:
                ControlLog(storage, control).append(record)
                return
            except AppendRefusedError:
                continue


def _shelf(state_root: str) -> str:
    return join(registry_folder(state_root), "forgotten")
