"""Secrets of a sink: in a file that nobody else may read, on the host of the driver."""

import os
import stat

from streamops.errors import SettingsError


def read_secret(path: str, setting: str) -> str:
    """The first line of the file.

    SettingsError, with the setting that names it, where it can't be read, others may read it, or the line is empty.
    """
    try:
        with open(path, encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise SettingsError(f"{setting}: {path} has mode {mode:04o}, and others may read it: chmod 600 {path}")
            secret = file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{setting}: {path} can't be read: {error}") from error
    if not secret:
        raise SettingsError(f"{setting}: {path} holds nothing in its first line")
    return secret
