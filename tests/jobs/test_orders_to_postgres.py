"""J4 on trial: PostgreSQL holds each order once, although the driver was struck while it filled a staging table."""

import pytest

from streamops.spark.sinks.postgres import BATCHES, STAGING
from streamops_sandbox.inputs import USUAL, category_orders
from streamops_sandbox.inputs.shape import good_rows
from support.job_account import TRIAL_MARKS
from support.sink_servers import a_database

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


@pytest.fixture
def database(tmp_path):
    with a_database(tmp_path / "sandbox") as database:
        yield database


def test_each_order_is_there_once(trial, database):
    sent = category_orders.records(seed=4, count=2_000, shares=USUAL)
    run = trial("orders_to_postgres", **database.environment)

    with database.connect() as connection:

        def staging_tables() -> int:
            found = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE %s", (STAGING + "%",))
            return found.fetchone()[0]

        run.play(sent, kill_in=(1, 3), written=staging_tables)
        left = staging_tables()
    run.stop()

    orders = {row.fields["order_id"]: row.fields for row in good_rows(sent, category_orders.SHAPE)}
    account = run.account(
        found=database.ask("SELECT order_id, category, amount, event_time FROM orders"),
        expected=[tuple(order.values()) for order in orders.values()],
        dead_letters=category_orders.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
    assert left == 0
    assert database.ask(f"SELECT target FROM {BATCHES}") == [("orders",)]
