"""What the shapes of all settings are made of: texts, durations, figures, schedules, and the base of every mapping."""

import re
from datetime import timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from croniter import croniter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from streamops.durations import parse_duration


def _as_written(value: object) -> object:
    """`2`, `false` and text are all text where Spark or Kafka take text; yaml_file keeps them as they are written."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


Text = Annotated[str, BeforeValidator(_as_written, json_schema_input_type=str | int | bool)]
Name = Annotated[Text, Field(min_length=1)]
_WRITTEN_DURATION = Annotated[str, Field(pattern=r"^\d{1,9}(ms|s|m|h|d)$|\$\{")]
Duration = Annotated[timedelta, BeforeValidator(parse_duration, json_schema_input_type=_WRITTEN_DURATION)]
PositiveDuration = Annotated[Duration, Field(gt=timedelta(0))]
Count = Annotated[int, Field(ge=0)]
Topic = Annotated[Text, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
Servers = Annotated[Text, Field(pattern=r"^[^\s,@]+:\d{1,5}(\s*,\s*[^\s,@]+:\d{1,5})*$")]


class SettingsSection(BaseModel):
    """A mapping of settings: no other names than the declared ones, and no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


NAMESPACE_EXPECTED = (
    "nothing, or lower-case letters, digits and single underscores, a letter first, 40 characters at most, and neither"
    " stream nor catchup"
)

_NAMESPACE = re.compile(r"(?!(stream|catchup)$)(?=.{1,40}$)[a-z][a-z0-9]*(_[a-z0-9]+)*")


def checked_namespace(text: str) -> str:
    """The namespace itself; ValueError for what could not be told from another part of a DAG's id."""
    if text and not _NAMESPACE.fullmatch(text):
        raise ValueError(NAMESPACE_EXPECTED)
    return text


SCHEDULE_EXPECTED = "a cron of five fields such as '*/15 * * * *', or a name such as '@hourly'"
EXPECTED_ZONE = "the name of a time zone such as Europe/Berlin"

_FIELDS = 5


def checked_cron(text: str) -> str:
    """The cron itself; ValueError for what is none. Read by croniter, the library that Airflow (3.3) reads it with."""
    has_form = text.startswith("@") or len(text.split()) == _FIELDS
    if not has_form or not croniter.is_valid(text):
        raise ValueError(SCHEDULE_EXPECTED)
    return text


def checked_time_zone(text: str) -> str:
    """The name itself; ValueError for one that this machine does not know."""
    try:
        ZoneInfo(text)
    except (KeyError, OSError, ValueError) as error:  # An unknown zone is a KeyError.
        raise ValueError(EXPECTED_ZONE) from error
    return text
