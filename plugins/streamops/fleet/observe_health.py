"""One look at one stream: its checkpoint is judged, in the light of earlier looks. Reads only."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from streamops.catalogue.watch import HealthSample
from streamops.control.layout import control_folder
from streamops.control.snapshot import load_state
from streamops.diagnosis.checkup import check_stream
from streamops.diagnosis.checkup_text import checkup_lines, printable
from streamops.diagnosis.restart_plan import Safety
from streamops.errors import StorageError, StreamOpsError
from streamops.fleet.health_history import HealthHistory
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.verdict import Verdict

log = logging.getLogger(__name__)

NOTHING_THERE = ("no-checkpoint",)
"""The rules of a checkpoint of which there is nothing."""


MOST_LINES = 200
"""Of a report that is kept in memory, put into a log and sent to whoever is told; `streamops check` shows all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLook:
    """What one look found."""

    spec: StreamSpec
    sample: HealthSample
    report: tuple[str, ...]
    """Printable lines."""
    summary: str = ""
    """What the verdict rests on, in a sentence; empty where the rules say all."""
    trouble: str = ""
    """Why the checkpoint could not be judged; then the verdict is `unknown`."""

    @property
    def verdict(self) -> Verdict:
        """Of this look alone."""
        return self.sample.verdict

    @property
    def line(self) -> str:
        """The verdict's reason in a few words."""
        return self.trouble or ", ".join(self.sample.rules) or f"a start is {self.sample.safety}"


def look_at(
    spec: StreamSpec,
    *,
    storage_for: Callable[[str], Storage],
    history: HealthHistory | None,
    now: datetime,
    state_root: str = "",
) -> HealthLook:
    """Judge one stream's checkpoint. Whatever is wrong with it is a verdict.

    `history`: None where the state root can't be asked; then nothing is known of earlier looks. `state_root`: where the
    registry is; empty where it can't be asked, and then a checkpoint that is not there may be a missing one.
    """
    before = _earlier(history, now) if history else ()
    try:
        checkup = check_stream(spec, storage_for=storage_for, now=now, before=before, state_root=state_root)
        sample = checkup.sample(now)
        is_new = bool(state_root) and checkup.restart.safety is Safety.SAFE
        if sample.rules == NOTHING_THERE and is_new and _was_never_started(spec, storage_for(spec.checkpoint)):
            # No riddle then: there is nothing yet.
            sample = replace(sample, verdict=Verdict.OK, rules=())
    except StreamOpsError as error:
        return blind_look(spec, str(error), now=now)
    except Exception as error:
        # A fault of ours, or a place that answers what no place should: unknown, and the other streams are judged.
        log.warning("stream=%s can't be judged", spec.name, exc_info=True)
        return blind_look(spec, f"{type(error).__name__}: {error}", now=now)
    restart = checkup.restart
    is_safe = restart.safety in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT)
    return HealthLook(
        spec=spec,
        sample=sample,
        report=_shortened(checkup_lines(checkup)),
        summary="" if is_safe else printable(f"a start is {restart.safety}: {restart.summary}"),
    )


def blind_look(spec: StreamSpec, trouble: str, *, now: datetime) -> HealthLook:
    """A look that could see nothing."""
    trouble = printable(trouble)
    return HealthLook(
        spec=spec,
        sample=HealthSample(at=now, verdict=Verdict.UNKNOWN),
        report=(f"{Verdict.UNKNOWN}  {printable(spec.checkpoint)}", f"It can't be judged: {trouble}"),
        trouble=trouble,
    )


def _shortened(lines: tuple[str, ...]) -> tuple[str, ...]:
    left = len(lines) - MOST_LINES
    return lines if left <= 0 else (*lines[:MOST_LINES], f"… and {left} more lines: see `streamops check`")


def _earlier(history: HealthHistory, now: datetime) -> tuple[HealthSample, ...]:
    """Without the earlier looks only what grows over time goes unnoticed."""
    try:
        return history.past(now).samples
    except StorageError as error:
        log.warning("earlier looks can't be read: %s", error)
        return ()


def _was_never_started(spec: StreamSpec, storage: Storage) -> bool:
    """No driver was ever claimed: whoever was may have written what is gone now, and the log need not know how far."""
    return load_state(storage, control_folder(spec.checkpoint)).next_epoch == 1
