"""What is done to Delta tables and to queries that read them, step by step, in a Spark of its own with Delta's jars.

`python delta_queries.py '[{"table": …, "checkpoint": …, "output": …, "steps": ["append", "read", …]}]'` prints one line of JSON:
for each table the errors of its reads, each empty where there is none, and the numbers that its query has written. Steps:
`append` (one row, one commit; the first makes the table), `read` (all that is there), `optimize`, `vacuum` (whatever is
removed), `checkpoint` (of the table's log, which cleans it), `age VERSION MOMENT` (of a commit's file, seconds since 1970),
`blank VERSION` (lines behind a commit), `of_another BATCH` (an entry of the query's offsets has another table's id),
`set PROPERTY VALUE`, `sql TEXT` (`{}` for the table's name). `options` of a task are those of the query's source.
"""

import json
import os
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from support.sink_queries import CONFS


class Table:
    """One table, and the query that reads it."""

    def __init__(self, spark, task):
        self._spark, self._task = spark, task
        self._table = Path(task["table"])
        self.errors = []

    def append(self):
        number = self._next_version()
        rows = self._spark.createDataFrame([(number,)], "n long")
        rows.coalesce(1).write.format("delta").mode("append").save(str(self._table))

    def read(self):
        rows = self._spark.readStream.format("delta").option("maxFilesPerTrigger", self._task.get("files", 1000))
        rows = rows.options(**self._task.get("options", {})).load(str(self._table))
        writer = rows.writeStream.format("json").option("path", self._task["output"])
        try:
            started = writer.option("checkpointLocation", self._task["checkpoint"]).trigger(availableNow=True).start()
            started.awaitTermination()
        except Exception as error:
            self.errors.append(str(error))
        else:
            self.errors.append("")

    def optimize(self):
        self._sql(f"optimize {self._name}")

    def vacuum(self):
        self._sql(f"vacuum {self._name} retain 0 hours")

    def checkpoint(self):
        delta_log = self._spark._jvm.org.apache.spark.sql.delta.DeltaLog
        delta_log.forTable(self._spark._jsparkSession, str(self._table)).checkpoint()

    def age(self, version, moment):
        os.utime(self._table / "_delta_log" / f"{int(version):020d}.json", (float(moment),) * 2)

    def blank(self, version):
        commit = self._table / "_delta_log" / f"{int(version):020d}.json"
        commit.write_bytes(commit.read_bytes() + b"\n\n")
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)

    def of_another(self, batch):
        entry = Path(self._task["checkpoint"]) / "offsets" / batch
        entry.write_text(re.sub('("reservoirId":")[0-9a-f]{8}', r"\g<1>00000000", entry.read_text()))
        entry.with_name(f".{batch}.crc").unlink(missing_ok=True)

    def set(self, name, *value):
        self._sql(f"alter table {self._name} set tblproperties ('{name}' = '{' '.join(value)}')")

    def sql(self, *text):
        self._sql(" ".join(text).format(self._name))

    def rows(self):
        if not Path(self._task["output"]).exists():
            return []
        return sorted(row.n for row in self._spark.read.schema("n long").json(self._task["output"]).collect())

    @property
    def _name(self):
        return f"delta.`{self._table}`"

    def _sql(self, text):
        self._spark.sql(text).collect()

    def _next_version(self):
        return len(list((self._table / "_delta_log").glob("*.json"))) if self._table.exists() else 0


def main():
    """All tables of the command line."""
    builder = SparkSession.builder.master("local[2]").appName("delta-queries")
    confs = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
    for key, value in (CONFS | confs).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    answers = []
    for task in json.loads(sys.argv[1]):
        table = Table(spark, task)
        for step in task["steps"]:
            name, *arguments = step.split(" ")
            getattr(table, name)(*arguments)
        answers.append({"errors": table.errors, "rows": table.rows()})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
