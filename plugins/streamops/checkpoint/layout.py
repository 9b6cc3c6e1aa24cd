"""Names in a checkpoint and the batch ids behind them."""

import re

METADATA = "metadata"
OFFSETS = "offsets"
COMMITS = "commits"

_JAVA_LONG = re.compile(r"^[+-]?\d{1,40}$", re.ASCII)
_MIN_LONG = -(2**63)
_NO_LONG = 2**63


def batch_id(name: str) -> int | None:
    """The batch that a file name stands for: `7` → 7, `00007` → 7, `7.tmp` and `.7.crc` → None.

    Spark takes whatever Java's Long.parse accepts (HDFSMetadataLog, 3.5 to 4.3), odd spellings included.
    """
    number = int(name) if _JAVA_LONG.match(name) else _NO_LONG
    return number if _MIN_LONG <= number < -_MIN_LONG else None
