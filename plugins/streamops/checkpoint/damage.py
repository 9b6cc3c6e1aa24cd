"""In what way a file of a checkpoint is broken: each way brings another error at the start, and asks for another repair."""

from enum import StrEnum

from streamops.checkpoint.layout import lines_of
from streamops.errors import CheckpointError


class Damage(StrEnum):
    """What is wrong with a file that Spark would read."""

    EMPTY = "empty"
    VERSION = "version"
    """Written by a Spark that is newer than any we know."""
    MALFORMED_VERSION = "malformed-version"
    """The first line is no version at all."""
    NO_HEADER = "no-header"
    NO_SOURCE = "no-source"
    HEADER = "header"
    BLANK_HEADER = "blank-header"
    """As continuous mode writes it, or an edited entry."""
    SOURCE = "source"
    """A source's offset is cut or no JSON."""
    SOURCE_ID = "source-id"
    """A line of v2 does not begin with the id of a source."""
    NO_COLON = "no-colon"
    """A line of v2 holds no colon, so no id can be told from its text."""
    BODY = "body"
    NO_QUERY_ID = "no-query-id"
    """There is JSON, and no text under `id`."""
    NULL_QUERY_ID = "null-query-id"
    """The file or its id is null, on which Java fails in words of its own."""
    QUERY_ID = "query-id"
    """The id is none."""
    NOT_UNDER_ITS_NAME = "not-under-its-name"
    """`00004` is listed as batch 4, and Spark then reads `4`."""
    TOO_LARGE = "too-large"
    NO_TEXT = "no-text"
    """Bytes that are no UTF-8."""
    NO_FILE = "no-file"
    """A folder, a FIFO or a loop of links lies there."""


class DamagedFileError(CheckpointError):
    """A file that Spark would read and could not; the message names file and line."""

    def __init__(self, damage: Damage, message: str) -> None:
        super().__init__(message)
        self.damage = damage


def text_lines(content: bytes, *, address: str) -> list[str]:
    """The lines of an entry of a log; DamagedFileError where it is no text."""
    try:
        return lines_of(content)
    except ValueError as error:
        raise DamagedFileError(Damage.NO_TEXT, f"{address}: {error}") from error


def version_error(version: str, message: str) -> DamagedFileError:
    """For a first line that is none of the versions we know: `v99` is too new, `vX` is damage."""
    is_version = version.startswith("v") and version[1:].isascii() and version[1:].isdigit()
    return DamagedFileError(Damage.VERSION if is_version else Damage.MALFORMED_VERSION, message)
