"""How long a backfill takes, as far as anybody can tell."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.backfill.effects import BackfillEstimate, estimate_backfill
from streamops.progress import ProgressEvent, ProgressHistory, SourceProgress

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def history(*batches: tuple[int, float], backlog: int = 0) -> ProgressHistory:
    """Batches by records and seconds, each leaving so many records behind."""
    source = SourceProgress(description="Kafka", metrics=(("maxOffsetsBehindLatest", str(backlog)),))
    return ProgressHistory(
        events=tuple(
            ProgressEvent(
                query_id="q",
                run_id="r",
                name="orders",
                batch=number,
                started_at=NOW,
                input_rows=rows,
                durations=(("addBatch", timedelta(seconds=seconds)), ("triggerExecution", timedelta(seconds=seconds))),
                sources=(source,),
            )
            for number, (rows, seconds) in enumerate(batches)
        )
    )


def test_under_load_the_records_their_steps_and_the_start_make_it():
    found = estimate_backfill(60_000, 6, history((10_000, 10), (10_000, 10), backlog=5))

    # 60 s for the records, 2 s for each step, 40 s until the first.
    assert found == BackfillEstimate(seconds=112.0, reason="by 1000 records a second of its last batches")


def test_what_was_never_loaded_makes_a_ceiling():
    found = estimate_backfill(1_000, 1, history((10, 2), (200, 4)))

    assert found == BackfillEstimate(
        seconds=62.0, is_ceiling=True, reason="it was seen to read 50 records a second at least"
    )


@pytest.mark.parametrize("batches", [[], [(0, 3)]], ids=["no batch", "no record"])
def test_without_a_batch_that_read_something_nothing_is_known(batches):
    found = estimate_backfill(1_000, 1, history(*batches))

    assert found == BackfillEstimate(
        seconds=None, reason="how fast the job reads is not known: no batch of it was seen"
    )
