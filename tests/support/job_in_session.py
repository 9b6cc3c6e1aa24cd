"""A stream of the catalogue without a driver of its own: its queries, as a driver starts them, in a session that tests share."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from streamops.control.assignment import assignment_of
from streamops.spark.context import StreamContext
from streamops.spark.driver_process import go_round_faults
from streamops.spark.query import RunningQueries, planned_queries
from streamops.spark.report import DriverReport
from streamops.spark.runner import load_define
from streamops.spec import StreamSpec
from streamops.spec.wire import spec_text
from support.records import a_claim

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_in_session(spark: "SparkSession", spec: StreamSpec, *, is_stop_wanted: Callable[[], bool]) -> bool:
    """Run the queries of the stream's job under its trigger and its state's confs.

    True when they ended by themselves, False when they were stopped. Raises the failure of a query.
    """
    session = spark.newSession()
    go_round_faults(session)
    for name, value in spec.state.conf:
        session.conf.set(name, value)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    assignment = assignment_of(replace(a_claim(stream=spec.name), spec=spec_text(spec)))
    context = StreamContext(assignment)
    writer = load_define(assignment.job)(session, context)
    queries = planned_queries(writer, context.companions, assignment)
    running = RunningQueries.start(queries, assignment, DriverReport())
    try:
        return running.run(is_stop_wanted=is_stop_wanted)
    finally:
        running.stop()
