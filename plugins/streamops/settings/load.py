"""The settings file, read whole: the streams that are fine, and what is wrong with the others."""

import difflib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from streamops.errors import SettingsError
from streamops.settings.conflicts import conflicts
from streamops.settings.folders import resolve_state_folder
from streamops.settings.model import DeclaredFile, DeclaredStream
from streamops.settings.notices import notices_of
from streamops.settings.problems import Refusal, SettingsProblem, dotted, refusals_of, shown
from streamops.settings.resolve import resolve_stream
from streamops.settings.yaml_file import Place, YamlFile, parse_yaml
from streamops.spec import Mode, StreamSpec
from streamops.spec.health_rounds import HealthRounds
from streamops.spec.stream import is_stream_name

DEFAULT_PATH = "config/streams.yaml"
PATH_VARIABLE = "STREAMOPS_CONFIG"

_ASIDES = frozenset({"checkpoint_health", "retention_coverage"})
"""Sections on which no stream depends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a settings file declares, as far as it can be used."""

    path: str
    """The file, as it was asked for."""
    state_root: str
    """Canonical address of registry and shared files; empty when the whole file is wrong."""
    streams: tuple[StreamSpec, ...]
    """The valid ones, in the order of the file."""
    errors: tuple[SettingsProblem, ...]
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


def default_settings_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the settings are when nobody says otherwise."""
    return Path(environment.get(PATH_VARIABLE) or DEFAULT_PATH)


def load_settings(path: str | Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in a file. Never raises for what the file holds: one bad stream must not disarm the others.

    Only a file that can't be read, text that is not YAML and a broken top level leave no streams at all.
    """
    root = project_root(path)
    read = _read(path, environment)
    top = _top_level(read, root) if isinstance(read, YamlFile) else read
    if isinstance(top, tuple):
        whole = tuple(_problem(path, "", refusal.place, refusal) for refusal in top)
        return Settings(path=str(path), state_root="", streams=(), errors=whole)
    specs: list[StreamSpec] = []
    refusals: list[tuple[str, Refusal]] = []
    for name in top.streams:
        spec, refused = _stream(name, top, root)
        specs += [spec] if spec else []
        refusals += [(name, refusal) for refusal in refused]
    shared = conflicts(specs, state_root=top.state_root)
    refusals += [(name, refusal) for name, refused in shared.items() for refusal in refused]
    return Settings(
        path=str(path),
        state_root=top.state_root,
        streams=tuple(spec for spec in specs if spec.name not in shared),
        errors=tuple(_problem(path, name, top.place(name, refusal.place), refusal) for name, refusal in refusals),
        checkpoint_health=top.checkpoint_health,
        retention_coverage=top.retention_coverage,
        asides=tuple(_problem(path, "", refusal.place, refusal) for refusal in top.asides),
    )


def project_root(path: str | Path) -> str:
    """What relative paths in a settings file count from: the folder around `config/`, or else the file's own.

    Symlinks are not followed: a mounted settings file is often a link to a folder that means nothing.
    """
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.dirname(folder) if os.path.basename(folder) == "config" else folder


def merged(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults with a stream's own settings laid over them, mapping by mapping.

    Lists and single values replace. So does the trigger, of which there is one kind or another.
    """
    result = dict(defaults)
    for name, value in own.items():
        below = defaults.get(name)
        is_pair = isinstance(below, dict) and isinstance(value, dict) and name != "trigger"
        result[name] = merged(below or {}, value) if is_pair else value
    return result


@dataclass(frozen=True, slots=True)
class _TopLevel:
    """A file whose frame is sound; what the streams hold is not looked at yet."""

    state_root: str
    defaults: dict[str, Any]
    streams: dict[str, Any]
    duplicates: dict[str, tuple[Refusal, ...]]
    """By stream: names that come twice in it."""
    checkpoint_health: HealthRounds
    retention_coverage: HealthRounds
    asides: tuple[Refusal, ...]
    """Of a section on which no stream depends."""

    def place(self, name: str, inner: Place) -> Place:
        """Where a setting of a stream is written: under the stream, unless it comes from the defaults alone."""
        if inner and not _holds(self.streams[name], inner) and _holds(self.defaults, inner):
            return ("defaults", *inner)
        return ("streams", name, *inner)


def _read(path: str | Path, environment: Mapping[str, str]) -> YamlFile | tuple[Refusal, ...]:
    try:
        return parse_yaml(Path(path).read_text(encoding="utf-8"), environment)
    except OSError as error:
        expected = f"a settings file that can be read; {PATH_VARIABLE} may name another"
        return (Refusal((), (error.strerror or str(error)).lower(), expected),)
    except UnicodeDecodeError as error:
        return (Refusal((), f"byte {error.start} that is not UTF-8", "a text file"),)
    except SettingsError as error:
        return (Refusal((), str(error), "YAML that parses"),)


def _top_level(file: YamlFile, root: str) -> _TopLevel | tuple[Refusal, ...]:
    """The frame, or what is wrong with it. A stream that is declared twice breaks the frame: which one was meant?"""
    duplicates: dict[str, tuple[Refusal, ...]] = {}
    refusals: tuple[Refusal, ...] = ()
    for duplicate in file.duplicates:
        found = f"it twice, in lines {duplicate.lines[0]} and {duplicate.lines[1]}"
        if duplicate.place[0] == "streams" and len(duplicate.place) > 2:
            name = str(duplicate.place[1])
            refusal = Refusal(duplicate.place[2:], found, "each name once")
            duplicates[name] = (*duplicates.get(name, ()), refusal)
        else:
            refusals += (Refusal(duplicate.place, found, "each name once"),)
    refusals += _frame_refusals(file.content)
    asides = tuple(refusal for refusal in refusals if refusal.place[:1] and refusal.place[0] in _ASIDES)
    if len(asides) < len(refusals):
        return refusals
    declared = DeclaredFile.model_validate(_without(file.content, {refusal.place[0] for refusal in asides}))
    try:
        state_root = resolve_state_folder(declared.state_root, root=root)
    except SettingsError as error:
        return (*refusals, Refusal(("state_root",), shown(declared.state_root), str(error)))
    defaults = {name: getattr(declared.defaults, name) for name in declared.defaults.model_fields_set}
    return _TopLevel(
        state_root=state_root,
        defaults=defaults,
        streams=declared.streams,
        duplicates=duplicates,
        checkpoint_health=HealthRounds(**dict(declared.checkpoint_health)),
        retention_coverage=HealthRounds(**dict(declared.retention_coverage)),
        asides=asides,
    )


def _frame_refusals(content: object) -> tuple[Refusal, ...]:
    try:
        DeclaredFile.model_validate(content)
    except ValidationError as error:
        return refusals_of(error, DeclaredFile)
    return ()


def _without(content: Any, sections: Collection[str | int]) -> Any:
    return {name: value for name, value in content.items() if name not in sections} if sections else content


def _stream(name: str, top: _TopLevel, root: str) -> tuple[StreamSpec | None, tuple[Refusal, ...]]:
    refusals = top.duplicates.get(name, ())
    if not is_stream_name(name):
        expected = "a name of lower-case letters, digits and underscores, a letter first, 100 characters at most"
        refusals += (Refusal((), repr(name), expected),)
    own = top.streams[name]
    try:
        declared = DeclaredStream.model_validate(_with_defaults(own, top.defaults) if isinstance(own, dict) else own)
    except ValidationError as error:
        return None, refusals + refusals_of(error, DeclaredStream)
    if refusals:
        return None, refusals
    return resolve_stream(name, declared, root=root)


def _with_defaults(own: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A common trigger is that of live queries: a scheduled stream needs one that ends."""
    if own.get("mode") == Mode.SCHEDULED:
        defaults = _without(defaults, {"trigger"})
    return merged(defaults, own)


def _holds(values: Any, place: Place) -> bool:
    for part in place:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _problem(path: str | Path, stream: str, place: Place, refusal: Refusal) -> SettingsProblem:
    return SettingsProblem(
        path=str(path), stream=stream, place=dotted(place), found=refusal.found, expected=refusal.expected
    )
