"""The settings file, read whole: the streams that are fine, and what is wrong with the others."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from streamops.errors import SettingsError
from streamops.settings.conflicts import conflicts
from streamops.settings.folders import resolve_state_folder
from streamops.settings.loaded import Settings
from streamops.settings.model import DeclaredFile, DeclaredStream
from streamops.settings.problems import Refusal, SettingsProblem, dotted, refusals_of, shown
from streamops.settings.resolve import resolve_stream
from streamops.settings.yaml_file import Place, YamlFile, parse_yaml
from streamops.spec import Mode, StreamSpec
from streamops.spec.health_rounds import HealthRounds
from streamops.spec.stream import is_stream_name
from streamops.storage import FileAccess

DEFAULT_PATH = "config/streams.yaml"
PATH_VARIABLE = "STREAMOPS_CONFIG"

_ASIDES = frozenset({"checkpoint_health", "retention_coverage"})
"""Sections on which no stream depends."""


def default_settings_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the settings are when nobody says otherwise."""
    return Path(environment.get(PATH_VARIABLE) or DEFAULT_PATH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A settings file as it was read."""

    settings: Settings
    names: frozenset[str] = frozenset()
    """All that it declares, rightly or wrongly."""
    sections: dict[str, Any] = field(default_factory=dict)
    """Its sections beside the streams, as far as they are right."""
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By stream that is right: all that it declares, defaults included and variables filled in."""


def load_settings(path: str | Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in a file. Never raises for what the file holds: one bad stream must not disarm the others.

    Only a file that can't be read, text that is not YAML and a broken top level leave no streams at all.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return unreadable(path, error).settings
    return read_settings(path, text, environment).settings


def unreadable(path: str | Path, error: OSError | UnicodeDecodeError) -> Reading:
    """The reading of a file whose text can't be had."""
    if isinstance(error, UnicodeDecodeError):
        return _nothing(path, (Refusal((), f"byte {error.start} that is not UTF-8", "a text file"),))
    expected = f"a settings file that can be read; {PATH_VARIABLE} may name another"
    return _nothing(path, (Refusal((), (error.strerror or str(error)).lower(), expected),))


def read_settings(path: str | Path, text: str, environment: Mapping[str, str]) -> Reading:
    """The settings in a text. Never raises for what it holds."""
    try:
        file = parse_yaml(text, environment)
    except SettingsError as error:
        return _nothing(path, (Refusal((), str(error), "YAML that parses"),))
    return settings_of(path, file)


def settings_of(path: str | Path, file: YamlFile, *, checks_files: bool = True) -> Reading:
    """The settings in the values of a file. Without `checks_files` jobs, jars and folders need not be there now."""
    root = project_root(path)
    top = _top_level(file, root)
    if isinstance(top, tuple):
        return _nothing(path, top)
    specs: list[StreamSpec] = []
    declared: dict[str, dict[str, Any]] = {}
    refusals: list[tuple[str, Refusal]] = []
    for name in top.streams:
        spec, refused = _stream(name, top, root, checks_files=checks_files)
        if spec:
            specs.append(replace(spec, namespace=top.namespace, file_access=top.file_access))
            declared[name] = _as_declared(top, name, spec)
        refusals += [(name, refusal) for refusal in refused]
    shared = conflicts(specs, state_root=top.state_root)
    refusals += [(name, refusal) for name, refused in shared.items() for refusal in refused]
    settings = Settings(
        path=str(path),
        state_root=top.state_root,
        namespace=top.namespace,
        file_access=top.file_access,
        streams=tuple(spec for spec in specs if spec.name not in shared),
        errors=tuple(problem_of(path, name, top.place(name, refusal.place), refusal) for name, refusal in refusals),
        checkpoint_health=top.checkpoint_health,
        retention_coverage=top.retention_coverage,
        asides=tuple(problem_of(path, "", refusal.place, refusal) for refusal in top.asides),
    )
    for name in shared:
        declared.pop(name, None)
    return Reading(settings=settings, names=frozenset(top.streams), sections=top.sections, declared=declared)


def _nothing(path: str | Path, refusals: tuple[Refusal, ...]) -> Reading:
    whole = tuple(problem_of(path, "", refusal.place, refusal) for refusal in refusals)
    return Reading(settings=Settings(path=str(path), state_root="", streams=(), errors=whole))


def _as_declared(top: "_TopLevel", name: str, spec: StreamSpec) -> dict[str, Any]:
    """What a stream declares, with the jars that its patterns mean: these may match less when they are needed."""
    own = _with_defaults(top.streams[name], top.defaults)
    if spec.launch.jars:
        own = {**own, "launch": {**own["launch"], "jars": list(spec.launch.jars)}}
    return own


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
    namespace: str
    file_access: FileAccess
    defaults: dict[str, Any]
    streams: dict[str, Any]
    duplicates: dict[str, tuple[Refusal, ...]]
    """By stream: names that come twice in it."""
    checkpoint_health: HealthRounds
    retention_coverage: HealthRounds
    asides: tuple[Refusal, ...]
    """Of a section on which no stream depends."""
    sections: dict[str, Any]
    """As they are written, but for streams, defaults and those with asides; the state root canonical."""

    def place(self, name: str, inner: Place) -> Place:
        """Where a setting of a stream is written: under the stream, unless it comes from the defaults alone."""
        if inner and not _holds(self.streams[name], inner) and _holds(self.defaults, inner):
            return ("defaults", *inner)
        return ("streams", name, *inner)


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
    sound = _without(file.content, {refusal.place[0] for refusal in asides})
    declared = DeclaredFile.model_validate(sound)
    try:
        state_root = resolve_state_folder(declared.state_root, root=root)
    except SettingsError as error:
        return (*refusals, Refusal(("state_root",), shown(declared.state_root), str(error)))
    defaults = {name: getattr(declared.defaults, name) for name in declared.defaults.model_fields_set}
    return _TopLevel(
        state_root=state_root,
        namespace=declared.namespace,
        file_access=declared.file_access,
        defaults=defaults,
        streams=declared.streams,
        duplicates=duplicates,
        checkpoint_health=HealthRounds(**dict(declared.checkpoint_health)),
        retention_coverage=HealthRounds(**dict(declared.retention_coverage)),
        asides=asides,
        sections={**_without(sound, {"streams", "defaults"}), "state_root": state_root},
    )


def _frame_refusals(content: object) -> tuple[Refusal, ...]:
    try:
        DeclaredFile.model_validate(content)
    except ValidationError as error:
        return refusals_of(error, DeclaredFile)
    return ()


def _without(content: Any, sections: Collection[str | int]) -> Any:
    return {name: value for name, value in content.items() if name not in sections} if sections else content


def _stream(
    name: str, top: _TopLevel, root: str, *, checks_files: bool
) -> tuple[StreamSpec | None, tuple[Refusal, ...]]:
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
    return resolve_stream(name, declared, root=root, checks_files=checks_files)


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


def problem_of(path: str | Path, stream: str, place: Place, refusal: Refusal) -> SettingsProblem:
    """What is wrong at a place of a file."""
    return SettingsProblem(
        path=str(path), stream=stream, place=dotted(place), found=refusal.found, expected=refusal.expected
    )
