"""The JSON schema of the settings file, for editors that complete and check YAML while it is written.

It is read off the model that loads the file. What takes more than one setting to judge, and what `${NAME}` stands for, the
loader alone can tell: `streamops config check`.
"""

from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from streamops.durations import format_duration
from streamops.settings.model import DeclaredFile, DeclaredStream

JsonSchema = dict[str, Any]


def settings_schema() -> JsonSchema:
    """A schema of draft 2020-12."""
    models = [(DeclaredFile, "validation"), (DeclaredStream, "validation")]
    _, schema = models_json_schema(models, title="Settings of streamops", schema_generator=_AsWritten)  # type: ignore[arg-type]
    parts: JsonSchema = schema["$defs"]
    # The loader judges streams one by one, after the defaults, so that one mistake takes no other stream away.
    parts["DeclaredFile"]["properties"]["streams"]["additionalProperties"] = _ref("DeclaredStream")
    defaults, stream = parts["DeclaredDefaults"]["properties"], parts["DeclaredStream"]["properties"]
    defaults |= {name: stream[name] for name in defaults}
    # `trigger: default` stands for `{default: true}`.
    parts["DeclaredTrigger"] = {"anyOf": [{"const": "default"}, parts["DeclaredTrigger"]]}
    parts = {name: _with_variables(part) for name, part in parts.items()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_ref("DeclaredFile"), **schema, "$defs": parts}


class _AsWritten(GenerateJsonSchema):
    """Durations as people write them."""

    def encode_default(self, dft: Any) -> Any:
        """`6h` and not `PT6H`, and of a section what it sets."""
        if isinstance(dft, BaseModel):
            return {name: self.encode_default(value) for name, value in dft if value is not None}
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def _ref(name: str) -> JsonSchema:
    return {"$ref": f"#/$defs/{name}"}


_VARIABLE = {"type": "string", "pattern": r"\$\{"}


def _with_variables(part: Any) -> Any:
    """The same with `${NAME}` in the place of each number, truth value and word."""
    if isinstance(part, list):
        return [_with_variables(one) for one in part]
    if not isinstance(part, dict):
        return part
    # A bound of a duration, which a schema of texts can't state.
    found = {key: _with_variables(value) for key, value in part.items() if key not in ("gt", "ge")}
    if "enum" in part or part.get("type") in ("integer", "number", "boolean"):
        about = {key: found.pop(key) for key in ("default", "description", "title") if key in found}
        return {"anyOf": [found, _VARIABLE], **about}
    return found
