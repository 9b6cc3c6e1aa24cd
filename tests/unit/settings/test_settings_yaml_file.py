import pytest
import yaml

from streamops.errors import SettingsError
from streamops.settings import yaml_file
from streamops.settings.yaml_file import Duplicate, Unresolved, interpolate, parse_yaml


def test_a_name_that_comes_twice_is_reported_with_both_lines() -> None:
    parsed = parse_yaml("streams:\n  orders: {job: a}\n  returns: {}\n  orders: {job: b}\n", {})

    assert parsed.duplicates == (Duplicate(("streams", "orders"), (2, 4)),)


def test_the_same_name_in_two_mappings_is_no_duplicate() -> None:
    assert parse_yaml("a: {job: x}\nb: {job: x}\nc: [{job: x}, {job: y}]\n", {}).duplicates == ()


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("010", "010", id="not octal, as in YAML 1.1"),
        pytest.param("1:30", "1:30", id="not sexagesimal"),
        pytest.param("no", "no", id="not false"),
        pytest.param("1.10", "1.10", id="a version keeps its zero"),
        pytest.param("2026-01-01", "2026-01-01", id="not a date"),
        pytest.param("+5", "+5", id="not written as it would be read back"),
        pytest.param("'5'", "5", id="quoted is text"),
        pytest.param("5", 5, id="number"),
        pytest.param("-1", -1, id="negative number"),
        pytest.param("true", True, id="true"),
        pytest.param("'true'", "true", id="quoted true is text"),
        pytest.param("", None, id="nothing"),
        pytest.param("null", None, id="null"),
        pytest.param("''", "", id="empty text"),
    ],
)
def test_only_plain_numbers_true_false_and_null_are_more_than_text(written: str, value: object) -> None:
    assert parse_yaml(f"a: {written}", {}).content == {"a": value}


def test_names_are_text_whatever_they_look_like() -> None:
    assert parse_yaml("1: a\ntrue: b", {}).content == {"1": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "environment", "filled"),
    [
        pytest.param("${ROOT}/state", {"ROOT": "/data"}, "/data/state", id="set"),
        pytest.param("${ROOT:-data}/state", {}, "data/state", id="default for unset"),
        pytest.param("${ROOT:-data}/state", {"ROOT": ""}, "data/state", id="default for empty"),
        pytest.param("${ROOT:-}/state", {}, "/state", id="empty default"),
        pytest.param("${ROOT}/state", {"ROOT": ""}, "/state", id="set to empty is set"),
        pytest.param("${A}${B:-2}", {"A": "1"}, "12", id="two of them"),
        pytest.param("${A}", {"A": "${B}", "B": "x"}, "${B}", id="filled in once only"),
        pytest.param("$${A}", {"A": "1"}, "${A}", id="escaped"),
        pytest.param("costs $5", {}, "costs $5", id="a lone dollar"),
    ],
)
def test_variables_are_filled_in_from_the_environment(text: str, environment: dict[str, str], filled: str) -> None:
    assert interpolate(text, environment) == filled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("${ROOT}/state", "variable ROOT to be set", id="unset without default"),
        pytest.param("${ROOT", "${NAME}", id="never closed"),
        pytest.param("${1X}", "${NAME}", id="not a name"),
        pytest.param("${ROOT:-${HOME}}", "${NAME}", id="default inside a default"),
    ],
)
def test_what_cannot_be_filled_in_is_marked_at_its_place(text: str, expected: str) -> None:
    content = parse_yaml(f"a: '{text}'", {}).content

    assert isinstance(content, dict)
    assert isinstance(content["a"], Unresolved)
    assert expected in content["a"].expected


def test_a_number_from_the_environment_is_a_number_unless_the_text_is_quoted() -> None:
    assert parse_yaml("a: ${N}\nb: '${N}'", {"N": "5"}).content == {"a": 5, "b": "5"}


def test_an_empty_value_from_the_environment_is_an_empty_text() -> None:
    assert parse_yaml("a: ${N:-}", {}).content == {"a": ""}


def test_anchors_repeat_what_they_name() -> None:
    assert parse_yaml("a: &x {b: 1}\nc: *x", {}).content == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("a: [1", "line 2: ", id="does not parse"),
        pytest.param("a: b\n\tc: d", "line 2: ", id="tab"),
        pytest.param("a: \x07", "characters", id="control character"),
        pytest.param("a: 1\n---\nb: 1", "line 2: ", id="two documents"),
        pytest.param("a: !!python/name:os.system x", "line 1: the tag", id="tag that would run code"),
        pytest.param("a: !!int '5'", "line 1: the tag", id="harmless tag"),
        pytest.param("? [a, b]\n: c", "line 1: a name", id="name that is a list"),
        pytest.param("a: &x\n  b: *x", "alias", id="alias to itself"),
        pytest.param("a: *x", "line 1: ", id="alias to nothing"),
        pytest.param("a: " + "[" * 60 + "]" * 60, "line 1: .* nested more than 50 deep", id="lists in lists"),
        pytest.param("a: " + "[" * 500 + "]" * 500, "nested more than 50 deep", id="as deep as Python's own limit"),
        pytest.param("a: " + "[" * 5000 + "]" * 5000, "nest", id="deeper than libyaml's own limit"),
    ],
)
def test_what_is_not_plain_yaml_is_an_error_that_names_the_line(text: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        parse_yaml(text, {})


def nested_aliases(levels: int, *, width: int = 9, leaf: str = "lol") -> str:
    """The text that is known as a billion laughs: each level repeats the one above `width` times."""
    lines = [f"v0: &v0 [{', '.join([leaf] * width)}]"]
    lines += [f"v{n}: &v{n} [{', '.join([f'*v{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_of_aliases_end_at_the_bound_with_the_line() -> None:
    text = nested_aliases(9)

    assert len(text) < 500
    with pytest.raises(SettingsError, match=r"line \d+: more than 1000000 values with the aliases written out"):
        parse_yaml(text, {})


def test_a_file_is_measured_before_anything_of_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def counted(measure: yaml_file._Measure, node: yaml.Node, depth: int) -> tuple[int, int]:
        nonlocal looks
        looks += 1
        return look(measure, node, depth)

    look = yaml_file._Measure._look
    monkeypatch.setattr(yaml_file._Measure, "_look", counted)
    monkeypatch.setattr(yaml_file, "_Builder", None)

    with pytest.raises(SettingsError, match="more than 1000000 values"):
        parse_yaml(nested_aliases(9), {})
    assert looks < 20


def test_an_alias_repeats_a_long_text_at_its_price() -> None:
    text = f"v: &v {'x' * 100_000}\nw: [{', '.join(['*v'] * 10_000)}]"

    with pytest.raises(SettingsError, match="more than 1000000 values"):
        parse_yaml(text, {})


def test_aliases_that_people_write_pass() -> None:
    streams = "\n".join(f"  s{n}: {{launch: *launch, job: a}}" for n in range(1000))

    parsed = parse_yaml(f"launch: &launch {{conf: {{a: 1, b: 2}}}}\nstreams:\n{streams}", {}).content

    assert isinstance(parsed, dict)
    assert parsed["streams"]["s999"]["launch"] == {"conf": {"a": 1, "b": 2}}
