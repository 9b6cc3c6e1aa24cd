"""The files that run a stream as stock Airflow does: a DAG with SparkSubmitOperator and a plain main for the job.

They are texts, because neither Airflow nor PySpark may be imported here, and because they lie where Airflow looks.
"""

import json
import sys
from pathlib import Path

from streamops.spec import StreamSpec
from streamops.spec.wire import spec_text
from streamops_sandbox.layout import SandboxLayout

DAG_ID = "stock"
TASK = "submit"
CONNECTION = "stock"
RETRIES = 3

DEFAULT_PATIENCE_SECONDS = 300
"""Airflow's own, both with a silent task and before a retry."""

_DAG = '''"""Written by streamops: a stream as Airflow's own SparkSubmitOperator runs it."""

import json
from datetime import datetime
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

ASKED = json.loads((Path(__file__).parent / "stock.json").read_text())

with DAG(
    dag_id=ASKED["dag_id"],
    schedule="@continuous",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
):
    SparkSubmitOperator(task_id=ASKED["task_id"], retries=ASKED["retries"], **ASKED["submit"])
'''

_MAIN = '''"""Written by streamops: the job's own function under a plain SparkSession, without the suite's runner."""

import importlib.util
import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from streamops.control.assignment import assignment_of
from streamops.control.layout import companion_checkpoint
from streamops.control.records import Claimed, ClaimMode, Position
from streamops.spark import StreamContext


def main(control: str, attempt: str) -> None:
    spec = (Path(__file__).parent / "spec.json").read_text()
    claim = Claimed(
        stream=json.loads(spec)["name"],
        epoch=int(attempt),
        token="",
        mode=ClaimMode.LIVE,
        position=Position(),
        spec=spec,
        job_sha256="",
        library_version="",
    )
    assignment = assignment_of(claim)
    spark = SparkSession.builder.getOrCreate()
    # Delta writes it into each commit: afterwards its log tells which driver wrote what.
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", attempt)
    context = StreamContext(assignment)
    writer = load(assignment.job).define(spark, context)
    trigger = f"{assignment.trigger_interval.total_seconds()} seconds"
    start(writer, assignment.stream, assignment.checkpoint, trigger)
    for number, companion in enumerate(context.companions):
        checkpoint = companion_checkpoint(assignment.checkpoint, number)
        start(companion, f"{assignment.stream}-{number}", checkpoint, trigger)
    spark.streams.awaitAnyTermination()


def start(writer, name: str, checkpoint: str, trigger: str) -> None:
    writer.queryName(name).option("checkpointLocation", checkpoint).trigger(processingTime=trigger).start()


def load(job: str):
    spec = importlib.util.spec_from_file_location("job", job)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    # The names of the arguments are those of the suite's own drivers, so that the same eyes find both.
    _, _control, control, _epoch, attempt = sys.argv
    main(control, attempt)
'''


def write_stock_files(layout: SandboxLayout, spec: StreamSpec, *, control: str, retry_delay: int) -> None:
    """The DAG, what it submits, and the spec for it. `retry_delay` in seconds."""
    layout.dags.mkdir(parents=True, exist_ok=True)
    main = layout.root / "stock" / "plain_main.py"
    main.parent.mkdir(exist_ok=True)
    main.write_text(_MAIN, encoding="utf-8")
    (main.parent / "spec.json").write_text(spec_text(spec), encoding="utf-8")
    submit: dict[str, object] = {
        "conn_id": CONNECTION,
        "application": str(main),
        # The second of its start: numbers of tries begin anew with each run.
        "application_args": ["--control", control, "--epoch", "{{ macros.time.time() | int }}"],
        "conf": dict(spec.conf),
        "jars": ",".join(spec.launch.jars),
        "name": DAG_ID,
        "retry_delay": retry_delay,
    }
    asked = {"dag_id": DAG_ID, "task_id": TASK, "retries": RETRIES, "submit": submit}
    # Before the DAG, which reads it.
    (layout.dags / "stock.json").write_text(json.dumps(asked, indent=2), encoding="utf-8")
    (layout.dags / "stock.py").write_text(_DAG, encoding="utf-8")


def stock_environment(*, path: str, task_timeout: int) -> dict[str, str]:
    """What Airflow needs on top: the connection, spark-submit on the PATH, its own patience with a silent task."""
    extra = {"deploy-mode": "client", "spark-binary": "spark-submit"}
    connection = {"conn_type": "spark", "host": "local[2]", "extra": extra}
    return {
        f"AIRFLOW_CONN_{CONNECTION.upper()}": json.dumps(connection),
        "PATH": f"{Path(sys.executable).parent}:{path}",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # The sandbox's Airflow is less patient than Airflow by itself.
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": str(task_timeout),
    }
