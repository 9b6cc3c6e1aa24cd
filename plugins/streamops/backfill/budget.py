"""How long a backfill may take before it waits for somebody to go on with it."""

from datetime import timedelta

BUDGET = timedelta(days=7)
"""Then it is stopped between two steps: one that nobody remembers must not run for ever."""
