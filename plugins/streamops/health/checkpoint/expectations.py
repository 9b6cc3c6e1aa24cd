"""What a judgement takes for granted about the query behind a checkpoint."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What the checkpoint itself does not tell."""

    offset_formats: tuple[str, ...]
    """Versions of the offset log that the Spark of the next start reads."""
    commit_formats: tuple[str, ...]
    is_sink_idempotent: bool | None = None
    """Whether the sink recognises a batch that it has had already; None where nobody has said."""
    tracks_progress_async: bool | None = None
    """Whether the query runs with async progress tracking, which leaves holes in both logs; None for unsaid."""
