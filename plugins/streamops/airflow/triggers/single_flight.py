"""Blocking looks off the triggerer's loop, one at a time for each trigger."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class OneLook:
    """Runs a trigger's looks in a pool: a hung file system costs one thread, and two looks never share a supervisor."""

    pool: Executor
    pending: "asyncio.Future[Any] | None" = None
    """The look that has not answered yet."""

    async def take(self, work: Callable[[], T], *, limit_seconds: float) -> T:
        """The work's answer; TimeoutError when it does not come in time, and then the next call waits for the same work."""
        if self.pending is None:
            self.pending = asyncio.get_running_loop().run_in_executor(self.pool, work)
        pending = self.pending
        done, _ = await asyncio.wait({pending}, timeout=limit_seconds)
        if not done:
            raise TimeoutError(f"no answer for {limit_seconds:.0f} s")
        self.pending = None
        answer: T = pending.result()
        return answer
