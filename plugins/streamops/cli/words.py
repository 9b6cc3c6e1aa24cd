"""How durations and moments are said at a glance; the words of reports that no terminal shows."""

from streamops.supervisor.words import brief, left, moment

__all__ = ["brief", "left", "moment"]
