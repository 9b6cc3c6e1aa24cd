"""A command line run on hostile files, and what it may show."""

import io
import os
from contextlib import redirect_stderr, redirect_stdout

from streamops.cli.main import main


def odd_characters(text):
    """What has no place in a report: nothing but printable characters and line ends may come."""
    return {character for character in text if not character.isprintable() and character != "\n"}


def write_tree(folder, files):
    """Files below a folder; one in whose place there is something else already is left out."""
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder), name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        except (IsADirectoryError, NotADirectoryError, FileExistsError):
            continue


def run(*argv, wiring=None):
    """Exit code, stdout and stderr of a command line, through streams that encode as a terminal's do."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(argv), wiring=wiring)
    return (code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
