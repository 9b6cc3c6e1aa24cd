"""One look at one stream: its checkpoint is judged, in the light of earlier looks. Reads only."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from streamops.errors import StorageError, StreamOpsError
from streamops.health.checkpoint.sample import HealthSample
from streamops.health.verdict import Verdict
from streamops.restart import Safety
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.supervisor.checkup import Checkup, check_stream
from streamops.supervisor.checkup_text import checkup_lines, printable
from streamops.supervisor.health_history import HealthHistory

log = logging.getLogger(__name__)

NOT_BEGUN = ("no-checkpoint",)
"""The rules of a checkpoint of which there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLook:
    """What one look found."""

    spec: StreamSpec
    sample: HealthSample
    report: tuple[str, ...]
    """Printable lines."""
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
    spec: StreamSpec, *, storage_for: Callable[[str], Storage], history: HealthHistory | None, now: datetime
) -> HealthLook:
    """Judge one stream's checkpoint. Whatever is wrong with it is a verdict.

    `history`: None where the state root can't be asked; then nothing is known of earlier looks.
    """
    before = _earlier(history, now) if history else ()
    try:
        checkup = check_stream(spec, storage_for=storage_for, now=now, before=before)
    except StreamOpsError as error:
        return blind_look(spec, str(error), now=now)
    except Exception as error:
        # A fault of ours, or a place that answers what no place should: unknown, and the other streams are judged.
        log.warning("stream=%s can't be judged", spec.name, exc_info=True)
        return blind_look(spec, f"{type(error).__name__}: {error}", now=now)
    return HealthLook(spec=spec, sample=_sample(checkup, now), report=checkup_lines(checkup))


def blind_look(spec: StreamSpec, trouble: str, *, now: datetime) -> HealthLook:
    """A look that could see nothing."""
    trouble = printable(trouble)
    return HealthLook(
        spec=spec,
        sample=HealthSample(at=now, verdict=Verdict.UNKNOWN),
        report=(f"{Verdict.UNKNOWN}  {printable(spec.checkpoint)}", f"It can't be judged: {trouble}"),
        trouble=trouble,
    )


def _earlier(history: HealthHistory, now: datetime) -> tuple[HealthSample, ...]:
    """Without the earlier looks only what grows over time goes unnoticed."""
    try:
        return history.past(now).samples
    except StorageError as error:
        log.warning("earlier looks can't be read: %s", error)
        return ()


def _sample(checkup: Checkup, now: datetime) -> HealthSample:
    """A stream that is declared and was never started is no riddle: its first start is safe, and finds nothing."""
    sample = checkup.sample(now)
    if sample.rules == NOT_BEGUN and checkup.restart.safety is Safety.SAFE:
        return replace(sample, verdict=Verdict.OK, rules=())
    return sample
