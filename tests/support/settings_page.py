"""The reference in `docs/settings.md` and `config/streams.schema.json`, written from the model of the settings file.

`PYTHONPATH=plugins:tests python -m support.settings_page` writes both anew.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from streamops.durations import format_duration
from streamops.settings.model import DeclaredFile, DeclaredStream
from streamops.settings.schema import settings_schema

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "settings.md"
SCHEMA = ROOT / "config" / "streams.schema.json"
MARK = "## All settings\n"
HEAD = f"""{MARK}
Generated from the model that reads the file. `defaults` may hold `airflow`, `catchup`, `keep`, `launch`, `restart`, `stall`,
`state`, `timings` and `trigger` for all streams. `streamops config schema` prints the same as JSON schema, which
`config/streams.schema.json` holds for editors: `# yaml-language-server: $schema=streams.schema.json`.
"""


def reference() -> str:
    """The generated end of the page."""
    parts = [HEAD]
    for title, model, left_out in (
        ("The file", DeclaredFile, {"defaults", "streams"}),
        ("A stream", DeclaredStream, set()),
    ):
        rows = "".join(f"| {' | '.join(_escaped(cell) for cell in row)} |\n" for row in _rows(model, "", left_out))
        parts.append(f"\n### {title}\n\n| setting | default | value |\n|---|---|---|\n{rows}")
    return "".join(parts)


def _rows(model: type[BaseModel], prefix: str, left_out: set[str]) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        if name in left_out:
            continue
        place = f"{prefix}{field.alias or name}"
        inner = next((one for one in (field.annotation, *get_args(field.annotation)) if _is_section(one)), None)
        if inner is None:
            default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
            yield f"`{place}`", default, field.description or ""
        else:
            yield from _rows(inner, f"{place}.", set())


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _shown(default: Any) -> str:
    if isinstance(default, timedelta):
        return f"`{format_duration(default)}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if default in (None, "", [], {}, ()):
        return ""
    return f"`{default.value if isinstance(default, Enum) else default}`"


def _escaped(cell: str) -> str:
    return cell.replace("|", "&#124;")


def page() -> str:
    """The page with its reference as it should be."""
    return PAGE.read_text().partition(MARK)[0] + reference()


def schema_text() -> str:
    """What `config/streams.schema.json` should hold."""
    return json.dumps(settings_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    SCHEMA.write_text(schema_text())
