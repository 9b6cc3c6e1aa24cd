"""The drivers that `processes` starts, and what is done to each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamops.control.records import Outcome
from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import JARS

CHILD = str(Path(__file__).with_name("child.py"))
DIED, LAUNCH_FAILED = Outcome.DIED, Outcome.LAUNCH_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One driver and its end."""

    id: str
    how: str
    failure_class: FailureClass
    remedy: Remedy | None = None
    outcome: Outcome = DIED
    happening: str = "none"
    submit: tuple[str, ...] = ()
    job: str = CHILD
    environment: Mapping[str, str] = field(default_factory=dict)
    has_progressed: bool = True
    needs: str = ""
    """`port`: a listener whose port replaces PORT; `tiny`: a disk of a few MiB whose path replaces TINY."""


CLUSTER = ("--master", "local-cluster[1,1,1024]", "--conf", "spark.task.maxFailures=1")

RUNS = [
    Run(
        id="exit-0",
        how="a polling loop, the query fails (B65)",
        failure_class=FailureClass.CODE_ERROR,
        happening="polls:divide",
    ),
    Run(id="exit-1", how="awaitTermination raises", failure_class=FailureClass.CODE_ERROR, happening="awaits:divide"),
    Run(
        id="kill-9-python",
        how="SIGKILL to Python",
        failure_class=FailureClass.KILLED,
        happening="signal:SIGKILL:python",
    ),
    Run(id="kill-9-jvm", how="SIGKILL to the JVM", failure_class=FailureClass.KILLED, happening="signal:SIGKILL:jvm"),
    Run(
        id="sigterm-python",
        how="SIGTERM to Python",
        failure_class=FailureClass.KILLED,
        happening="signal:SIGTERM:python",
    ),
    Run(id="sigterm-jvm", how="SIGTERM to the JVM", failure_class=FailureClass.KILLED, happening="signal:SIGTERM:jvm"),
    Run(id="sigabrt-jvm", how="SIGABRT to the JVM", failure_class=FailureClass.KILLED, happening="signal:SIGABRT:jvm"),
    Run(
        id="heap",
        how="the heap is full inside a task",
        failure_class=FailureClass.OUT_OF_MEMORY,
        happening="awaits:heap",
    ),
    Run(
        id="heap-exit",
        how="the heap is full, with -XX:+ExitOnOutOfMemoryError",
        failure_class=FailureClass.OUT_OF_MEMORY,
        happening="awaits:heap",
        submit=("--driver-java-options", "-XX:+ExitOnOutOfMemoryError"),
    ),
    Run(
        id="heap-crash",
        how="the heap is full, with -XX:+CrashOnOutOfMemoryError",
        failure_class=FailureClass.OUT_OF_MEMORY,
        happening="awaits:heap",
        submit=(
            "--driver-java-options",
            "-XX:+CrashOnOutOfMemoryError -XX:-CreateCoredumpOnCrash -XX:ErrorFile=/dev/null",
        ),
    ),
    Run(
        id="metaspace",
        how="no room for classes",
        failure_class=FailureClass.OUT_OF_MEMORY,
        happening="awaits:divide",
        submit=("--driver-java-options", "-XX:MaxMetaspaceSize=40m"),
        has_progressed=False,
        outcome=LAUNCH_FAILED,
    ),
    Run(
        id="broker-warnings-then-heap",
        how="a broker is away, which is only warned of; then the heap is full",
        failure_class=FailureClass.OUT_OF_MEMORY,
        happening="broker-gone:heap",
        submit=("--jars", JARS),
    ),
    Run(
        id="broker-warnings-then-kill-9",
        how="a broker is away, which is only warned of; then SIGKILL to the JVM",
        failure_class=FailureClass.KILLED,
        happening="broker-gone:signal:SIGKILL:jvm",
        submit=("--jars", JARS),
    ),
    Run(
        id="local-disk-full",
        how="the disk of spark.local.dir is full",
        failure_class=FailureClass.DISK_FULL,
        happening="awaits:shuffle",
        submit=("--conf", "spark.local.dir=TINY"),
        needs="tiny",
    ),
    Run(
        id="executor-heap",
        how="the heap of the only executor is full",
        failure_class=FailureClass.OUT_OF_MEMORY,
        happening="awaits:heap",
        submit=(*CLUSTER, "--conf", "spark.executor.memory=512m"),
    ),
    Run(
        id="job-missing",
        how="the job's file is not there",
        failure_class=FailureClass.CODE_ERROR,
        job="/tmp/x/no_such_job.py",
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="job-no-python",
        how="the job's file has a syntax error",
        failure_class=FailureClass.CODE_ERROR,
        job="def main(:\n",
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="job-lacks-package",
        how="the job imports what is not installed",
        failure_class=FailureClass.CODE_ERROR,
        job="import no_such_package\n",
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="master-misspelt",
        how="a master that is none",
        failure_class=FailureClass.CODE_ERROR,
        submit=("--master", "sprak://127.0.0.1:7077"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="memory-below-minimum",
        how="less memory than Spark asks for",
        failure_class=FailureClass.CODE_ERROR,
        submit=("--driver-memory", "200m"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="memory-beyond-host",
        how="more memory than the host has",
        failure_class=FailureClass.OUT_OF_MEMORY,
        submit=("--driver-memory", "900g", "--driver-java-options", "-XX:+AlwaysPreTouch -Xms900g"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="no-java",
        how="JAVA_HOME names nothing",
        failure_class=FailureClass.LAUNCH_FAILED,
        environment={"JAVA_HOME": "/tmp/x/no-java"},
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="no-spark",
        how="the Python that PYSPARK_PYTHON names has no PySpark",
        failure_class=FailureClass.LAUNCH_FAILED,
        environment={"PYSPARK_PYTHON": "/usr/bin/false"},
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="option-misspelt",
        how="an option that spark-submit does not know",
        failure_class=FailureClass.CODE_ERROR,
        submit=("--drivermemory", "1g"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="jar-missing",
        how="a jar's server is away; the log says only that a connection was refused",
        failure_class=FailureClass.TRANSIENT,
        submit=("--jars", "https://127.0.0.1:9/no-such.jar"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
    Run(
        id="port-taken",
        how="the driver's port is taken",
        failure_class=FailureClass.TRANSIENT,
        submit=("--conf", "spark.driver.port=PORT", "--conf", "spark.port.maxRetries=0"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
        needs="port",
    ),
    Run(
        id="master-away",
        how="no standalone master answers",
        failure_class=FailureClass.CLUSTER_CAPACITY,
        submit=("--master", "spark://127.0.0.1:9"),
        outcome=LAUNCH_FAILED,
        has_progressed=False,
    ),
]
