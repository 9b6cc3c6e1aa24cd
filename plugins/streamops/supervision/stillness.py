"""How long something has not changed, by the observer's own monotonic clock: two clocks are never compared."""

import json
from datetime import timedelta

from streamops.clock import Clock


class Stillness:
    """Remembers when each subject was first seen as it is now. Forgetting it is safe: waiting begins anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[str, timedelta]] = {}

    def of(self, subject: str, mark: str) -> timedelta:
        """For how long the subject has carried this mark."""
        now = self._clock.monotonic()
        known = self._seen.get(subject)
        if known is None or known[0] != mark:
            self._seen[subject] = (mark, now)
            return timedelta(0)
        return now - known[1]

    def mark(self, subject: str) -> str:
        """What the subject carried when it was looked at last; empty where it never was."""
        return self._seen.get(subject, ("", timedelta(0)))[0]

    def hand_over(self) -> str:
        """What was seen, for the next process on this stream: it need only confirm that nothing has moved since."""
        now = self._clock.monotonic()
        return json.dumps(
            {subject: [mark, (now - since).total_seconds()] for subject, (mark, since) in self._seen.items()}
        )

    def take_over(self, memory: str) -> None:
        """Go on from another process' memory; the time between the two does not count."""
        now = self._clock.monotonic()
        try:
            seen = {
                str(subject): (str(mark), now - timedelta(seconds=still))
                for subject, (mark, still) in json.loads(memory or "{}").items()
            }
        except (ValueError, TypeError, AttributeError, OverflowError):
            # Written by another release: waiting begins anew.
            return
        self._seen.update(seen)
