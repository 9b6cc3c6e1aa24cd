"""Work that can be held between any two of its calls: a thread each, and one baton, so that only one of them ever runs.

Unlike calls that are nested in each other this reaches every order: A is held, B overtakes it and is held in turn, A goes
on, then B.
"""

import threading
from collections.abc import Callable
from enum import StrEnum

from streamops.errors import LaunchError, StorageError, StreamOpsError

LIMIT_SECONDS = 60
"""A baton that does not come back by then is a mistake in the model."""


class Fate(StrEnum):
    """What becomes of the call at which a task is held."""

    DONE = "done"
    FAILS = "fails"
    """Before the call: the request is lost. After it: the answer is."""
    LATE = "late"
    """A write fails for its caller, and takes effect when nobody reckons with it any more."""


class Gone(BaseException):
    """The process is gone, at this very call."""


class Task:
    """One piece of work of one process."""

    def __init__(self, work: Callable[[], object], *, is_gone: Callable[[], bool] = lambda: False) -> None:
        self._work = work
        self._is_gone = is_gone
        self._baton = threading.Semaphore(0)
        self._answer = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="task", daemon=True)
        self._is_due: Callable[[str], bool] = lambda moment: False
        self._fate = Fate.DONE
        self._is_killed = False
        self._error: BaseException | None = None
        self.is_late = False
        """Whether the write that is about to be made is late."""
        self.held_at = ""
        """The call before or after which it is held; empty when it is done, or was never begun."""
        self.is_done = False
        self.result: object = None

    def go_on(self, *, until: Callable[[str], bool] = lambda moment: False, fate: Fate = Fate.DONE) -> None:
        """Let it run until a call is due, or to its end; errors that are none of streamops are raised here."""
        if self.is_done:
            return
        self._is_due, self._fate, self.held_at = until, fate, ""
        if self._thread.ident is None:
            self._thread.start()
        self._baton.release()
        assert self._answer.acquire(timeout=LIMIT_SECONDS), "the baton did not come back"
        if self.is_done and self._error:
            raise self._error

    def kill(self) -> None:
        """Its process is gone: it makes no further call."""
        if self._thread.ident is None or self.is_done:
            self.is_done = True
            return
        self._is_killed = True
        self.go_on()

    def pass_call(self, moment: str) -> None:
        """Called by the task itself around each of its calls."""
        self._leave_if_gone()
        if not self._is_due(moment):
            return
        self.held_at = moment
        self._answer.release()
        self._baton.acquire()
        self._leave_if_gone()
        self._meet_fate(moment)

    def _leave_if_gone(self) -> None:
        if self._is_killed or self._is_gone():
            raise Gone

    def _meet_fate(self, moment: str) -> None:
        fate, self._fate = self._fate, Fate.DONE
        when, verb = moment.split()[:2]
        if fate is Fate.FAILS and verb not in ("submit", "sleep", "find", "poll", "kill", "living", "stop"):
            raise StorageError(f"no answer {moment}")
        # A launcher that started a driver and then raises would break its own promise.
        if fate is Fate.FAILS and verb != "sleep" and when == "before":
            raise LaunchError(f"no answer {moment}")
        self.is_late = fate is Fate.LATE and when == "before" and verb in ("create", "write", "delete")

    def _run(self) -> None:
        self._baton.acquire()
        _here.task = self
        try:
            self.result = self._work()
        except (Gone, StreamOpsError):
            pass
        except BaseException as error:  # An assertion of the world, or a bug: for whoever let the task go on.
            self._error = error
        self.is_done = True
        self._answer.release()


_here = threading.local()


def pass_call(moment: str) -> None:
    """The place between two calls of whoever calls now; outside of tasks nothing happens there."""
    task: Task | None = getattr(_here, "task", None)
    if task:
        task.pass_call(moment)


def is_late() -> bool:
    """Whether the write that is about to be made is late."""
    task: Task | None = getattr(_here, "task", None)
    if task is None:
        return False
    late, task.is_late = task.is_late, False
    return late
