"""J6: alerts on transactions, by rules that are data, to a topic and an endpoint.

Rules and accounts are Delta tables that each batch reads anew: a new rule holds from the next batch on, without a restart.
Kinds of rules: `amount_over` (an amount above the limit of the account's tier), `blocked_country`, and `velocity` (more than
`most` transactions of an account within `minutes` up to the one that is judged). A rule of another kind raises nothing.

Velocity needs the transactions before. They are kept in the declared Delta table, each batch appended once and read again,
rather than in the state of an operator: rules may ask for longer windows tomorrow than the state kept today, people can look at
what an alert was raised from, and the table outlives the checkpoint. A transaction that comes late is judged, and raises no
alert on those that were judged before it.

An alert's id is its rule's and its transaction's, so a batch that comes again says the same. Topic and endpoint are at least
once: consumers know an alert by the record's key, the endpoint by the `Idempotency-Key`, and have each once.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_ahead, is_before_year_1, refused_letters, with_json
from streamops.spark.sinks.append import append_once
from streamops.spark.sinks.batch import cached
from streamops.spark.sinks.kafka import publish
from streamops.spark.sinks.postgres import newest
from streamops.spark.sinks.rest import post_rows

AS_TEXT = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "timeZone": "UTC", "ignoreNullFields": "false"}
TRANSACTION = StructType(
    [
        StructField("transaction_id", StringType()),
        StructField("account", StringType()),
        StructField("amount", DecimalType(38, 18)),
        StructField("country", StringType()),
        StructField("event_time", TimestampType()),
    ]
)
TRIPS_ALONE = """
    (kind = 'amount_over' AND account_tier = rule.tier AND judged.amount > rule.amount)
    OR (kind = 'blocked_country' AND judged.country = rule.country)
"""
IS_WITHIN = """
    past.account = judged.account AND past.event_time <= judged.event_time
    AND past.event_time > judged.event_time - make_dt_interval(0, 0, minutes)
"""


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka transactions, parsed, kept and judged; what can't be parsed or is refused goes to the dead letters."""
    history, letters = stream.table, stream.dead_letters
    rules, accounts = stream.parameter("rules"), stream.parameter("accounts")
    topic, endpoint = stream.kafka, stream.rest

    def put(batch: DataFrame, number: int) -> None:
        read = batch.sparkSession.read.format("delta").load
        with cached(batch) as parsed:
            append_once(transactions(parsed), history, number)
            judged = newest(transactions(parsed), keys=["transaction_id"], newest_by=["partition", "offset"])
            raised = alerts(judged, rules=read(rules), accounts=read(accounts), history=read(history))
            with cached(messages(raised)) as told:
                publish(told, topic)
                refused = post_rows(told, endpoint, key="key", body="value")
            append_once(dead_letters(parsed).unionByName(refused_letters(parsed, refused)), letters, number)

    return parse(stream.from_kafka(spark)).writeStream.foreachBatch(put)


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their transaction, and with the reason where there is none."""
    return with_json(
        records,
        TRANSACTION,
        checks=lambda one: [
            is_no_cents(one["amount"]),
            is_ahead(one["event_time"]),
            is_before_year_1(one["event_time"]),
        ],
    )


def transactions(parsed: DataFrame) -> DataFrame:
    """One row a transaction, with the position of its record."""
    return good(parsed).withColumn("amount", in_cents(f.col("amount")))


def alerts(judged: DataFrame, *, rules: DataFrame, accounts: DataFrame, history: DataFrame) -> DataFrame:
    """One row for each rule and transaction that trips it. `history` holds the judged ones too."""
    owners = f.broadcast(accounts.withColumnRenamed("tier", "account_tier"))
    known, rule = judged.join(owners, "account", "left").alias("judged"), f.broadcast(rules).alias("rule")
    alone = known.join(rule, f.expr(TRIPS_ALONE)).select("judged.*", "rule_id")
    past = since_any_window(history, judged=judged, rules=rules).alias("past")
    seen = known.join(rule, f.expr("kind = 'velocity'")).join(past, f.expr(IS_WITHIN))
    of_one = [f.col(f"judged.{name}") for name in known.columns]
    counted = seen.groupBy(*of_one, "rule_id", "most").agg(f.countDistinct("past.transaction_id").alias("count"))
    return alone.unionByName(counted.where("count > most").drop("most", "count"))


def since_any_window(history: DataFrame, *, judged: DataFrame, rules: DataFrame) -> DataFrame:
    """The transactions that any rule may look at: a bound in figures, by which Delta passes over the files before it."""
    oldest = judged.agg(f.unix_micros(f.min("event_time"))).first()[0] or 0
    longest = rules.agg(f.max("minutes")).first()[0] or 0
    return history.where(f.col("event_time") > f.timestamp_micros(f.lit(oldest - longest * 60_000_000)))


def messages(raised: DataFrame) -> DataFrame:
    """An alert as others get it, under its id: `key` and `value`, and the position of its transaction's record."""
    alert_id = f.concat_ws(":", "rule_id", "transaction_id")
    amount = f.col("amount").cast("string").alias("amount")
    body = f.struct(alert_id.alias("alert_id"), "rule_id", "transaction_id", "account", "owner", amount, "event_time")
    return raised.select(alert_id.alias("key"), f.to_json(body, AS_TEXT).alias("value"), "topic", "partition", "offset")
