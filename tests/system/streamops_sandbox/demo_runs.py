"""The bounded runs of the demo: a scheduled stream, and a backfill by Airflow's form."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.spec.wire import catchup_dag_id
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.ledger import count_rows
from streamops_sandbox.orders import OrdersState
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.sandboxed_stream import SandboxedStream
from streamops_sandbox.waiting import StderrNarrator

SCHEDULED = "orders_by_the_hour"
BACKFILL_DAG = "streamops_backfill"
RUN_TASK = "run"
LIMIT = timedelta(minutes=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfDag:
    """One run of a DAG and what it has written."""

    dag: str
    state: str
    expected: int
    """Records that it was to read."""
    rows: int
    """Rows of its table and its dead letters together."""

    @property
    def is_exact(self) -> bool:
        """Whether it ended well and nothing is missing or there twice."""
        return self.state == "success" and self.rows == self.expected


class RunsOfAirflow:
    """Begins runs of DAGs and waits for their end."""

    OVER = frozenset({"success", "failed"})

    def __init__(self, sandbox: Sandbox, stream: SandboxedStream) -> None:
        self._api = sandbox.api()
        self._stream = stream

    def begin(self, dag: str, form: Mapping[str, object]) -> str:
        """A run with that form filled in; its id."""
        return self._api.start_run(dag, form)

    def state(self, dag: str, run: str) -> str:
        """Where a run stands, in Airflow's word. SandboxError when Airflow does not know it."""
        states = [found.state for found in self._api.dag_runs(dag) if found.run_id == run]
        if not states:
            raise SandboxError(f"airflow lost run {run} of {dag}")
        return states[0]

    def titles(self, dag: str, run: str) -> tuple[str, ...]:
        """What the processes of the run's tasks are called, where they have one."""
        return tuple(f"airflow worker -- {one.attempt_id}" for one in self._api.task_instances(dag, run))

    def end(self, dag: str, run: str) -> str:
        """Wait for the end of a run; its state then. SandboxError past the limit."""

        def missing() -> str:
            state = self.state(dag, run)
            return "" if state in self.OVER else f"the end of its run, now {state}"

        self._stream.wait(missing, what=dag, limit=LIMIT)
        return self.state(dag, run)

    def through(self, dag: str, form: Mapping[str, object]) -> tuple[str, str]:
        """From begin to end: the run's id and state."""
        run = self.begin(dag, form)
        return run, self.end(dag, run)


class DemoRuns:
    """Runs that the demo asks Airflow for."""

    def __init__(self, sandbox: Sandbox, stream: SandboxedStream, *, tell: Callable[[str], None]) -> None:
        self._sandbox = sandbox
        self._stream = stream
        self._runs = RunsOfAirflow(sandbox, stream)
        self._tell = tell

    def scheduled(self, orders: OrdersState) -> RunOfDag:
        """The hour's run of the scheduled stream, begun now: it reads all that was ever sent."""
        own = SandboxedStream(self._sandbox, narrator=StderrNarrator(), actor="demo", name=SCHEDULED)
        before = own.rows()
        dag = catchup_dag_id(SCHEDULED)
        self._tell(f"{dag} is run: the same job by availableNow, with a checkpoint and a table of its own")
        run, state = self._runs.through(dag, {})
        account = self._account(dag, run) if state == "success" else "see the log of its task"
        self._tell(f"{dag}: {state}, {account}; {before} rows were there before")
        return RunOfDag(dag=dag, state=state, expected=orders.sent + orders.malformed, rows=own.rows())

    def _account(self, dag: str, run: str) -> str:
        """What a run says of itself. At the full hour Airflow's own run may come first, and then this one is skipped."""
        api = self._sandbox.api()
        if not any(one.task_id == RUN_TASK and one.state == "success" for one in api.task_instances(dag, run)):
            return "with nothing to read, another run had just done it"
        returned = api.returned(dag, run, RUN_TASK)
        return f"{returned.get('batches')} batches, {returned.get('rows')} rows in {returned.get('seconds')} s"

    def backfill(self) -> RunOfDag:
        """The middle half of each partition once more, to another table."""
        spec = self._stream.spec
        broker = ConfluentBroker(KafkaAccess(bootstrap=spec.kafka.bootstrap_servers), SystemClock())
        begin, end = {}, {}
        for one in broker.scan([self._stream.topic]).topic(self._stream.topic).partitions:
            earliest, latest = one.earliest or 0, one.latest or 0
            quarter = (latest - earliest) // 4
            begin[str(one.partition)], end[str(one.partition)] = earliest + quarter, latest - quarter
        table = f"{spec.sink.table}_again"
        before = count_rows(table) + count_rows(f"{table}_dead_letters")
        expected = sum(end[number] - begin[number] for number in begin)
        self._tell(f"{BACKFILL_DAG} is run: {expected} records from the middle of the topic, to a table of its own")
        form = {
            "stream": spec.name,
            "from": json.dumps({self._stream.topic: begin}),
            "to": json.dumps({self._stream.topic: end}),
            "reason": "make demo",
            "table": table.removeprefix("file://"),
            "chunk": max(1, expected // 3),
            "dry_run": False,
        }
        _, state = self._runs.through(BACKFILL_DAG, form)
        rows = count_rows(table) + count_rows(f"{table}_dead_letters") - before
        self._tell(f"{BACKFILL_DAG}: {state}, {rows} rows written for {expected} records")
        return RunOfDag(dag=BACKFILL_DAG, state=state, expected=expected, rows=rows)
