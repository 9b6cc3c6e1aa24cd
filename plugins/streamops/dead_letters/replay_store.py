"""The folders of a stream's replays: `<checkpoint>.streamops/replays/000003/`.

`plan.json` is the intent, `attempt-000001.json` a process that took it up, `attempt-000001.ended.json` its orderly end,
`done.json` the outcome. Each is created exclusively and never changed.
"""

import re
from dataclasses import dataclass
from typing import TypeVar

from streamops.control import codec
from streamops.control.layout import replays_folder
from streamops.dead_letters.replay import Attempt, AttemptEnd, Replay, ReplayDone, ReplayPlan
from streamops.errors import ObjectExistsError, ObjectNotFoundError, ReplayError
from streamops.storage import FileKind, Storage, create_file, join, read_file

_FOLDER = re.compile(r"^\d{6}$")
"""`000003`"""
_ATTEMPT = re.compile(r"^attempt-(\d{6})\.json$")
"""`attempt-000001.json`"""
_PLAN = "plan.json"
_DONE = "done.json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStore:
    """The replays of the stream with this checkpoint. Each method raises StorageError, CorruptRecordError for a broken file."""

    storage: Storage
    checkpoint: str

    def replays(self) -> tuple[Replay, ...]:
        """All of them, the first one first."""
        numbers = [int(name) for name in self.storage.list(replays_folder(self.checkpoint)) if _FOLDER.match(name)]
        return tuple(replay for number in numbers if (replay := self._replay(number)))

    def begin(self, plan: ReplayPlan) -> None:
        """Put the intent on record. ReplayError where another replay has just taken its number."""
        self._create(plan.number, _PLAN, plan, taken="another replay has just begun: look again")

    def take_up(self, replay: Replay, attempt: Attempt) -> int:
        """Be the one that sends from now on; the number of the attempt. ReplayError where another process was faster."""
        number = replay.attempts + 1
        taken = f"another process has just taken replay {replay.plan.number} up"
        self._create(replay.plan.number, f"attempt-{number:06d}.json", attempt, taken=taken)
        return number

    def is_newest(self, number: int, attempt: int) -> bool:
        """Whether nobody has taken the replay over from this attempt."""
        return self._attempts(number) == attempt

    def end_attempt(self, number: int, attempt: int, end: AttemptEnd) -> None:
        """Say that this process sends no more."""
        self._create(number, f"attempt-{attempt:06d}.ended.json", end, taken="the attempt has ended before")

    def finish(self, number: int, done: ReplayDone) -> None:
        """Put the outcome on record. ReplayError where it is there already."""
        self._create(number, _DONE, done, taken=f"replay {number} has just been finished by another process")

    def _replay(self, number: int) -> Replay | None:
        """None for a folder in which no plan was ever finished: nothing was sent either."""
        plan = self._read(ReplayPlan, number, _PLAN)
        if plan is None:
            return None
        last = self._attempts(number)
        return Replay(
            plan=plan,
            done=self._read(ReplayDone, number, _DONE),
            attempts=last,
            attempt=self._read(Attempt, number, f"attempt-{last:06d}.json") if last else None,
            end=self._read(AttemptEnd, number, f"attempt-{last:06d}.ended.json") if last else None,
        )

    def _attempts(self, number: int) -> int:
        names = self.storage.list(self._folder(number))
        return max((int(match[1]) for name in names if (match := _ATTEMPT.match(name))), default=0)

    def _read(self, kind: type[T], number: int, name: str) -> T | None:
        address = join(self._folder(number), name)
        try:
            return codec.decode(kind, read_file(self.storage, FileKind.REPLAY, address), address=address)
        except ObjectNotFoundError:
            return None

    def _create(self, number: int, name: str, value: object, *, taken: str) -> None:
        try:
            create_file(self.storage, FileKind.REPLAY, join(self._folder(number), name), codec.encode(value))
        except ObjectExistsError as error:
            raise ReplayError(taken) from error

    def _folder(self, number: int) -> str:
        return join(replays_folder(self.checkpoint), f"{number:06d}")
