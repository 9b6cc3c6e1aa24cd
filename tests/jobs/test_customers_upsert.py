"""J3 on trial: the table holds the last record of each key, deletions among them, although a batch was struck twice."""

from streamops_sandbox.inputs import USUAL, customers
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS]


def test_the_table_is_the_last_record_of_each_key(trial):
    sent = customers.records(seed=3, count=2_000, shares=USUAL)
    run = trial("customers_upsert")

    run.play(sent, kill_in=(1, 3))
    run.stop()

    columns = ("is_deleted", "customer_id", "name", "email", "country", "updated_at")
    rows = run.rows(*columns)
    account = run.account(
        found=[row[1:] for row in rows if not row[0]],
        expected=[
            (customer.customer_id, customer.name, customer.email, customer.country, customer.updated_at)
            for customer in customers.expected_customers(sent)
        ],
        dead_letters=customers.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
    assert any(row[0] for row in rows), "no customer was deleted, so nothing was shown of deletions"
