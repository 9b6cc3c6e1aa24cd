"""The pieces for `foreachBatch` that write to a server: a real PostgreSQL, and an HTTP endpoint that fails as it is told."""

import http.server
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from streamops.control.assignment import JdbcOutput, RestOutput
from streamops.errors import SettingsError
from streamops.spark.sinks.postgres import BATCHES, STAGING, created_like, noted, upsert_once, upsert_statement
from streamops.spark.sinks.rest import EndpointError, Patience, Poster, post_rows
from streamops_sandbox.rest_script import Behaviour
from support.replayed import ReplayedQuery
from support.sink_servers import Database, Endpoint, a_database, an_endpoint

pytestmark = pytest.mark.spark

VERSIONED = "key STRING, value INT, version INT"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with a_database(tmp_path_factory.mktemp("postgres") / "sandbox") as database:
        yield database


@pytest.fixture
def db(database: Database) -> Database:
    """The same server for every test, empty."""
    database.ask("DROP SCHEMA public CASCADE")
    database.ask("CREATE SCHEMA public")
    return database


@pytest.fixture
def query(spark, tmp_path: Path) -> ReplayedQuery:
    return ReplayedQuery(spark, tmp_path, VERSIONED)


def a_row(key: str | None, value: int, version: int) -> dict[str, object]:
    return {"key": key, "value": value, "version": version}


def upserting(to: JdbcOutput, answers: list[bool] | None = None, *, newest_by: tuple[str, ...] = ("version",)):
    """What a job does with each batch; `answers` gets what it was told."""

    def write(batch, number) -> None:
        is_new = upsert_once(batch, to, number, keys=["key"], newest_by=newest_by)
        if answers is not None:
            answers.append(is_new)

    return write


def staging_tables(db: Database) -> list[str]:
    found = db.ask("SELECT tablename FROM pg_tables WHERE tablename LIKE %s", STAGING + "%")
    return [name for (name,) in found]


def test_the_newest_row_of_each_key_is_there_once_with_its_batch_noted(db: Database, query: ReplayedQuery) -> None:
    query.feed(a_row("a", 1, 1), a_row("b", 1, 1), a_row("b", 3, 3), a_row("b", 2, 2))
    query.feed(a_row("a", 2, 2), a_row("c", 1, 1))
    query.run(upserting(db.output("orders")))

    assert db.ask("SELECT key, value, version FROM orders ORDER BY key") == [("a", 2, 2), ("b", 3, 3), ("c", 1, 1)]
    assert db.ask(f"SELECT target, batch FROM {BATCHES}") == [("orders", 1)]
    assert staging_tables(db) == []


def test_a_batch_that_runs_again_is_known_and_changes_nothing(db: Database, query: ReplayedQuery) -> None:
    answers: list[bool] = []
    query.feed(a_row("a", 1, 1))
    query.run(upserting(db.output("orders"), answers))
    db.ask("UPDATE orders SET value = 99, version = 0")  # what a batch that is written again would write over
    query.forget_last_commit()
    query.run(upserting(db.output("orders"), answers))

    assert answers == [True, False]
    assert db.ask("SELECT key, value, version FROM orders") == [("a", 99, 0)]


def test_an_older_row_changes_nothing(db: Database, query: ReplayedQuery) -> None:
    query.feed(a_row("a", 5, 5))
    query.feed(a_row("a", 1, 1), a_row("b", 1, 1))
    query.run(upserting(db.output("orders")))

    assert db.ask("SELECT key, value, version FROM orders ORDER BY key") == [("a", 5, 5), ("b", 1, 1)]


def test_without_an_order_the_later_batch_wins(db: Database, query: ReplayedQuery) -> None:
    query.feed(a_row("a", 5, 5))
    query.feed(a_row("a", 1, 1))
    query.run(upserting(db.output("orders"), newest_by=()))

    assert db.ask("SELECT key, value, version FROM orders") == [("a", 1, 1)]


def test_two_queries_write_one_table_each_with_batches_of_its_own(db: Database, spark, tmp_path: Path) -> None:
    """As a stream and the backfill of its past."""
    answers: list[bool] = []
    for name in ("stream", "backfill"):
        (tmp_path / name).mkdir()
        query = ReplayedQuery(spark, tmp_path / name, VERSIONED)
        query.feed(a_row(name, 1, 1))
        query.run(upserting(db.output("orders"), answers))

    assert answers == [True, True]
    assert db.ask("SELECT key FROM orders ORDER BY key") == [("backfill",), ("stream",)]


def test_a_staging_table_that_a_dead_run_left_half_filled_is_not_taken_over(db: Database, query: ReplayedQuery) -> None:
    left: list[str] = []

    def die_before_the_takeover(batch, number) -> None:
        with db.connect() as connection:
            # The writer's own statement fails, after the executors have filled the staging table.
            connection.execute("CREATE TABLE orders (other INT PRIMARY KEY)")
        with pytest.raises(Exception, match='column "key" of relation "orders" does not exist'):
            upserting(db.output("orders"))(batch, number)
        left.extend(staging_tables(db))
        db.ask("DROP TABLE orders")
        raise RuntimeError("the driver dies here")

    query.feed(a_row("a", 1, 1))
    with pytest.raises(Exception, match="the driver dies here"):
        query.run(die_before_the_takeover)
    query.run(upserting(db.output("orders")))

    assert len(left) == 1
    assert staging_tables(db) == []
    assert db.ask("SELECT key, value FROM orders") == [("a", 1)]


def test_a_batch_that_fails_half_way_leaves_no_row_and_no_note(db: Database, query: ReplayedQuery) -> None:
    db.ask("CREATE TABLE orders (key TEXT PRIMARY KEY, value INT CHECK (value < 10), version INT)")
    query.feed(a_row("a", 1, 1), a_row("b", 11, 1))
    with pytest.raises(Exception, match="violates check constraint"):
        query.run(upserting(db.output("orders")))

    assert db.ask("SELECT * FROM orders") == []
    assert db.ask(f"SELECT * FROM {BATCHES}") == []

    db.ask("ALTER TABLE orders DROP CONSTRAINT orders_value_check")
    query.run(upserting(db.output("orders")))
    assert db.ask("SELECT key FROM orders ORDER BY key") == [("a",), ("b",)]


def test_a_table_of_another_schema_has_its_notes_beside_it(db: Database, query: ReplayedQuery) -> None:
    db.ask("CREATE SCHEMA IF NOT EXISTS shop")
    query.feed(a_row("a", 1, 1))
    query.run(upserting(db.output("shop.orders")))

    assert db.ask("SELECT key FROM shop.orders") == [("a",)]
    assert db.ask("SELECT target, batch FROM shop.streamops_batches") == [("shop.orders", 0)]
    assert staging_tables(db) == []
    db.ask("DROP SCHEMA shop CASCADE")


def test_times_and_amounts_arrive_as_they_are(db: Database, spark, tmp_path: Path) -> None:
    query = ReplayedQuery(spark, tmp_path, "key STRING, amount DECIMAL(12,2), at TIMESTAMP, note STRING")
    query.feed({"key": "ä", "amount": "909.90", "at": "2026-03-29T01:30:00.123Z", "note": None})
    query.run(upserting(db.output("orders"), newest_by=()))

    found = db.ask("SELECT key, amount::text, at AT TIME ZONE 'UTC', note FROM orders")
    assert [(key, amount, str(at), note) for key, amount, at, note in found] == [
        ("ä", "909.90", "2026-03-29 01:30:00.123000", None)
    ]


def test_a_table_may_be_called_by_a_reserved_word_and_is_found_as_sql_finds_it(
    db: Database, query: ReplayedQuery
) -> None:
    tables = ["user", "select", "Orders", "shop.order", "_" + "t" * 62]
    db.ask("CREATE SCHEMA IF NOT EXISTS shop")
    query.feed(a_row("a", 1, 1))
    query.feed(a_row("a", 2, 2))

    def write(batch, number) -> None:
        for table in tables:
            upserting(db.output(table))(batch, number)

    query.run(write)

    found = db.ask("SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'shop')")
    db.ask("DROP SCHEMA shop CASCADE")
    written = {
        ("public", "user"),
        ("public", "select"),
        ("public", "orders"),
        ("shop", "order"),
        ("public", tables[-1]),
    }
    assert {*found} == {*written, ("public", BATCHES), ("shop", BATCHES)}


def test_a_hostile_name_of_a_table_is_a_name_and_nothing_else(db: Database, query: ReplayedQuery) -> None:
    """Settings take no such name; a job may make one up."""
    drop = "DROP TABLE victim; --"
    tables = [f'orders"; {drop}', f"orders; {drop}", f"orders (x int); {drop}", f"o'; {drop}", "größe"]
    db.ask("CREATE TABLE victim (x int)")
    query.feed(a_row("a", 1, 1))

    def write(batch, number) -> None:
        for table in tables:
            upserting(db.output(table))(batch, number)

    query.run(write)

    found = {name for (name,) in db.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert found == {BATCHES, "victim", *(table.replace("DROP TABLE", "drop table") for table in tables)}


HOSTILE = {
    "quotation mark": 'x" int); DROP TABLE victim; --',
    "two of them": 'x""y',
    "semicolon": "a; DROP TABLE victim",
    "apostrophe": "it's",
    "reserved word": "select",
    "no ASCII": "größe",
    "dot": "a.b",
    "space": "a b",
    "percent": "a %s ? {x}",
    "case": "camelCase",
    "long": "l" * 80,
    "long and no ASCII": "ü" * 40,
}


def test_a_hostile_name_of_a_column_is_a_name_and_nothing_else(db: Database, query: ReplayedQuery) -> None:
    """A pivot makes columns of what records hold."""
    db.ask("CREATE TABLE victim (x int)")
    query.feed(a_row("a", 1, 1))
    query.feed(a_row("a", 2, 2))

    def write(batch, number) -> None:
        for name in HOSTILE.values():
            batch = batch.withColumn(name, batch["key"])
        upsert_once(batch, db.output("by_key"), number, keys=["key"], newest_by=["version"])
        upsert_once(batch, db.output("by_all"), number, keys=["key", *HOSTILE.values()], newest_by=["version"])

    query.run(write)

    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
    cut = {name.encode()[:63].decode(errors="ignore") for name in HOSTILE.values()}
    for table in ("by_key", "by_all"):
        assert {name for (name,) in db.ask(columns, table)} == {"key", "value", "version", *cut}
    assert db.ask("SELECT key, value FROM by_key") == db.ask("SELECT key, value FROM by_all") == [("a", 2)]
    assert db.ask("SELECT count(*) FROM victim") == [(0,)]
    assert staging_tables(db) == []


def test_columns_that_postgresql_would_cut_to_one_name_are_refused(db: Database, query: ReplayedQuery) -> None:
    query.feed(a_row("a", 1, 1))

    def write(batch, number) -> None:
        twins = batch.withColumn("l" * 63 + "1", batch["value"]).withColumn("l" * 63 + "2", batch["value"])
        upsert_once(twins, db.output("orders"), number, keys=["key"])

    with pytest.raises(
        Exception, match=r"columns l{63}1 and l{63}2 are one to PostgreSQL, which cuts names at 63 bytes"
    ):
        query.run(write)


def test_a_table_without_its_key_is_refused_by_the_database(db: Database, query: ReplayedQuery) -> None:
    db.ask("CREATE TABLE orders (key TEXT, value INT, version INT)")
    query.feed(a_row("a", 1, 1))

    with pytest.raises(Exception, match="no unique or exclusion constraint matching the ON CONFLICT"):
        query.run(upserting(db.output("orders")))


def test_a_wrong_password_is_said_and_not_shown(db: Database, query: ReplayedQuery, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("not-the-password\n")
    wrong.chmod(0o600)
    query.feed(a_row("a", 1, 1))

    with pytest.raises(Exception, match="password authentication failed") as caught:
        query.run(upserting(db.output("orders", password_file=wrong)))

    assert "not-the-password" not in str(caught.value)


def test_a_password_that_others_may_read_is_not_used(db: Database, query: ReplayedQuery, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.write_text(db.password_file.read_text())
    open_to_all.chmod(0o644)
    query.feed(a_row("a", 1, 1))

    with pytest.raises(Exception, match=r"sink\.jdbc\.password_file: .*/open has mode 0644.*chmod 600"):
        query.run(upserting(db.output("orders", password_file=open_to_all)))


def test_another_database_than_postgresql_is_refused_with_its_address(spark) -> None:
    with pytest.raises(SettingsError, match=r"sink\.jdbc\.url: jdbc:mysql://host/shop is not PostgreSQL's"):
        upsert_once(spark.range(1), JdbcOutput(url="jdbc:mysql://host/shop", table="orders"), 0, keys=["id"])


def test_of_two_writers_of_one_batch_the_second_waits_and_finds_it_known(db: Database, query: ReplayedQuery) -> None:
    """As of a driver that was taken for dead: the first has not committed yet when the second begins its takeover."""
    query.feed(a_row("a", 1, 1))
    query.run(upserting(db.output("orders")))
    (query_id,) = db.ask(f"SELECT query FROM {BATCHES}")[0]
    columns = ["key", "value", "version"]
    db.ask("CREATE TABLE staging AS SELECT 'a' AS key, 7 AS value, 7 AS version")
    counts: list[int] = []

    def second() -> None:
        with db.connect() as connection:
            counts.append(connection.execute(_by_place(noted(BATCHES)), (query_id, "orders", 1)).rowcount)

    with db.connect() as first:
        first.autocommit = False
        first.execute(_by_place(noted(BATCHES)), (query_id, "orders", 1))
        first.execute(upsert_statement("orders", "staging", columns, keys=["key"], newest_by=["version"]).encode())
        rival = threading.Thread(target=second)
        rival.start()
        assert _waits_for_a_lock(db)
        first.commit()
    rival.join(10)

    assert counts == [0]
    assert db.ask("SELECT value FROM orders") == [(7,)]


def _by_place(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


def _waits_for_a_lock(db: Database) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if db.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            return True
        time.sleep(0.02)
    return False


def test_a_name_with_a_quote_stays_a_name(db: Database) -> None:
    columns = ['my "key"', "n"]
    db.ask('CREATE TABLE staging ("my ""key""" INT, n INT)')
    db.ask("INSERT INTO staging VALUES (1, 2)")
    with db.connect() as connection:
        connection.execute(created_like("orders", "staging", keys=columns[:1]).encode())
        connection.execute(upsert_statement("orders", "staging", columns, keys=columns[:1], newest_by=()).encode())

    assert db.ask("SELECT * FROM orders") == [(1, 2)]


def test_a_table_of_keys_alone_takes_each_once(db: Database) -> None:
    db.ask("CREATE TABLE staging (key INT)")
    db.ask("INSERT INTO staging VALUES (1), (2)")
    db.ask("CREATE TABLE orders (key INT PRIMARY KEY)")
    db.ask("INSERT INTO orders VALUES (1)")
    with db.connect() as connection:
        connection.execute(upsert_statement("orders", "staging", ["key"], keys=["key"], newest_by=()).encode())

    assert db.ask("SELECT key FROM orders ORDER BY key") == [(1,), (2,)]


def test_the_database_refuses_a_null_character_so_a_job_must_keep_it_away(db: Database, query: ReplayedQuery) -> None:
    query.feed(a_row("a\x00b", 1, 1))

    with pytest.raises(Exception, match="invalid byte sequence for encoding"):
        query.run(upserting(db.output("orders")))

    with pytest.raises(psycopg.errors.UndefinedTable):
        db.ask("SELECT * FROM orders")


QUICK = Patience(attempts=3, first_wait=0.01, timeout=0.5)


@pytest.fixture(scope="module")
def running_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with an_endpoint(tmp_path_factory.mktemp("rest") / "sandbox") as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(running_endpoint: Endpoint) -> Endpoint:
    running_endpoint.server.behave_well()
    return running_endpoint


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    """A path of the test's own: the ledger is shared."""
    return "/" + re.sub(r"\W+", "-", request.node.name)


@pytest.fixture
def post(endpoint: Endpoint, path: str) -> Poster:
    return Poster(endpoint.output(path).url, endpoint.token_file.read_text(), QUICK)


@pytest.mark.usefixtures("workers")
def test_every_row_arrives_under_its_key(endpoint: Endpoint, path: str, spark) -> None:
    rows = spark.createDataFrame(
        [("k-1", '{"n": 1}'), ("k-2", '{"n": 2}'), ("k-3", '{"n": 3}')], "key STRING, body STRING"
    )

    assert post_rows(rows.repartition(2), endpoint.output(path)) == []

    assert endpoint.accepted(path) == {"k-1": {"n": 1}, "k-2": {"n": 2}, "k-3": {"n": 3}}


@pytest.mark.usefixtures("workers")
def test_an_address_that_is_a_secret_comes_from_its_file(endpoint: Endpoint, path: str, spark, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(endpoint.output(path).url + "\n")
    hook.chmod(0o600)
    rows = spark.createDataFrame([("k-1", '{"n": 1}'), ("k-2", "no JSON")], "key STRING, body STRING")

    refused = post_rows(rows, RestOutput(url_file=str(hook), token_file=str(endpoint.token_file)))

    assert endpoint.accepted(path) == {"k-1": {"n": 1}}
    assert [row["key"] for row in refused] == ["k-2"]
    assert path not in refused[0]["reason"]


@pytest.mark.usefixtures("workers")
def test_a_batch_that_runs_again_is_posted_again_and_each_key_counts_once(
    endpoint: Endpoint, path: str, query: ReplayedQuery
) -> None:
    to = endpoint.output(path)

    def write(batch, number) -> None:
        post_rows(batch.selectExpr("key", "to_json(struct(value)) AS body"), to)

    query.feed(a_row("a", 1, 1), a_row("b", 2, 1))
    query.run(write)
    query.forget_last_commit()
    query.run(write)

    assert endpoint.accepted(path) == {"a": {"value": 1}, "b": {"value": 2}}
    assert endpoint.requests(path) == 4


@pytest.mark.usefixtures("workers")
def test_rows_that_the_endpoint_refuses_come_back_whole_with_its_reason(endpoint: Endpoint, path: str, spark) -> None:
    rows = spark.createDataFrame([(7, "k-1", "no json"), (8, "k-2", "{}")], "offset LONG, id STRING, text STRING")

    (refused,) = post_rows(rows, endpoint.output(path), key="id", body="text")

    assert refused.asDict() == {
        "offset": 7,
        "id": "k-1",
        "text": "no json",
        "reason": '400 Bad Request: {"error": "the body is not JSON"}',
    }
    assert endpoint.accepted(path) == {"k-2": {}}


@pytest.mark.usefixtures("workers")
def test_a_row_without_key_or_body_is_refused_unasked(endpoint: Endpoint, path: str, spark) -> None:
    rows = spark.createDataFrame([(None, "{}"), ("k-1", None), (None, None)], "key STRING, body STRING")

    refused = post_rows(rows, endpoint.output(path))

    assert sorted(row.reason for row in refused) == [
        "the row has no body",
        "the row has no key",
        "the row has no key and no body",
    ]
    assert endpoint.requests(path) == 0


def test_a_token_that_others_may_read_is_not_used(endpoint: Endpoint, path: str, spark, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.write_text("t")
    open_to_all.chmod(0o644)

    with pytest.raises(SettingsError, match=r"sink\.rest\.token_file: .*/open has mode 0644"):
        post_rows(spark.range(1), endpoint.output(path, token_file=open_to_all))


@pytest.mark.usefixtures("workers")
def test_an_endpoint_that_refuses_us_fails_the_batch(endpoint: Endpoint, path: str, spark, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("guessed")
    wrong.chmod(0o600)
    rows = spark.createDataFrame([("k-1", "{}")], "key STRING, body STRING")

    with pytest.raises(Exception, match=r"EndpointError: http://.* answers 401 .*, which concerns every row") as caught:
        post_rows(rows, endpoint.output(path, token_file=wrong))

    assert "guessed" not in str(caught.value)
    assert endpoint.requests(path) == 0


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(Behaviour(next=2, status=500), id="500"),
        pytest.param(Behaviour(next=2, status=503), id="503"),
        pytest.param(Behaviour(next=2, status=409), id="409, an earlier attempt is still in work"),
        pytest.param(Behaviour(next=2, status="drop"), id="a dropped connection"),
        pytest.param(Behaviour(next=2, status="timeout"), id="no answer in time"),
        pytest.param(Behaviour(next=2, status=500, accept=True), id="accepted, and the answer failed"),
        pytest.param(Behaviour(next=2, status="drop", accept=True), id="accepted, and the answer was lost"),
    ],
)
def test_what_has_to_do_with_the_moment_is_tried_again(
    endpoint: Endpoint, post: Poster, path: str, failure: Behaviour
) -> None:
    endpoint.server.behave(failure)

    assert post("k-1", '{"n": 1}') == ""

    assert endpoint.accepted(path) == {"k-1": {"n": 1}}
    assert endpoint.requests(path) == 3


def test_waits_as_long_as_the_endpoint_asks(endpoint: Endpoint, post: Poster, path: str) -> None:
    endpoint.server.behave(Behaviour(next=1, status=429, retry_after=1))
    began = time.monotonic()

    assert post("k-1", "{}") == ""

    assert time.monotonic() - began >= 1


def test_does_not_wait_longer_than_it_is_patient(endpoint: Endpoint, path: str) -> None:
    endpoint.server.behave(Behaviour(next=1, status=429, retry_after=3600))
    post = Poster(endpoint.output(path).url, endpoint.token_file.read_text(), replace(QUICK, longest_wait=0.1))

    assert post("k-1", "{}") == ""


def test_gives_up_after_its_attempts_and_says_what_it_met(endpoint: Endpoint, post: Poster, path: str) -> None:
    endpoint.server.behave(Behaviour(next=9, status=503))

    with pytest.raises(
        EndpointError, match=rf"{path} took no row in 3 attempts, the last answer was: 503 Service Unav"
    ):
        post("k-1", "{}")

    assert endpoint.requests(path) == 3


def test_a_key_that_stays_in_work_is_refused_as_a_row_and_stops_nothing(
    endpoint: Endpoint, post: Poster, path: str
) -> None:
    endpoint.server.behave(Behaviour(next=3, status=409))

    assert post("k-1", "{}").startswith("409 Conflict")
    assert post("k-2", "{}") == ""


def test_an_endpoint_that_is_away_is_named(endpoint: Endpoint) -> None:
    with pytest.raises(
        EndpointError, match=r"http://127\.0\.0\.1:9/away took no row in 3 attempts.*Connection refused"
    ):
        Poster("http://127.0.0.1:9/away", "", QUICK)("k-1", "{}")


@pytest.mark.parametrize(
    ("key", "in_header"),
    [
        pytest.param("e-000012", "e-000012", id="an id"),
        pytest.param("rule:t-1", "rule:t-1", id="two ids"),
        pytest.param("a b", "a%20b", id="a blank"),
        pytest.param("a\r\nX-Other: 1", "a%0D%0AX-Other:%201", id="a line of its own"),
        pytest.param("Zoë", "Zo%C3%AB", id="not ASCII"),
        pytest.param("50%", "50%25", id="the sign of the encoding"),
    ],
)
def test_no_key_can_break_a_request(endpoint: Endpoint, post: Poster, path: str, key: str, in_header: str) -> None:
    assert post(key, "{}") == ""

    assert endpoint.accepted(path) == {in_header: {}}


@contextmanager
def redirecting(to: str) -> Iterator[str]:
    """An endpoint that has moved; its address."""

    class Moved(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(302)
            self.send_header("Location", to)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Moved) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/old"
        finally:
            server.shutdown()
            thread.join()


def test_a_redirection_is_not_followed_where_the_body_would_be_lost(endpoint: Endpoint) -> None:
    elsewhere = endpoint.server.url + "/ledger"  # it answers a GET with 200

    with (
        redirecting(elsewhere) as address,
        pytest.raises(EndpointError, match="answers 302 Found, which concerns every row"),
    ):
        Poster(address, endpoint.token_file.read_text(), QUICK)("k-1", "{}")
