"""Windows of event time, aligned to the epoch as Spark's are."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def windows_of(moment: datetime, *, size: timedelta, slide: timedelta) -> Iterator[datetime]:
    """The starts of the windows that a moment lies in, the newest first; a window holds its start and not its end."""
    start = moment - (moment - _EPOCH) % slide
    while start + size > moment:
        yield start
        start -= slide
