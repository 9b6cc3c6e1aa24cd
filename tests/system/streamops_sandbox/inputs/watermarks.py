"""The watermark that a job with the delay WATERMARK has when a wave comes, by plain computation."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from streamops_sandbox.inputs.shape import Row
from streamops_sandbox.inputs.timetable import WATERMARK

NEVER = datetime.min.replace(tzinfo=UTC)
"""The watermark before anything was read."""


def watermark(*inputs: Sequence[Row], before: int | None = None) -> datetime:
    """The watermark when the waves before this one were processed, all of them where none is named.

    Of several inputs the one that is furthest behind decides, as in Spark (`spark.sql.streaming.multipleWatermarkPolicy`).
    """
    newest = (
        max((row.at - WATERMARK for row in rows if before is None or row.wave < before), default=NEVER)
        for rows in inputs
    )
    return min(newest)


def on_time(rows: Sequence[Row], *others: Sequence[Row]) -> list[Row]:
    """The rows that are not behind the watermark when their wave comes; `others` are the inputs that they are joined with."""
    behind = {wave: watermark(rows, *others, before=wave) for wave in _waves(rows)}
    return [row for row in rows if row.at > behind[row.wave]]


def _waves(rows: Iterable[Row]) -> set[int]:
    return {row.wave for row in rows}
