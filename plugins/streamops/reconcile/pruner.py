"""Deletes what ended drivers have left, within `keep`; and bundles that no driver uses any more.

Everything is read, judged, and judged once more right before it is deleted, by a log that is read anew. A crash between
any two deletions leaves less of an epoch, which goes the next time; of two pruners at once each finds gone what the other
was faster with.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.clock import Clock
from streamops.control.backfill_plan import backfill_ids, derived_name
from streamops.control.layout import (
    DRIVER_FOLDER,
    backfill_checkpoint,
    control_folder,
    drivers_folder,
)
from streamops.control.snapshot import load_state, refresh_state
from streamops.control.state import LogState
from streamops.errors import StorageError, StreamOpsError
from streamops.launch import FoundDriver, Launcher
from streamops.reconcile.observe import answers
from streamops.reconcile.prune_rules import Leftover, StreamLeftovers, may_go, to_date
from streamops.spec import Keep, StreamSpec
from streamops.storage import FileDetail, Storage, join
from streamops.storage.address import local_path
from streamops.supervision.bundle import (
    KeptBundle,
    delete_bundle,
    kept_bundles,
    log_folder,
    old_bundles,
    unused_bundles,
)

log = logging.getLogger(__name__)

MOST_AT_ONCE = 100
"""Epochs of one stream in one round: a stream that was never pruned takes several, and nobody waits for it."""
ROUND = timedelta(seconds=60)
"""By then no further stream is begun; those that are left come in the next round."""

_LOG = re.compile(r"^(\d{6,})\.log(?:\.1)?$")
"""`000003.log`, and `000003.log.1` for its older piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedPlace:
    """Where the drivers of one stream, or of one backfill of it, leave their things."""

    stream: str
    checkpoint: str
    keep: Keep

    @property
    def control(self) -> str:
        return control_folder(self.checkpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What one round did for one stream."""

    stream: str
    epochs: tuple[int, ...] = ()
    size: int = 0
    """Bytes."""
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruner:
    """Prunes the streams of one state root. `launcher` is asked which drivers of this host live."""

    storage_for: Callable[[str], Storage]
    launcher: Launcher
    clock: Clock
    state_root: str

    def run(self, specs: Sequence[StreamSpec], *, patience: timedelta) -> tuple[Pruned, ...]:
        """One round over all streams and their backfills, and the bundles. Never raises: all that fails is told.

        A place that does not answer within `patience` holds nobody up. Nothing is done where nobody can tell who lives.
        """
        try:
            living = self.launcher.living()
        except Exception as error:
            # Whatever is wrong with the process table: who prunes without it could take a living driver's log away.
            log.warning("nothing is pruned: which drivers live can't be told: %r", error)
            return ()
        deadline = self.clock.monotonic() + ROUND

        def prune(spec: StreamSpec) -> tuple[Pruned, ...]:
            try:
                return self._stream(spec, living) if self.clock.monotonic() < deadline else ()
            except Exception as error:
                # A mistake of ours about one stream: the others are pruned.
                log.exception("stream=%s can't be pruned", spec.name)
                return (Pruned(stream=spec.name, troubles=(repr(error),)),)

        done = answers(specs, prune, patience=patience)
        found = [pruned for number in sorted(done) for pruned in done[number]]
        for pruned in found:
            _tell(pruned)
        answers((living,), self._bundles, patience=patience)
        return tuple(found)

    def _stream(self, spec: StreamSpec, living: Sequence[FoundDriver]) -> tuple[Pruned, ...]:
        try:
            places = [PrunedPlace(stream=spec.name, checkpoint=spec.checkpoint, keep=spec.keep)]
            for backfill in backfill_ids(self.storage_for(spec.checkpoint), spec.checkpoint):
                own = backfill_checkpoint(spec.checkpoint, backfill)
                places.append(PrunedPlace(stream=derived_name(spec.name, backfill), checkpoint=own, keep=spec.keep))
        except StreamOpsError as error:
            return (Pruned(stream=spec.name, troubles=(str(error),)),)
        return tuple(self.prune(place, living) for place in places)

    def prune(self, place: PrunedPlace, living: Sequence[FoundDriver]) -> Pruned:
        """One stream. Trouble with one epoch leaves the others alone."""
        pruned = Pruned(stream=place.stream)
        try:
            seen = self._look(place, living)
        except StreamOpsError as error:
            return replace(pruned, troubles=(str(error),))
        going = may_go(seen, place.keep, now=self.clock.now())
        if going:
            log.info(
                "stream=%s prunes %d epochs from %d to %d: none of the last %d, nor written within %d days",
                *(place.stream, len(going), going[0].epoch, going[-1].epoch, place.keep.epochs, place.keep.days),
            )
        for leftover in going:
            try:
                size = self._remove(leftover, seen, place)
            except StreamOpsError as error:
                pruned = replace(pruned, troubles=(*pruned.troubles, str(error)))
                continue
            if size is not None:
                pruned = replace(pruned, epochs=(*pruned.epochs, leftover.epoch), size=pruned.size + size)
        return pruned

    def _bundles(self, living: Sequence[FoundDriver]) -> None:
        """Bundles of other versions that nobody uses. Read once more right before: a note of a new user makes one young."""
        storage = self.storage_for(self.state_root)
        try:
            for bundle in self._unused(storage, living):
                if bundle in self._unused(storage, living):
                    delete_bundle(storage, self.state_root, bundle)
                    log.info("bundle %s pruned: no driver uses it", bundle.name)
        except Exception as error:
            log.warning("bundles are not pruned: %r", error)

    def _unused(self, storage: Storage, living: Sequence[FoundDriver]) -> tuple[KeptBundle, ...]:
        """Logs are read only of those who were given a bundle that is old enough to go."""
        old = old_bundles(kept_bundles(storage, self.state_root), now=self.clock.now())
        return unused_bundles(old, {user: self._state_of(user, living) for bundle in old for user in bundle.users})

    def _state_of(self, control: str, living: Sequence[FoundDriver]) -> LogState | None:
        """None where it can't be read, or where a driver lives that it disowns."""
        try:
            state = load_state(self.storage_for(control), control)
        except StreamOpsError:
            return None
        open_epochs = {epoch.number for epoch in state.open_epochs}
        is_disowned = any(driver.control == control and driver.epoch not in open_epochs for driver in living)
        return None if is_disowned else state

    # Facts

    def _look(self, place: PrunedPlace, living: Sequence[FoundDriver]) -> StreamLeftovers:
        """Names of all, dates of the oldest that their number does not keep: most streams cost two listings.

        The log is read after the names: whatever has a name by then has been claimed.
        """
        seen = StreamLeftovers(
            stream=place.stream, found=self._names(place), living=_living(place, self.state_root, living)
        )
        if len(seen.found) <= place.keep.epochs:
            return seen
        seen = replace(seen, state=load_state(self.storage_for(place.control), place.control))
        return self._dated(seen, to_date(seen, place.keep)[:MOST_AT_ONCE], place)

    def _names(self, place: PrunedPlace) -> tuple[Leftover, ...]:
        names = self.storage_for(self.state_root).list(log_folder(self.state_root, place.stream))
        logs = [(int(match[1]), name) for name in names if (match := _LOG.match(name))]
        names = self.storage_for(place.control).list(drivers_folder(place.control))
        folders = [(int(match[1]), name) for name in names if (match := DRIVER_FOLDER.match(name))]
        logs_of, folders_of = _by_epoch(logs), _by_epoch(folders)
        return tuple(
            Leftover(epoch=epoch, logs=logs_of.get(epoch, ()), folders=folders_of.get(epoch, ()))
            for epoch in sorted(logs_of.keys() | folders_of.keys())
        )

    def _dated(self, seen: StreamLeftovers, leftovers: Iterable[Leftover], place: PrunedPlace) -> StreamLeftovers:
        known = {leftover.epoch: self._with_dates(leftover, place) for leftover in leftovers}
        return replace(seen, found=tuple(known.get(leftover.epoch, leftover) for leftover in seen.found))

    def _with_dates(self, leftover: Leftover, place: PrunedPlace) -> Leftover:
        try:
            files = [detail for _, detail in self._files(leftover, place)]
        except StorageError as error:
            return replace(leftover, trouble=str(error))
        written_at = max((detail.modified_at for detail in files), default=None)
        return replace(leftover, is_dated=True, written_at=written_at, size=sum(detail.size for detail in files))

    def _files(self, leftover: Leftover, place: PrunedPlace) -> list[tuple[str, FileDetail]]:
        """Every file of the epoch with its address: a driver's folder first, so that a log outlives what it explains."""
        folders = [join(drivers_folder(place.control), name) for name in leftover.folders]
        found = [
            (join(folder, detail.name), detail)
            for folder in folders
            for detail in self.storage_for(place.control).details(folder)
        ]
        logs = log_folder(self.state_root, place.stream)
        details = self.storage_for(self.state_root).details(logs, only=leftover.logs)
        return [*found, *((join(logs, detail.name), detail) for detail in details)]

    # The act

    def _remove(self, leftover: Leftover, seen: StreamLeftovers, place: PrunedPlace) -> int | None:
        """Judge once more, by the log and the dates as they are now, and delete; the bytes, None where it stays after all."""
        storage = self.storage_for(place.control)
        again = replace(seen, state=refresh_state(storage, place.control, seen.state))
        again = self._dated(again, (leftover,), place)
        going = [one for one in may_go(again, place.keep, now=self.clock.now()) if one.epoch == leftover.epoch]
        if not going:
            return None
        for address, _ in self._files(leftover, place):
            self.storage_for(address).delete(address)
        for name in leftover.folders:
            storage.delete_folder(join(drivers_folder(place.control), name))
        return going[0].size


def _by_epoch(named: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for epoch, name in named:
        found.setdefault(epoch, []).append(name)
    return {epoch: tuple(names) for epoch, names in found.items()}


def _living(place: PrunedPlace, state_root: str, living: Iterable[FoundDriver]) -> frozenset[int]:
    """Epochs of the stream's drivers; and those whose log a driver of another checkpoint writes, as after a move."""
    logs = local_path(log_folder(state_root, place.stream))
    found = {driver.epoch for driver in living if driver.control == place.control}
    for driver in living:
        folder, _, name = driver.handle.log.rpartition("/")
        if folder == logs and (match := _LOG.match(name)):
            found.add(int(match[1]))
    return frozenset(found)


def _tell(pruned: Pruned) -> None:
    """One line for what was done, one for what is in the way."""
    if pruned.epochs:
        log.info(
            "stream=%s pruned %d epochs from %d to %d: %.1f MB",
            *(pruned.stream, len(pruned.epochs), pruned.epochs[0], pruned.epochs[-1], pruned.size / 1e6),
        )
    if pruned.troubles:
        log.warning("stream=%s not pruned, %d times: %s", pruned.stream, len(pruned.troubles), pruned.troubles[0])
