"""The settings file: YAML in, StreamSpecs out. The only package that knows pydantic and yaml.

`yaml_file` reads text into plain values, `model` is their shape, `resolve` makes specs of them, `refusals` and
`conflicts` say what is not allowed, `problems` says it in plain words, `load` puts it together.
"""

from streamops.settings.load import Settings, default_settings_path, load_settings
from streamops.settings.problems import SettingsProblem

__all__ = ["Settings", "SettingsProblem", "default_settings_path", "load_settings"]
