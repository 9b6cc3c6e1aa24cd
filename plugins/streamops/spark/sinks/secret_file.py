"""Secrets of a sink: in a file that nobody else may read, on the host of the driver."""

import os
import stat

from streamops.errors import SettingsError


def read_secret(path: str, setting: str) -> str:
    """The first line of the file. SettingsError, with the setting that names it, where it can't be read or others may read it."""
    try:
        with open(path, encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise SettingsError(f"{setting}: {path} has mode {mode:04o}, and others may read it: chmod 600 {path}")
            return file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{setting}: {path} can't be read: {error}") from error
