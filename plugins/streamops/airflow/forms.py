"""What the forms of several DAGs ask."""

from typing import Any

from airflow.sdk import Param

from streamops.control.texts import REASON_LIMIT
from streamops.settings import Settings


def stream_param(settings: Settings) -> Param:
    """One of the declared streams. A JSON schema knows no empty enum: without streams any name is taken, and refused later."""
    streams = [spec.name for spec in settings.streams]
    choice: dict[str, Any] = {"enum": streams} if streams else {"minLength": 1}
    return Param(type="string", title="Stream", **choice)


MARK_ROOM = 500
"""Characters that a task adds to a reason: `[dag run]`, by which a further try knows that it has asked already. Ids of runs have
250 at most."""


def reason_param() -> Param:
    """Why."""
    most = REASON_LIMIT - MARK_ROOM
    return Param(
        type="string",
        title="Reason",
        minLength=1,
        maxLength=most,
        description=f"Why, for the record: others will read it. At most {most} characters.",
    )
