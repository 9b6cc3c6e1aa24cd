"""J6 on trial: each alert comes, under its own id, although batches were struck; a rule that is added holds without a restart."""

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from streamops_sandbox.catalogue.case import Place
from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.inputs import USUAL, transactions, waves
from streamops_sandbox.inputs.shape import good_rows
from support.job_account import TRIAL_MARKS
from support.sink_servers import an_endpoint

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

TOPIC = "fraud_alerts"


@pytest.fixture
def endpoint(tmp_path):
    with an_endpoint(tmp_path / "sandbox") as endpoint:
        yield endpoint


def test_each_alert_comes_once_under_its_id(trial, cluster, endpoint):
    case = case_of("fraud_alerts")
    run = trial(case.stream, TOPIC, **endpoint.environment)
    place, sent = Place(spec=run.spec, bootstrap=cluster.bootstrap), case.sent(seed=6, count=1_500)
    case.prepare(place, sent)

    account = run.prove(case, seed=6, count=1_500, kill_in=(1, 3))

    assert (account.kills, account.lost) == (2, 0)
    assert account.duplicated > 0, "the blows fell when the topic had got something, so that it was published again"
    came = case.came(place).rows
    assert but_the_topic(came) == but_the_topic(case.expected(sent))
    assert set(came) == set(case.expected(sent)), "what the topic has twice is right both times"


def but_the_topic(rows: Iterable[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    return Counter(row for row in rows if row[0] != "kafka")


def test_a_rule_that_is_added_holds_from_the_next_batch_on(trial, cluster, endpoint):
    case = case_of("fraud_alerts")
    run = trial(case.stream, TOPIC, **endpoint.environment)
    place, sent = Place(spec=run.spec, bootstrap=cluster.bootstrap), case.sent(seed=6, count=300)
    case.prepare(place, sent)
    before, *after = waves(transactions.records(seed=6, count=300, shares=USUAL))

    run.send(before)
    run.settle()
    add_rule(place, rule_id="from-austria", kind="blocked_country", country="AT")
    for wave in after:
        run.send(wave)
        run.settle()
    run.stop()

    alerts = {key for key in endpoint.accepted("/alerts") if key.startswith("from-austria:")}
    assert alerts == {
        f"from-austria:{row.fields['transaction_id']}"
        for wave in after
        for row in good_rows(wave, transactions.SHAPE)
        if row.fields["country"] == "AT"
    }
    assert alerts


def add_rule(place: Place, **rule: str) -> None:
    table = place.parameter("rules").removeprefix("file://")
    schema = pa.schema(DeltaTable(table).to_pyarrow_table().schema)
    row = {name: rule.get(name) for name in schema.names}
    write_deltalake(table, pa.Table.from_pylist([row], schema), mode="append")
