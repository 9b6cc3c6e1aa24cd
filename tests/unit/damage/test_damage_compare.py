"""What counts as a miss when a foretold start is compared with a real one."""

import pytest

from damage.compare import ANOTHER_SCHEMA, Result, Truth, judged

FINE = Truth(ran=(6, 7))
RERAN = Truth(ran=(5, 6), reran=(5,))
FAILED = Truth(error="Incomplete log file offsets/5")
FAILED_AFTER_A_BATCH = Truth(ran=(5,), error="CONCURRENT_STREAM_LOG_UPDATE")
LOST = Truth(ran=(6, 7), lost=('[10, "a"]',))
REPEATED = Truth(ran=(6, 7), extra=('[10, "a"]',))
CHANGED = Truth(ran=(5, 6), reran=(5,), changed=(5,))
LOST_BEFORE = Truth(ran=(6, 7), lost_before=('[10, "a"]',))
TAKEN_BACK = "a batch taken back that only the sink has had"
UNSEEN = Truth(ran=(5, 6), changed=(5,), unknowable=TAKEN_BACK)
UNSEEN_RERUN = Truth(ran=(5, 6), reran=(5,), unknowable=TAKEN_BACK)
UNSEEN_AND_FAILED = Truth(error="Incomplete log file offsets/5", unknowable=TAKEN_BACK)
OTHER_SCHEMA = Truth(error="STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", unknowable=ANOTHER_SCHEMA)
UNREADABLE = Truth(ran=(6, 7), sink_error="FileNotFoundException")


DROPPED = "the sink has batch 5 of this query already, and drops every batch up to that without an error"
AS_BEFORE = Truth(ran=(3, 4, 5, 6), reran=(3, 4, 5), sees_batches=True)


def report(safety, *, verdict="ok", next_batch=None, error="", findings=(), ranges=(), summary="what it says"):
    restart = {"safety": safety, "next_batch": next_batch, "expected_error": error, "summary": summary}
    restart["ranges"] = list(ranges)
    return {"verdict": verdict, "restart": restart, "findings": list(findings)}


CRITICAL = {"rule": "sink-behind", "severity": "critical"}


@pytest.mark.parametrize(
    ("told", "truth", "result"),
    [
        pytest.param(report("safe", next_batch=6), FINE, Result.AGREE, id="safe, and it was"),
        pytest.param(report("safe", next_batch=5), FINE, Result.WRONG_DETAIL, id="another batch than foretold"),
        pytest.param(report("safe"), FAILED, Result.WRONG_SAFE, id="safe, and it fails"),
        pytest.param(report("safe", verdict="warning"), FAILED, Result.WRONG_SAFE, id="a warning excuses no failure"),
        pytest.param(report("safe"), LOST, Result.WRONG_SAFE, id="safe, and rows are lost"),
        pytest.param(report("safe"), UNREADABLE, Result.WRONG_SAFE, id="safe, and nobody can read the sink"),
        pytest.param(report("safe", verdict="warning"), REPEATED, Result.WARNED, id="a warning of what came twice"),
        pytest.param(report("safe"), RERAN, Result.WRONG_SAFE, id="safe, and a batch came again"),
        pytest.param(report("safe-if-idempotent", next_batch=5), RERAN, Result.AGREE, id="a batch again, as was said"),
        pytest.param(report("safe-if-idempotent"), CHANGED, Result.WRONG_SAFE, id="a batch again with other rows"),
        pytest.param(report("safe"), UNSEEN, Result.UNKNOWABLE, id="only the sink could have told"),
        pytest.param(report("safe"), UNSEEN_RERUN, Result.UNKNOWABLE, id="nor that a batch came again"),
        pytest.param(report("safe"), UNSEEN_AND_FAILED, Result.WRONG_SAFE, id="what Spark notices can be known"),
        pytest.param(report("safe"), OTHER_SCHEMA, Result.UNKNOWABLE, id="unless it takes the plan of the query"),
        pytest.param(report("safe"), LOST_BEFORE, Result.WRONG_DETAIL, id="rows that are gone and not told"),
        pytest.param(
            report("safe", verdict="critical", findings=[CRITICAL]), LOST_BEFORE, Result.AGREE, id="gone, and told"
        ),
        pytest.param(
            report("safe", verdict="critical", findings=[CRITICAL]), FINE, Result.WRONG_ALARM, id="critical for nothing"
        ),
        pytest.param(report("futile", error="Incomplete"), FAILED, Result.AGREE, id="futile, with its error"),
        pytest.param(report("futile", error="says"), FAILED, Result.AGREE, id="an error that is only described"),
        pytest.param(report("futile", error="MALFORMED"), FAILED, Result.WRONG_DETAIL, id="futile, with another error"),
        pytest.param(report("futile"), FINE, Result.WRONG_ALARM, id="futile, and it was well"),
        pytest.param(report("futile"), LOST, Result.WRONG_KIND, id="futile, and it lost"),
        pytest.param(
            report("futile"), FAILED_AFTER_A_BATCH, Result.WRONG_DETAIL, id="futile, and a batch was written first"
        ),
        pytest.param(report("unsafe"), LOST, Result.AGREE, id="unsafe, and rows are lost"),
        pytest.param(report("unsafe"), RERAN, Result.WRONG_ALARM, id="unsafe, and only the batch in flight came again"),
        pytest.param(
            report("unsafe", summary=DROPPED),
            AS_BEFORE,
            Result.UNDECIDED,
            id="dropped as foretold, and it was the same",
        ),
        pytest.param(
            report("unsafe", summary="'a' and 'b': they are read again"),
            Truth(ran=(6, 7), took_again=True),
            Result.UNDECIDED,
            id="read again as foretold, and the state dropped it",
        ),
        pytest.param(
            report("unsafe", summary="they are read again"), FINE, Result.WRONG_ALARM, id="nothing was read again"
        ),
        pytest.param(report("unsafe", summary=DROPPED), FINE, Result.WRONG_ALARM, id="nothing was dropped"),
        pytest.param(report("unsafe"), FAILED, Result.WRONG_KIND, id="silence foretold, and an error came"),
        pytest.param(
            report("unsafe", error="CONCURRENT"), FAILED_AFTER_A_BATCH, Result.AGREE, id="written and failed, as said"
        ),
        pytest.param(report("blocked"), FAILED, Result.UNDECIDED, id="left to a person"),
        pytest.param(report("none"), FAILED, Result.NO_ANSWER, id="no report at all"),
    ],
)
def test_each_pair_of_foretold_and_seen_has_one_result(told, truth, result):
    assert judged(told, truth).result is result


def test_a_sink_that_knows_batches_by_id_does_not_mind_one_that_comes_again():
    truth = Truth(ran=(5, 6), reran=(5,), sees_batches=True)

    assert judged(report("safe", next_batch=5), truth).result is Result.AGREE


@pytest.mark.parametrize(
    ("start", "end", "result"),
    [
        pytest.param('{ "n": 4 }', '{"n":5}', Result.AGREE, id="the same, written otherwise"),
        pytest.param('{"n":4}', '{"n":6}', Result.WRONG_DETAIL, id="another end"),
        pytest.param(None, '{"n":5}', Result.WRONG_DETAIL, id="another start"),
    ],
)
def test_the_range_of_a_batch_that_runs_again_is_compared(start, end, result):
    truth = Truth(ran=(5,), reran=(5,), ranges={"5": [{"start": {"n": 4}, "end": {"n": 5}}]})
    told = report("safe-if-idempotent", next_batch=5, ranges=[{"start": start, "end": end}])

    assert judged(told, truth).result is result


def test_the_range_of_a_batch_that_told_of_no_progress_is_not_compared():
    told = report("safe-if-idempotent", next_batch=5, ranges=[{"start": None, "end": None}])

    assert judged(told, RERAN).result is Result.AGREE
