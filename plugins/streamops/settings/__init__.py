"""The settings file: YAML in, StreamSpecs out. The only package that knows pydantic and yaml.

`yaml_file` reads text into plain values, `model` is their shape, `resolve` makes specs of them, `refusals` and
`conflicts` say what is not allowed, `problems` says it in plain words, `load` puts it together. `in_force` adds what
`last_good` has kept of what is broken now, and `follow` reads a file again when it changes.
"""

from streamops.settings.in_force import settings_in_force
from streamops.settings.load import default_settings_path, load_settings
from streamops.settings.loaded import KeptStream, Settings
from streamops.settings.problems import SettingsProblem

__all__ = [
    "KeptStream",
    "Settings",
    "SettingsProblem",
    "default_settings_path",
    "load_settings",
    "settings_in_force",
]
