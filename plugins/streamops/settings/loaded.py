"""What a settings file comes to: the streams that can be supervised, and what is wrong with the others."""

import difflib
from dataclasses import dataclass, field
from datetime import datetime

from streamops.errors import SettingsError
from streamops.settings.notices import notices_of
from streamops.settings.problems import SettingsProblem
from streamops.spec import StreamSpec
from streamops.spec.health_rounds import HealthRounds
from streamops.storage import FileAccess, Storage
from streamops.storage.kinds import storage_for


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptStream:
    """A stream that goes on as it was declared before: the file declares it wrongly now, not at all, or can't be read."""

    name: str
    since: datetime
    """When that declaration was read first."""
    has_left: bool = False
    """Whether the file can be read and does not name it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a settings file declares, as far as it can be used."""

    path: str
    """The file, as it was asked for."""
    state_root: str
    """Canonical address of registry and shared files; empty when the whole file is wrong and no good version is kept."""
    streams: tuple[StreamSpec, ...]
    """Those that can be supervised: the valid ones in the order of the file, then those in `kept`."""
    errors: tuple[SettingsProblem, ...]
    namespace: str = ""
    """What the ids of its DAGs begin with; for several settings files in one Airflow."""
    file_access: FileAccess = FileAccess.OWNER
    """Who may read and write what the suite keeps on file systems."""
    kept: tuple[KeptStream, ...] = ()
    """Of `streams` those that go by their last good declaration. For each there is a problem in `errors`."""
    checkpoint_health: HealthRounds = field(default_factory=HealthRounds)
    """How the checkpoints of all of them are looked at."""
    retention_coverage: HealthRounds = field(default_factory=HealthRounds)
    """How it is looked at whether what they need is still in Kafka."""
    asides: tuple[SettingsProblem, ...] = ()
    """What is wrong in a section on which no stream depends. Its defaults count meanwhile: it must not disarm the streams."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What works and should be declared otherwise."""
        return tuple(
            f"{self.path}: streams.{spec.name}.{notice}" for spec in self.streams for notice in notices_of(spec)
        )

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """Everything that is wrong."""
        return (*self.errors, *self.asides)

    @property
    def whole(self) -> tuple[SettingsProblem, ...]:
        """What is wrong with the file as a whole: with any of it the file declares no stream."""
        return tuple(problem for problem in self.errors if not problem.stream)

    def usable(self) -> "Settings":
        """Itself; SettingsError when not even the frame of the file is sound, and no good version of it is kept."""
        if not self.state_root:
            raise SettingsError("\n".join(str(problem) for problem in self.whole))
        return self

    def storage_for(self, address: str) -> Storage:
        """The storage behind an address, which gives new files the access that is declared."""
        return storage_for(address, access=self.file_access)

    def stream(self, name: str) -> StreamSpec:
        """One stream; SettingsError with its problems, or with names that are close, when there is no such spec."""
        for spec in self.streams:
            if spec.name == name:
                return spec
        problems = [str(problem) for problem in self.errors if problem.stream in ("", name)]
        if problems:
            raise SettingsError("\n".join(problems))
        known = sorted({spec.name for spec in self.streams} | {problem.stream for problem in self.errors})
        close = difflib.get_close_matches(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"{len(known)} are declared, none is called alike"
        raise SettingsError(f"{self.path}: no stream is called {name!r}: {hint}")
