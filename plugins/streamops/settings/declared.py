"""What the shapes of all settings are made of: texts, durations and figures, and the base of every mapping."""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from streamops.durations import parse_duration


def _as_written(value: object) -> object:
    """`2`, `false` and text are all text where Spark or Kafka take text; yaml_file keeps them as they are written."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


Text = Annotated[str, BeforeValidator(_as_written)]
Name = Annotated[Text, Field(min_length=1)]
Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
PositiveDuration = Annotated[Duration, Field(gt=timedelta(0))]
Count = Annotated[int, Field(ge=0)]
Topic = Annotated[Text, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
Servers = Annotated[Text, Field(pattern=r"^[^\s,@]+:\d{1,5}(\s*,\s*[^\s,@]+:\d{1,5})*$")]


class SettingsSection(BaseModel):
    """A mapping of settings: no other names than the declared ones, and no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
