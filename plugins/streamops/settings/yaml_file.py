"""A YAML file as plain values: no name twice, no tags, `${NAME}` filled in from the environment.

PyYAML keeps the last of two equal keys in silence, and reads `010` as 8, `1:30` as 90 and `no` as false. Here a name
that comes twice is reported with both lines, and only `true`, `false`, `null` and plain whole numbers are more than
text, so that every value of a Spark conf is what is written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

try:
    from yaml import CBaseLoader as _Loader
except ImportError:  # PyYAML without libyaml is the same, ten times slower.
    from yaml import BaseLoader as _Loader  # type: ignore[assignment]

from streamops.errors import SettingsError

Place = tuple[str | int, ...]

_VARIABLE = re.compile(r"\$\$\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has_default>:-(?P<default>[^{}]*))?\}|\$\{")
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))

MOST_VALUES = 1_000_000
"""Values in a file once its aliases are written out; 5 000 streams with every setting have 360 000.

Each alias can repeat what repeats others: 300 bytes of nested aliases stand for more values than memory holds.
"""
DEEPEST = 50
"""Mappings and lists inside of each other; the settings need 6."""
_LETTERS_OF_A_VALUE = 1000
"""A longer text counts as several values: an alias repeats a text of any length in two letters."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Stands where a text asks for something that the environment does not have."""

    text: str
    expected: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A name that comes twice in one mapping."""

    place: Place
    lines: tuple[int, int]


@dataclass(frozen=True, slots=True)
class YamlFile:
    """What a file holds: dicts, lists, texts, whole numbers, true, false, None and Unresolved."""

    content: object
    duplicates: tuple[Duplicate, ...]


def parse_yaml(text: str, environment: Mapping[str, str]) -> YamlFile:
    """The values in a YAML text; SettingsError, with the line, when it is not YAML."""
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise SettingsError(f"{line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise SettingsError("characters that YAML does not allow") from error
    except RecursionError as error:  # Of PyYAML without libyaml, which has a limit of its own.
        raise SettingsError(f"mappings and lists nested more than {DEEPEST} deep") from error
    if node:
        _Measure().of(node, depth=1)
    builder = _Builder(environment)
    content = builder.build(node, (), above=()) if node else None
    return YamlFile(content, tuple(builder.duplicates))


class _Measure:
    """How large a file is with its aliases written out, without writing them out: each node is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}
        """By identity of the node: values, and how deep they go."""

    def of(self, node: yaml.Node, *, depth: int) -> tuple[int, int]:
        """Values in the node and levels below it; SettingsError, with the line, beyond MOST_VALUES or DEEPEST."""
        values, levels = self._known.get(id(node)) or self._look(node, depth)
        if depth + levels > DEEPEST:
            raise SettingsError(f"line {_line(node)}: mappings and lists nested more than {DEEPEST} deep")
        if values > MOST_VALUES:
            raise SettingsError(
                f"line {_line(node)}: more than {MOST_VALUES} values with the aliases written out;"
                " aliases of aliases grow fast"
            )
        return values, levels

    def _look(self, node: yaml.Node, depth: int) -> tuple[int, int]:
        if isinstance(node, yaml.ScalarNode):
            values, levels = 1 + len(node.value) // _LETTERS_OF_A_VALUE, 0
        elif depth > DEEPEST:
            values, levels = 1, 1
        else:
            self._known[id(node)] = (0, 0)  # For an alias to something around it, which the builder refuses.
            items = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else node.value
            inside = [self.of(item, depth=depth + 1) for item in items]
            values = 1 + sum(values for values, _ in inside)
            levels = 1 + max((levels for _, levels in inside), default=0)
        self._known[id(node)] = values, levels
        return values, levels


class _Builder:
    """Builds the values of one file."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.duplicates: list[Duplicate] = []

    def build(self, node: yaml.Node, place: Place, *, above: tuple[yaml.Node, ...]) -> object:
        if node.tag not in _PLAIN_TAGS:
            raise SettingsError(f"line {_line(node)}: the tag {node.tag!r}, which has no meaning here")
        if any(node is outer for outer in above):
            raise SettingsError(f"line {_line(node)}: an alias to something that contains itself")
        inside = (*above, node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place, above=inside)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*place, index), above=inside) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place, *, above: tuple[yaml.Node, ...]) -> dict[str, object]:
        lines: dict[str, int] = {}
        values: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SettingsError(f"line {_line(key)}: a name that is not a text")
            if key.value in lines:
                self.duplicates.append(Duplicate((*place, key.value), (lines[key.value], _line(key))))
                continue
            lines[key.value] = _line(key)
            values[key.value] = self.build(value, (*place, key.value), above=above)
        return values

    def _scalar(self, node: yaml.Node) -> object:
        text = str(node.value)
        is_plain = not getattr(node, "style", None)
        if is_plain and text in ("", "~", "null"):
            return None
        filled = interpolate(text, self._environment)
        return _typed(filled) if is_plain and isinstance(filled, str) else filled


def interpolate(text: str, environment: Mapping[str, str]) -> str | Unresolved:
    """`${NAME}` and `${NAME:-default}` filled in; `$${` is a plain `${`.

    As in a shell, the default also stands in for an empty value.
    """
    missing: list[str] = []

    def replacement(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        name = match["name"]
        if name is None:
            missing.append("${NAME} or ${NAME:-default}, with $${ for a plain ${")
            return ""
        if match["has_default"]:
            return environment.get(name) or match["default"]
        if name not in environment:
            missing.append(f"the environment variable {name} to be set, or a default: ${{{name}:-default}}")
            return ""
        return environment[name]

    filled = _VARIABLE.sub(replacement, text)
    return Unresolved(text, missing[0]) if missing else filled


def _typed(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
