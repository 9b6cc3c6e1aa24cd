"""The streams of the catalogue, declared for a test: its broker, its folders, its trigger."""

import os
from collections.abc import Mapping
from pathlib import Path

from streamops.settings import load_settings
from streamops.spec import StreamSpec

PROJECT = Path(__file__).parents[2]
CATALOGUE = PROJECT / "config" / "catalogue.yaml"
PARTITIONS = 2
"""Of each topic of a trial."""

_COMMON_TRIGGER = """\
  trigger:
    processing_time: ${STREAMOPS_TRIGGER:-2s}
"""


def catalogue_environment(root: Path, bootstrap: str, further: Mapping[str, str]) -> dict[str, str]:
    """The variables that the catalogue asks for, with all that the streams write below `root`."""
    return {
        **os.environ,
        "KAFKA_BOOTSTRAP": bootstrap,
        "STREAMOPS_CONFIG": str(CATALOGUE),
        "STREAMOPS_DATA": str(root / "data"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **further,
    }


def declared_stream(stream: str, environment: Mapping[str, str], path: Path = CATALOGUE) -> StreamSpec:
    """One stream of the catalogue; SettingsError with what is wrong with it."""
    return load_settings(path, environment).stream(stream)


def catalogue_with_trigger(trigger: str, project: Path) -> Path:
    """A copy of the catalogue whose common trigger is another one, in a project of its own that has the same jobs."""
    text = CATALOGUE.read_text()
    assert text.count(_COMMON_TRIGGER) == 1, "the catalogue has its common trigger elsewhere"
    copy = project / "config" / CATALOGUE.name
    copy.parent.mkdir(parents=True)
    copy.write_text(text.replace(_COMMON_TRIGGER, f"  trigger: {trigger}\n"))
    for name in ("jobs", ".jars", ".venv"):
        (project / name).symlink_to(PROJECT / name)
    return copy
