"""One connection of Airflow."""

from typing import Any

from airflow.sdk import BaseHook

from streamops.errors import SettingsError


def connection_of(connection_id: str, *, place: str = "") -> Any:
    """SettingsError where it can't be had; `place` says who asks, in front of it."""
    try:
        return BaseHook.get_connection(connection_id)
    except Exception as error:  # secrets backends raise what they like
        raise SettingsError(f"{place}connection {connection_id} can't be had from Airflow: {error}") from error
