"""When a scheduled stream runs, as people write it."""

from zoneinfo import ZoneInfo

from croniter import croniter

EXPECTED = "a cron of five fields such as '*/15 * * * *', or a name such as '@hourly'"
EXPECTED_ZONE = "the name of a time zone such as Europe/Berlin"

_FIELDS = 5


def checked_cron(text: str) -> str:
    """The cron itself; ValueError for what is none. Read by croniter, the library that Airflow (3.3) reads it with."""
    has_form = text.startswith("@") or len(text.split()) == _FIELDS
    if not has_form or not croniter.is_valid(text):
        raise ValueError(EXPECTED)
    return text


def checked_time_zone(text: str) -> str:
    """The name itself; ValueError for one that this machine does not know."""
    try:
        ZoneInfo(text)
    except (KeyError, OSError, ValueError) as error:  # An unknown zone is a KeyError.
        raise ValueError(EXPECTED_ZONE) from error
    return text
