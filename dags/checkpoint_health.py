"""The DAG `streamops_checkpoint_health`: every few minutes, what is wrong with the checkpoints of all streams.

A few tasks share the streams, and each loops over its own in threads. Then each stream that is not ok has a task of
its own, with its name as label and the report in its log.

Such a task looks once more and goes by what it sees: clear it after a repair, and it tells whether the repair holds. It
fails where the verdict is critical, so that the DAG is red while a start would fail or lose something. It succeeds with
the report in its log on `warning` and `unknown`: a warning asks for attention on a working day, and `unknown` is mostly a
place that does not answer for a moment, which a red DAG each time would teach everybody to overlook. Whoever wants to
hear of these as well has `on_change`. Nothing is tried again: the next round comes by itself.

No task touches a stream: checkpoints are read, and a control log gets a record where the verdict has changed.
"""

from typing import Any

from airflow.sdk import task

from streamops.airflow.checkpoint_health import run_report, run_shard
from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import explicit_dag
from streamops.airflow.verdict_rounds import run_gather, run_limit, shards_of

fleet = declared_fleet(__file__, "checkpoint_health")
rounds = fleet.settings.checkpoint_health
shards = shards_of(rounds, fleet.settings)

if fleet.has_streams:
    with explicit_dag(
        fleet.dag_id("streamops_checkpoint_health"),
        description="Judges the checkpoints of all streams: red while a start would fail or lose something",
        schedule=rounds.every,
        run_limit=run_limit(rounds),
        slice_limit=rounds.every,
        doc=__doc__,
    ):

        @task
        def check(shard: int) -> dict[str, Any]:
            """Judge the checkpoints of a part of the streams."""
            return run_shard(fleet.config, shard=shard, shards=shards)

        # Shards that failed must not hide what the others have found.
        @task(trigger_rule="all_done")
        def gather(answers: Any) -> list[dict[str, Any]]:
            """Say which streams are not ok."""
            return run_gather(answers, shards=shards)

        @task(map_index_template="{{ task.op_kwargs['shown']['label'] }}")
        def report(shown: dict[str, Any]) -> None:
            """Look at one of them once more, and show its report."""
            run_report(fleet.config, shown)

        report.expand(shown=gather(check.expand(shard=list(range(shards)))))
