"""Records that a job could not parse: what lies in the table of dead letters, and how they are sent again, once."""

from streamops.dead_letters.letter import DeadLetter, RecordPosition

__all__ = ["DeadLetter", "RecordPosition"]
