"""Killing a driver that the log disowns: read the whole log again, record the intent, kill, record what became of it."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.clock import Clock
from streamops.control.fold import fold
from streamops.control.log import ControlLog
from streamops.control.records import ActBegun, ActEnded, Author, Body, Record
from streamops.control.snapshot import save_snapshot_if_due
from streamops.control.state import LogState
from streamops.control.texts import COMPOSED_LIMIT, shortened
from streamops.errors import AppendRefusedError, LaunchError
from streamops.launch import DriverState, FoundDriver, Launcher
from streamops.reconcile.drivers import may_be_killed, named
from streamops.supervision.act import new_record
from streamops.supervision.supervisor import KILL_PAUSE

KILL_ORPHAN = "kill-orphan"
"""The act, as the control log names it."""
KILL_REASON = "reconcile: the log says that this driver may write no more"
APPEND_TRIES = 5

KILL_LOOKS = 25
"""After a kill, with KILL_PAUSE between two of them: a JVM takes a moment to die."""

TRY_AGAIN_AFTER = timedelta(hours=1)
"""What failed a minute ago fails again, and a log that nobody shortens must not grow by it every minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillOutcome:
    """What became of an orphan."""

    text: str
    is_gone: bool = False


GONE = KillOutcome(text="was killed and is gone", is_gone=True)
LIVES = KillOutcome(text="was killed and still lives")
NOT_ALLOWED = KillOutcome(text="was left alone: the whole log, read again, does not say that it may write no more")
LOG_MOVED = KillOutcome(text="was left alone: the log grew meanwhile")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanKiller:
    """Kills drivers of one checkpoint."""

    control_log: ControlLog
    launcher: Launcher
    clock: Clock
    author: Author

    def kill(self, driver: FoundDriver) -> KillOutcome:
        """Kill a driver that its whole log, read right before, says may write no more. Intent first, outcome after.

        An intent of ours without an outcome, left by a crash, is carried out; one that failed is not tried again soon.
        """
        records = self.control_log.read()
        if not may_be_killed(driver, records):
            return NOT_ALLOWED
        plan = named(driver)
        last = last_try(records, plan, self.author)
        if last and isinstance(last.body, ActEnded) and _is_fresh(last, self.clock.now()):
            again = last.at + TRY_AGAIN_AFTER
            return KillOutcome(text=f"{last.body.outcome}, tried at {last.at:%H:%M} UTC, again from {again:%H:%M} on")
        if not (last and isinstance(last.body, ActBegun)):
            try:
                self._append(ActBegun(act=KILL_ORPHAN, plan=plan), fold(records))
            except AppendRefusedError:
                return LOG_MOVED
        ending = self._killed(driver)
        self._record(ActEnded(act=KILL_ORPHAN, plan=plan, outcome=ending.text))
        return ending

    def _killed(self, driver: FoundDriver) -> KillOutcome:
        try:
            self.launcher.kill(driver.handle)
            return GONE if self._has_gone(driver) else LIVES
        except LaunchError as error:
            return KillOutcome(text=shortened(f"could not be killed: {error}", COMPOSED_LIMIT))

    def _has_gone(self, driver: FoundDriver) -> bool:
        for _ in range(KILL_LOOKS):
            if self.launcher.poll(driver.handle).state is DriverState.ENDED:
                return True
            self.clock.sleep(KILL_PAUSE)
        return False

    def _record(self, body: Body) -> None:
        for _ in range(APPEND_TRIES):
            with contextlib.suppress(AppendRefusedError):
                self._append(body, fold(self.control_log.read()))
                return

    def _append(self, body: Body, state: LogState) -> None:
        record = new_record(body, number=state.next_number, clock=self.clock, author=self.author, reason=KILL_REASON)
        self.control_log.append(record)
        save_snapshot_if_due(self.control_log.storage, self.control_log.control, state, record)


def last_try(records: Sequence[Record], plan: str, author: Author) -> Record | None:
    """The newest record of this very kill by the same actor on the same host: another one may have more rights."""
    own = (author.actor, author.host)
    tries = (
        record
        for record in reversed(records)
        if isinstance(record.body, ActBegun | ActEnded)
        and (record.body.act, record.body.plan) == (KILL_ORPHAN, plan)
        and (record.by.actor, record.by.host) == own
    )
    return next(tries, None)


def _is_fresh(record: Record, now: datetime) -> bool:
    """A stamp from the future is of a clock that was set back since: it holds nothing up."""
    return timedelta(0) <= now - record.at < TRY_AGAIN_AFTER
