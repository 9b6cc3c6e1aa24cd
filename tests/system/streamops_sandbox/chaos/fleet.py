"""Several streams in one sandbox, each with its own topic, tables, checkpoint and order generator."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from streamops.storage.address import local_path
from streamops_sandbox import kafka
from streamops_sandbox.chaos import mounts
from streamops_sandbox.chaos.book import Account
from streamops_sandbox.chaos.leftovers import end_leftovers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.fleet_settings import fleet_names, fleet_settings
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.sandboxed_stream import STREAM, SandboxedStream
from streamops_sandbox.waiting import Narrator, SilentNarrator, StderrNarrator

RATE = 50.0
"""Orders a second and stream."""

PATIENT = {"STREAMOPS_RESTARTS_PER_HOUR": "999", "STREAMOPS_THRASH_LIMIT": "999", "STREAMOPS_MAX_DELAY": "15s"}
"""Patience without end: what is measured is the supervisor, and a parked stream ends the run."""

STOP_LIMIT = timedelta(minutes=4)


class Fleet:
    """The streams of one sandbox that is used up by one experiment."""

    def __init__(self, sandbox: Sandbox, *, size: int, actor: str) -> None:
        self.sandbox = sandbox
        self.names = fleet_names(STREAM, size)
        self.topics = fleet_names(kafka.ORDERS_TOPIC, size)
        self._actor = actor
        self.streams: tuple[SandboxedStream, ...] = ()

    @classmethod
    def in_project(
        cls, project: Path, *, folder: str, size: int, added: Mapping[str, str] | None = None, own_dags: bool = False
    ) -> "Fleet":
        """A fleet in a sandbox of its own, a folder beside the user's sandbox."""
        layout = SandboxLayout(project=project, root=SandboxLayout.of_project(project).root / folder, own_dags=own_dags)
        inherited = {**os.environ, **PATIENT, "STREAMOPS_CONFIG": str(layout.settings)}
        sandbox = Sandbox(layout, narrator=StderrNarrator(), inherited=inherited, added=added)
        return cls(sandbox, size=size, actor=folder)

    def begin_anew(self) -> None:
        """Clear away what an earlier experiment left, also one that crashed: its drivers, daemons, mounts and data."""
        end_leftovers(self.sandbox)
        mounts.keep_and_unmount(self.sandbox.layout.root)
        self.sandbox.reset()

    def declare(self) -> tuple[SandboxedStream, ...]:
        """Start broker and topics, write the settings; nothing runs the streams yet."""
        self.sandbox.up(with_airflow=False, topics=self.topics)
        self._write_settings()
        self.streams = tuple(
            SandboxedStream(self.sandbox, narrator=SilentNarrator(), actor=self._actor, name=name)
            for name in self.names
        )
        return self.streams

    def up(self, *, with_airflow: bool, small_disk: bool = False) -> None:
        """Declare the streams, then start what feeds and what supervises them."""
        self.declare()
        if small_disk:
            mounts.mount_small_disk(self.control_folder(self.with_small_disk))
        for topic in self.topics:
            self.sandbox.start_orders(topic, rate=RATE)
        if with_airflow:
            self.sandbox.up(with_airflow=True, topics=self.topics)
        else:
            self.sandbox.start_supervisor()

    @property
    def with_small_disk(self) -> SandboxedStream:
        """The stream whose control folder may lie on a small disk: one alone, since such a disk is faster than others."""
        return self.streams[-1]

    @staticmethod
    def control_folder(stream: SandboxedStream) -> Path:
        """Where the stream's control folder is mounted or made read-only."""
        path = local_path(stream.timeline.control)
        if path is None:
            raise SandboxError(f"{stream.timeline.control} is no local folder")
        return Path(path)

    def account(self, narrator: Narrator) -> list[Account]:
        """Stop the generators, let the streams catch up, and compare record by record."""
        sent = [(stream, stream.stop_orders()) for stream in self.streams]
        accounts = []
        for stream, state in sent:
            narrator.waiting(f"{stream.spec.name}: draining")
            ledger = stream.drain(state)
            epochs, with_batches = stream.timeline.epochs(), stream.timeline.epochs_with_batches()
            accounts.append(Account.of(stream.spec.name, ledger, epochs=epochs, epochs_with_batches=with_batches))
        narrator.settle()
        return accounts

    @contextmanager
    def taken_down_afterwards(self) -> Iterator[None]:
        """Whatever happens inside: stop the streams while their supervisor lives, then everything else."""
        try:
            yield
        finally:
            try:
                self._stop_streams()
            finally:
                self.sandbox.down()
                mounts.keep_and_unmount(self.sandbox.layout.root)

    def _stop_streams(self) -> None:
        for stream in self.streams:
            stream.requests.stop("chaos has ended")
        for stream in self.streams:
            stream.wait(stream.driver_is_gone, what=f"{stream.spec.name} stop", limit=STOP_LIMIT)

    def _write_settings(self) -> None:
        layout = self.sandbox.layout
        environment = {**os.environ, **PATIENT, **self.sandbox.environment()}
        text = layout.stream_config.read_text(encoding="utf-8")
        derived = fleet_settings(text, environment, project=layout.project, stream=STREAM, size=len(self.names))
        layout.settings.parent.mkdir(parents=True, exist_ok=True)
        layout.settings.write_text(derived, encoding="utf-8")
        Console(stderr=True).print(f"settings of {len(self.names)} streams: {layout.settings}", highlight=False)
