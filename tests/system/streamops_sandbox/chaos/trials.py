"""What people and outages do to Airflow while it supervises streams, and whether a stream notices.

1. Airflow is stopped for minutes and started again: the drivers stay, and are attended to again.
2. Processes of the supervising tasks get SIGTERM, again and again, at random instants of their short lives.
3. Its database is cleaned, a DAG is paused, the settings gain a stream that is wrong, its triggerer is restarted.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from streamops.control.attendance import read_attendance
from streamops.launch.processes import read_stat, send_signal
from streamops.storage.local import LocalStorage
from streamops_sandbox.airflow import Component
from streamops_sandbox.chaos.fleet import Fleet
from streamops_sandbox.drivers import live_drivers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.sandboxed_stream import SandboxedStream
from streamops_sandbox.supervising_task import SupervisingTask
from streamops_sandbox.timeline import now

ATTENDED_LIMIT = timedelta(minutes=4)
BATCH_LIMIT = timedelta(minutes=4)
START_LIMIT = timedelta(minutes=8)

_CLEARED_WHEN = frozenset({"deferred", "up_for_retry", "failed", "success"})
_LONGEST_LIFE_SECONDS = 4.0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One act against Airflow and what the streams made of it."""

    act: str
    untouched: bool
    """Same drivers, no new epoch, and each stream has committed a batch afterwards."""
    attended_after: float | None
    """Seconds until every stream was looked after again and its task was deferred; None when that took too long."""
    detail: str = ""


@dataclass(slots=True)
class _Shots:
    """SIGTERMs that were sent, counted over all threads."""

    wanted: int
    sent: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """Whether one more is wanted; it counts as sent."""
        with self.lock:
            if self.sent >= self.wanted:
                return False
            self.sent += 1
            return True


class AirflowTrials:
    """Streams under Airflow that have committed batches and are watched by deferred tasks."""

    def __init__(self, fleet: Fleet, *, tell: Callable[[str], None]) -> None:
        self._fleet = fleet
        self._tell = tell
        self._storage = LocalStorage()
        self._state_root = f"file://{os.path.realpath(fleet.sandbox.layout.data)}/state"
        # A client each, since each is used by a thread of its own.
        self._tasks = {name: SupervisingTask(fleet.sandbox.api(), name) for name in fleet.names}

    def await_peace(self) -> None:
        """Every stream runs and its task is deferred."""
        for stream in self._fleet.streams:
            stream.wait_committed(2, what=f"{stream.spec.name}: first batches", limit=START_LIMIT)
            stream.wait(self._task(stream).missing_to_deferral, what="task", limit=START_LIMIT)

    def outage(self, lasts: timedelta) -> Trial:
        """All of Airflow is stopped and started again; the time to attendance counts from its API's first answer."""
        before, committed = self._drivers(), self._committed()
        self._fleet.sandbox.airflow.stop()
        self._tell(f"Airflow is down for {lasts.total_seconds():.0f} s")
        time.sleep(lasts.total_seconds())
        batches = sum(self._committed()) - sum(committed)
        self._fleet.sandbox.airflow.start(Component.API_SERVER)
        answered = now()
        # Together with it: only the answer tells that Airflow is back.
        self._fleet.sandbox.airflow.start()
        return self._judge("airflow-down", before, since=answered, detail=f"{batches} batches while it was down")

    def sigterms(self, count: int, *, seed: int) -> Trial:
        """SIGTERM for processes of the supervising tasks, one thread a stream, until so many were sent."""
        before, shots = self._drivers(), _Shots(count)
        threads = [
            threading.Thread(target=self._shoot, args=(stream, shots, random.Random(seed + number)), daemon=True)
            for number, stream in enumerate(self._fleet.streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stopped = len(set(before) - set(self._drivers()))
        trial = self._judge("task-sigterm", before, since=now(), detail=f"{shots.sent} sent, {stopped} streams stopped")
        if shots.sent < count:
            raise SandboxError(f"only {shots.sent} of {count} task processes were caught")
        return trial

    def clean_database(self) -> Trial:
        """`airflow db clean` of everything older than now, as retention jobs do with a shorter memory."""
        before, since = self._drivers(), now()
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        self._fleet.sandbox.airflow.run("db", "clean", "--clean-before-timestamp", moment, "--yes", "--skip-archive")
        return self._judge("db-clean", before, since=since)

    def pause(self) -> Trial:
        """The DAG of the first stream is paused while its task is deferred, and un-paused again."""
        before, since = self._drivers(), now()
        stream = self._fleet.streams[0]
        dag = f"dags/{self._task(stream).dag_id}"
        self._fleet.sandbox.api().patch(dag, {"is_paused": True})
        try:
            self._await_batches()
            while_paused = self._is_attended(since)
        finally:
            self._fleet.sandbox.api().patch(dag, {"is_paused": False})
        return self._judge("dag-paused", before, since=now(), detail=f"attended while paused: {while_paused}")

    def spoil_settings(self) -> Trial:
        """The settings file gains a stream that is wrong; later it is mended."""
        before = self._drivers()
        settings = self._fleet.sandbox.layout.settings
        sound = settings.read_text(encoding="utf-8")
        settings.write_text(sound.replace('"streams": {', '"streams": {"spoilt": {"job": 7},', 1), encoding="utf-8")
        try:
            trial = self._judge("bad-stream", before, since=now())
        finally:
            settings.write_text(sound, encoding="utf-8")
        return trial

    def restart_triggerer(self) -> Trial:
        """The triggerer is stopped and started, as for new code."""
        before = self._drivers()
        self._fleet.sandbox.airflow.stop(Component.TRIGGERER)
        self._fleet.sandbox.airflow.start(Component.TRIGGERER)
        return self._judge("triggerer-restart", before, since=now())

    def _judge(self, act: str, before: tuple[tuple[int, int], ...], *, since: datetime, detail: str = "") -> Trial:
        attended = self._await_attendance(since)
        has_batches = self._await_batches()
        trial = Trial(
            act=act, untouched=has_batches and self._drivers() == before, attended_after=attended, detail=detail
        )
        self._tell(f"{act}: untouched {trial.untouched}, attended after {attended} s {detail}")
        return trial

    def _await_attendance(self, since: datetime) -> float | None:
        end = time.monotonic() + ATTENDED_LIMIT.total_seconds()
        while time.monotonic() < end:
            if self._is_attended(since) and not any(
                self._task(stream).missing_to_deferral() for stream in self._fleet.streams
            ):
                return round((now() - since).total_seconds(), 1)
            time.sleep(_LOOK_SECONDS)
        return None

    def _is_attended(self, since: datetime) -> bool:
        """Whether every stream was looked at after that moment."""
        signs = [read_attendance(self._storage, self._state_root, name) for name in self._fleet.names]
        return all(sign is not None and sign.at >= since for sign in signs)

    def _await_batches(self) -> bool:
        wanted = [committed + 1 for committed in self._committed()]
        try:
            for stream, batch in zip(self._fleet.streams, wanted, strict=True):
                stream.wait_committed(batch, what=f"{stream.spec.name}: a batch", limit=BATCH_LIMIT)
        except SandboxError as error:
            self._tell(str(error))
            return False
        return True

    def _shoot(self, stream: SandboxedStream, shots: _Shots, chance: random.Random) -> None:
        """Clear the task whenever it rests, wait for its process, and end that at a random instant of its life."""
        task = self._task(stream)
        while shots.sent < shots.wanted:
            instance = task.instance()
            if instance and instance.state in _CLEARED_WHEN:
                task.clear()
            pid = task.await_process()
            time.sleep(chance.uniform(0, _LONGEST_LIFE_SECONDS))
            stat = read_stat(pid)
            if stat and task.process() == pid and shots.take():
                send_signal(pid, start_ticks=stat.start_ticks, signal_number=signal.SIGTERM)
                self._tell(f"{stream.spec.name}: SIGTERM {shots.sent} of {shots.wanted}")
            while task.process() == pid:
                time.sleep(_LOOK_SECONDS)

    def _task(self, stream: SandboxedStream) -> SupervisingTask:
        return self._tasks[stream.spec.name]

    def _drivers(self) -> tuple[tuple[int, int], ...]:
        return tuple(
            driver.identity for stream in self._fleet.streams for driver in live_drivers(stream.timeline.control)
        )

    def _committed(self) -> list[int]:
        return [stream.timeline.committed() for stream in self._fleet.streams]
