"""Builders of projects with a settings file, in a temporary folder."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from streamops.settings import Settings, load_settings
from streamops.storage.local import LocalStorage
from support.state_root import init

JOB = "def define(spark, stream):\n    return stream.to_delta(stream.from_kafka(spark))\n"


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with `config/streams.yaml`, one job and two jars."""

    root: Path

    @property
    def file(self) -> Path:
        return self.root / "config" / "streams.yaml"

    def address(self, path: str) -> str:
        """The canonical address of a place in the project."""
        return f"file://{self.root / path}"

    def load_text(self, text: str, **environment: str) -> Settings:
        self.file.write_text(text, encoding="utf-8")
        return load_settings(self.file, environment)

    def load(self, *, defaults: dict[str, Any] | None = None, streams: dict[str, Any], **environment: str) -> Settings:
        content = {"state_root": "data/state", "defaults": defaults or {}, "streams": streams}
        return self.load_text(yaml.safe_dump(content), **environment)


def a_project(root: Path) -> Project:
    """A project in an empty folder, with its state root."""
    root = root.resolve()
    for file in ("config/streams.yaml", "jobs/orders.py", "jars/b.jar", "jars/a.jar"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    init(LocalStorage(), f"file://{root}/data/state")
    (root / "jobs/orders.py").write_text(JOB)
    return Project(root)


def a_declared_stream(name: str = "orders", **changes: Any) -> dict[str, Any]:
    """A stream as the YAML declares it; each has places of its own. Changes are laid over it, None removes."""
    declared: dict[str, Any] = {
        "job": "jobs/orders.py",
        "source": {"kafka": {"bootstrap_servers": "127.0.0.1:9092", "topics": ["orders"]}},
        "sink": {"delta": {"table": f"data/tables/{name}"}, "dead_letters": f"data/dead/{name}"},
        "checkpoint": f"data/checkpoints/{name}",
    }
    return _laid_over(declared, changes)


def _laid_over(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    result = deepcopy(base)
    for key, change in changes.items():
        if change is None:
            result.pop(key, None)
        elif isinstance(change, dict) and isinstance(result.get(key), dict):
            result[key] = _laid_over(result[key], change)
        else:
            result[key] = change
    return result
