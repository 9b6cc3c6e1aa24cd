"""Many rounds at once: each stream has its own duel, and now and then something around all of them is struck."""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from streamops.errors import StreamOpsError
from streamops_sandbox.chaos.duel import Duel
from streamops_sandbox.chaos.fleet import Fleet
from streamops_sandbox.chaos.rounds import Round
from streamops_sandbox.chaos.surroundings import Outages
from streamops_sandbox.chaos.victims import OF_SMALL_DISK, OF_SURROUNDINGS, Blow
from streamops_sandbox.sandboxed_stream import SandboxedStream

_BREATH_SECONDS = 0.5
"""Between two rounds of a stream, so that whoever waits for its peace gets it."""


class Melee:
    """Deals all blows; streams take the next one as soon as they have watched the last one out.

    Which stream gets which blow depends on how fast they are, what the blows are on the seed alone. A blow around the
    streams needs one of them at peace as a witness; the others go on, and their figures are marked as disturbed.
    """

    def __init__(self, fleet: Fleet, *, seed: int, on_round: Callable[[Round], None]) -> None:
        self._fleet = fleet
        self._chance = random.Random(seed)
        self._on_round = on_round
        self._duel = Duel(fleet, Outages())
        self._peace = {stream.spec.name: threading.Lock() for stream in fleet.streams}
        self._book = threading.Lock()
        self._ended = threading.Event()
        self._blows: deque[Blow] = deque()
        self.error = ""
        """What ended it early: the first of perhaps several."""

    def deal(self, blows: Sequence[Blow]) -> None:
        """Deal all of them and return when the last round is over, or the first has failed."""
        self._blows.extend(blow for blow in blows if blow.victim not in OF_SURROUNDINGS)
        around = [blow for blow in blows if blow.victim in OF_SURROUNDINGS]
        threads = [self._thread(self._stream_rounds, stream) for stream in self._fleet.streams]
        threads.append(self._thread(self._rounds_around, around))
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:
            # Ctrl-C ends the waiting, and no further blow may fall while everything is taken down.
            self._ended.set()

    def _thread(self, work: Callable[..., None], argument: object) -> threading.Thread:
        def guarded() -> None:
            try:
                work(argument)
            except Exception as error:
                self._fail(error)

        return threading.Thread(target=guarded, daemon=True)

    def _stream_rounds(self, stream: SandboxedStream) -> None:
        while not self._ended.is_set() and (blow := self._next_for(stream)):
            with self._peace[stream.spec.name]:
                self._tell(self._duel.fight(stream, blow))
            time.sleep(_BREATH_SECONDS)

    def _rounds_around(self, blows: Sequence[Blow]) -> None:
        for blow in blows:
            witness = self._chance.choice(self._fleet.streams)
            with self._peace[witness.spec.name]:
                if self._ended.is_set():
                    return
                self._tell(self._duel.strike_around(witness, blow))
            time.sleep(_BREATH_SECONDS)

    def _next_for(self, stream: SandboxedStream) -> Blow | None:
        """The first blow that can hit this stream: only one of them lies on a small disk."""
        has_small_disk = stream is self._fleet.with_small_disk
        with self._book:
            for blow in self._blows:
                if has_small_disk or blow.victim not in OF_SMALL_DISK:
                    self._blows.remove(blow)
                    return blow
        return None

    def _tell(self, found: Round) -> None:
        with self._book:
            self._on_round(found)

    def _fail(self, error: Exception) -> None:
        text = str(error) if isinstance(error, StreamOpsError) else repr(error)
        with self._book:
            self.error = self.error or text
        self._ended.set()
