"""J5 on trial: each sink has all that is for it, although batches were struck and the endpoint failed; a topic has some twice."""

from collections import Counter
from collections.abc import Iterable

import pytest

from streamops_sandbox.catalogue.case import Place
from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.rest_script import Behaviour
from support.job_account import TRIAL_MARKS
from support.sink_servers import an_endpoint

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


@pytest.fixture
def endpoint(tmp_path):
    with an_endpoint(tmp_path / "sandbox") as endpoint:
        yield endpoint


def test_each_sink_has_all_its_rows_and_only_the_topic_has_any_twice(trial, cluster, endpoint):
    case = case_of("events_fanout")
    run = trial(case.stream, "fanned_purchases", **endpoint.environment)
    endpoint.server.behave(
        Behaviour(next=3, status=500),
        Behaviour(next=1, status=429, retry_after=1),
        Behaviour(next=2, status="drop", accept=True),
    )

    account = run.prove(case, seed=5, count=1_500, kill_in=(1, 3))

    assert (account.kills, account.lost) == (2, 0)
    assert account.duplicated > 0, "the blows fell when the topic had got something, so that it was published again"
    came = case.came(Place(spec=run.spec, bootstrap=cluster.bootstrap))
    expected = case.expected(case.sent(seed=5, count=1_500))
    assert but_the_topic(came.rows) == but_the_topic(expected)


def but_the_topic(rows: Iterable[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    return Counter(row for row in rows if row[0] != "kafka")
