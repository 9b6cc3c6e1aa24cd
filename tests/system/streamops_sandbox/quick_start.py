"""JVM options that bring the drivers of tests and of the sandbox up sooner; a stream that runs for months wants none of them."""

from collections.abc import Mapping
from pathlib import Path

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
"""The variable whose options spark-submit gives to the driver that it starts (SparkSubmitCommandBuilder)."""
COMPILE_LESS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""On two cores that drivers share with Airflow, compiling less at the start brings the first batch sooner."""
ARCHIVE_OPTION = "-XX:SharedArchiveFile="
QUIET_WITHOUT_ARCHIVE = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""A driver with another class path can't use the archive, and would say so on its standard output."""
SPAWN_CHEAPLY = "-Djdk.lang.Process.launchMechanism=VFORK"
"""Hadoop starts a process for each file that it renames on a local disk; this way it costs a third."""


def submit_options(project: Path, inherited: Mapping[str, str]) -> str:
    """For SUBMIT_OPTIONS: the archive of classes that `make setup` made, and whatever was asked for before.

    What names an archive already is kept as it is: a sandbox in a test inherits the options of the test.
    """
    asked = inherited.get(SUBMIT_OPTIONS, "")
    if ARCHIVE_OPTION in asked:
        return asked
    archive = f"{ARCHIVE_OPTION}{project / '.jars' / 'spark.jsa'}"
    return " ".join(filter(None, (archive, QUIET_WITHOUT_ARCHIVE, SPAWN_CHEAPLY, asked)))
