"""One entry of the commit log: the sink accepted a batch. Spark class: CommitLog, v1 to v3, 3.5 to 4.3."""

import json

from streamops.errors import CheckpointError

SUPPORTED_VERSIONS = ("v1", "v2", "v3")


def check_commit(content: bytes, *, address: str) -> None:
    """Raise CheckpointError, naming file and line, where Spark could not read the entry.

    A missing second line and `{}` are accepted, as Spark accepts them; an empty file is not.
    """
    if not content.strip():
        raise CheckpointError(f"{address} is empty")
    version, _, body = content.decode(errors="replace").partition("\n")
    if version not in SUPPORTED_VERSIONS:
        raise CheckpointError(
            f"{address} line 1: version {version[:20]!r}, supported: {', '.join(SUPPORTED_VERSIONS)} — upgrade streamops"
        )
    try:
        json.loads(body or "{}")
    except ValueError as error:
        raise CheckpointError(f"{address} line 2: not JSON: {error}") from error
