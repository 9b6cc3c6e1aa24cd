"""What is wrong with a settings file, in plain words and without secrets; collected while it is read."""

import difflib
import os.path
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from streamops.errors import SettingsError
from streamops.settings.folders import resolve_folder
from streamops.settings.secrets import PASSWORD_IN_ADDRESS, holds_secret, mentions_secret
from streamops.settings.yaml_file import Place, Unresolved

_LONGEST_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsProblem:
    """One thing that is wrong, where it is written, and what would be right."""

    path: str
    """The file, as it was asked for."""
    stream: str
    """The stream that can't start because of it; empty when it is the whole file."""
    place: str
    """Dotted path inside the file; empty for the file as such."""
    found: str
    expected: str

    def __str__(self) -> str:
        where = f"{self.path}: {self.place}" if self.place else self.path
        line = f"{where}: found {self.found}, expected {self.expected}"
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A problem before it is known to which file, and in which part of it, its place belongs."""

    place: Place
    found: str
    expected: str


def dotted(place: Place) -> str:
    """`streams.orders.source.kafka.topics[0]`"""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def shown(value: object, *, place: Place = ()) -> str:
    """A value as a problem may show it: on one line, shortened, secrets as `***`."""
    if any(mentions_secret(str(part)) for part in place):
        return "***"
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if holds_secret(str(value)):
        return "***"
    text = PASSWORD_IN_ADDRESS.sub("***", str(value))
    shortened = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return repr(shortened) if isinstance(value, str) else shortened


def refusals_of(error: ValidationError, model: type[BaseModel]) -> tuple[Refusal, ...]:
    """The errors of pydantic; what is expected comes from the descriptions of the model's fields."""
    return tuple(_refusal(details, model) for details in error.errors(include_url=False, include_context=False))


def settings_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that the file has for them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _refusal(details: Any, model: type[BaseModel]) -> Refusal:
    place: Place = details["loc"]
    value = details["input"]
    if details["type"] == "extra_forbidden":
        return Refusal(place, repr(place[-1]), _further_out(model, place) or _known_name(model, place))
    if details["type"] == "missing":
        return Refusal(place, "nothing", _expected(model, place))
    if isinstance(value, Unresolved):
        return Refusal(place, shown(value.text, place=place), value.expected)
    return Refusal(place, shown(value, place=place), _expected(model, place))


def _further_out(model: type[BaseModel], place: Place) -> str:
    """Where a setting belongs that is written too deep; empty where no mapping around it has one of that name."""
    name = str(place[-1])
    for depth in range(len(place) - 2, -1, -1):
        if name in settings_of(_model_at(model, place[:depth])):
            return f"{dotted((*place[:depth], name))}, which is where it is declared"
    return ""


def _known_name(model: type[BaseModel], place: Place) -> str:
    name, names = str(place[-1]), sorted(settings_of(_model_at(model, place[:-1])))
    close = difflib.get_close_matches(name, names, n=1)
    return f"a known setting: did you mean {close[0]!r}?" if close else f"one of the settings {', '.join(names)}"


def _expected(model: type[BaseModel], place: Place) -> str:
    """The description of the innermost declared field on the way to a value."""
    expected = model.__doc__ or ""
    for part in place:
        field = settings_of(model).get(str(part))
        if field is None:
            break
        expected = field.description or expected
        inner = _inner_model(field.annotation)
        if inner is None:
            break
        model = inner
    return expected.splitlines()[0]


def _model_at(model: type[BaseModel], place: Place) -> type[BaseModel]:
    for part in place:
        inner = _inner_model(settings_of(model)[str(part)].annotation)
        assert inner is not None, f"{part} is not a mapping with declared keys"
        model = inner
    return model


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model of a field; of one that may be left out as well."""
    kinds = get_args(annotation) or (annotation,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


_STAND_IN = "file:///refused"


class Collector:
    """The problems of one stream. Something stands in for what is refused, and nobody sees it."""

    def __init__(self, root: str) -> None:
        self._root = root
        """Relative paths count from it."""
        self.refusals: list[Refusal] = []

    @property
    def root(self) -> str:
        """What relative paths count from."""
        return self._root

    def refuse(self, place: Place, value: object, expected: str) -> None:
        """This value stands at that place, and what is expected is something else."""
        self.refusals.append(Refusal(place, shown(value, place=place), expected))

    def absolute(self, path: str) -> str:
        """A path, from the root on."""
        return os.path.normpath(os.path.join(self._root, path))

    def folder(self, text: str, place: Place, resolve: Callable[..., str] = resolve_folder) -> str:
        """The canonical address of a folder."""
        try:
            return resolve(text, root=self._root)
        except SettingsError as error:
            self.refuse(place, text, str(error))
            return _STAND_IN

    def accepted(
        self, values: Mapping[str, str], place: Place, refused: Callable[[str, str], str]
    ) -> tuple[tuple[str, str], ...]:
        """Options or confs, sorted by name, so that another order in the file is not another spec."""
        for name, value in values.items():
            if expected := refused(name, value):
                self.refuse((*place, name), value, expected)
        return tuple(sorted(values.items()))
