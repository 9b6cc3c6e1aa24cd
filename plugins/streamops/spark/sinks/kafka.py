"""Publishing a batch to a topic, at least once."""

from typing import TYPE_CHECKING

from streamops.control.assignment import KafkaOutput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def publish(rows: "DataFrame", to: KafkaOutput) -> None:
    """Write the columns `key` and `value` to the topic. A batch that runs again is published again.

    Spark's Kafka sink knows no transactions (SPARK-25937), so consumers must know a record by its key, or by an id in it.
    """
    writer = rows.select("key", "value").write.format("kafka").options(**dict(to.options))
    writer.option("kafka.bootstrap.servers", to.bootstrap_servers).option("topic", to.topic).save()
