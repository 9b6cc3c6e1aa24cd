"""The input of one stream or of several, sent wave by wave, with blows on the way."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from streamops_sandbox.catalogue.trial import MissedBlowError, Trial
from streamops_sandbox.inputs import InputRecord, waves


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A stream, and how many rows its sink has got, where a blow is to fall only after the first of its batch."""

    trial: Trial
    written: Callable[[], int] | None = None
    shows_batches: bool = True
    """Whether its log has a batch while it runs."""

    def blow(self) -> Callable[[], int | None]:
        """What strikes the driver in the first batch after this moment, and gives that batch if it shows."""
        before, count, written = self.trial.committed(), self.written() if self.written else 0, self.written

        def has_come() -> bool:
            return written is None or written() > count

        if self.shows_batches:
            return lambda: self.trial.kill_in_batch(after=before, once=has_come)
        return lambda: self.trial.kill(once=has_come)


class Course(Protocol):
    """Decides on blows, and is told what happens."""

    def is_due(self, trial: Trial, *, wave: int) -> bool:
        """Whether its driver is to be struck in this wave."""
        ...

    def sent(self, records: int, *, wave: int, waves: int) -> None:
        """The wave is in its topics."""
        ...

    def struck(self, trial: Trial, batch: int | None) -> None:
        """Its driver was killed in this batch, None where batches do not show, and the next one is submitted."""
        ...

    def missed(self, error: MissedBlowError) -> None:
        """A blow fell too late; raise it where this must not be."""
        ...


def play(
    players: Sequence[Player],
    records: Collection[InputRecord],
    *,
    deliver: Callable[[Sequence[InputRecord]], int],
    course: Course,
) -> int:
    """Deliver wave after wave, strike where it is due, and let all streams settle after each; the records that were sent."""
    total, all_waves = 0, waves(records)
    with ThreadPoolExecutor(max_workers=len(players)) as strikers:
        try:
            for number, wave in enumerate(all_waves):
                due = [player for player in players if course.is_due(player.trial, wave=number)]
                # They lie in wait before the records are there: a batch may be over in a moment.
                blows = [(player.trial, strikers.submit(player.blow())) for player in due]
                total += deliver(wave)
                course.sent(len(wave), wave=number, waves=len(all_waves))
                for trial, blow in blows:
                    _await(blow, trial, course)
                for player in players:
                    player.trial.settle()
        except BaseException:
            for player in players:
                player.trial.break_off()
            raise
    return total


def _await(blow: "Future[int | None]", trial: Trial, course: Course) -> None:
    try:
        course.struck(trial, blow.result())
    except MissedBlowError as error:
        course.missed(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class InTheseWaves:
    """Strikes in the waves that are named, each blow in the middle of a batch."""

    waves: Collection[int]

    def is_due(self, trial: Trial, *, wave: int) -> bool:
        return wave in self.waves

    def sent(self, records: int, *, wave: int, waves: int) -> None:
        """Nothing."""

    def struck(self, trial: Trial, batch: int | None) -> None:
        """Nothing."""

    def missed(self, error: MissedBlowError) -> None:
        raise error
