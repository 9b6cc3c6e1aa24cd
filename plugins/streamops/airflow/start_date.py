"""The start date of every DAG."""

from datetime import UTC, datetime

# Moving it would change every DAG's schedule; that it lies in the past is all that counts.
START = datetime(2026, 1, 1, tzinfo=UTC)
