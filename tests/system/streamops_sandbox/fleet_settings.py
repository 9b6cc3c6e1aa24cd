"""The settings of several streams like the project's own one, derived from its settings file and never copied by hand.

The first keeps its name; each further one has a name, topic, tables and checkpoint of its own. The result is JSON, which
is YAML too, with every variable filled in.
"""

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamops.settings.load import merged
from streamops.settings.yaml_file import parse_yaml
from streamops_sandbox.errors import SandboxError

DRIVER_MEMORY = "768m"
"""Three drivers beside a broker, and perhaps Airflow, on one machine."""


def fleet_names(template: str, size: int) -> tuple[str, ...]:
    """`orders`, `orders_2`, `orders_3` …"""
    return (template, *(f"{template}_{number}" for number in range(2, size + 1)))


def fleet_settings(text: str, environment: Mapping[str, str], *, project: Path, stream: str, size: int) -> str:
    """The text of a settings file with `size` streams like the one called `stream`.

    Raises SandboxError when the text declares no such stream. Paths of the project become absolute, since the new file
    lies elsewhere.
    """
    content: Any = parse_yaml(text, environment).content
    try:
        declared = merged(content.pop("defaults", None) or {}, content["streams"][stream])
        streams = {
            name: _variant(declared, suffix=name.removeprefix(stream), project=project)
            for name in fleet_names(stream, size)
        }
        derived = json.dumps({**content, "streams": streams}, ensure_ascii=False, indent=2)
    except (AttributeError, KeyError, TypeError) as error:
        raise SandboxError(f"no stream {stream} that others could be derived from: {error!r}") from error
    # What looks like a variable now was meant as plain text.
    return derived.replace("${", "$${") + "\n"


def _variant(declared: Mapping[str, Any], *, suffix: str, project: Path) -> dict[str, Any]:
    stream: dict[str, Any] = copy.deepcopy(dict(declared))
    stream["job"] = _absolute(stream["job"], project)
    launch = stream["launch"]
    launch["folder"] = _absolute(launch["folder"], project)
    launch["jars"] = [_absolute(jar, project) for jar in launch["jars"]]
    if "/" in launch["spark_submit"]:
        launch["spark_submit"] = _absolute(launch["spark_submit"], project)
    launch["conf"]["spark.driver.memory"] = DRIVER_MEMORY
    source, sink = stream["source"]["kafka"], stream["sink"]
    source["topics"] = [topic + suffix for topic in source["topics"]]
    for place, name in ((sink["delta"], "table"), (sink, "dead_letters"), (stream, "checkpoint")):
        place[name] = str(place[name]) + suffix
    return stream


def _absolute(path: str, project: Path) -> str:
    return os.path.normpath(project / path)
