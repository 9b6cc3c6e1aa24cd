"""The frame of every DAG of ours: all that an installation may set a default for is said here, once.

Airflow 3.3.2 takes its defaults from the configuration of the installation, and some of them would disarm a stream: a
time-out of ten minutes kills what supervises, and a DAG that is paused after three failed runs no longer tells what is
wrong. What is not said here is the installation's business on purpose: `queue`, as only it knows which workers there are,
and `run_as_user`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout

from streamops.spec import AirflowSpec

# Moving it would change every DAG's schedule; that it lies in the past is all that counts.
START = datetime(2026, 1, 1, tzinfo=UTC)

CONFIG_ERRORS_DAG = "streamops_config_errors"
"""Without the namespace, as the ids of all DAGs of the fleet."""

SLICE = timedelta(minutes=30)
"""How long a task may stay on a worker at a time. A wait is a deferral, so no slice of ours takes longer than minutes: one
that does hangs, and the next try goes on where it stood. Airflow does not count the time of a deferral."""

TRIES_AGAIN = 3
"""For trouble of workers, and of a server that is not there yet; a verdict of ours is an AirflowFailException, which nothing
tries again."""
SECONDS_BETWEEN_TRIES = 15

FORMS_AT_ONCE = 16
"""Runs of a form: people act on several streams at the same time."""

NEVER_PAUSED = 0
"""Of `max_consecutive_failed_dag_runs`: with 0 no number of failed runs pauses a DAG; None is the installation's default."""

URGENT = 100
"""Weight of what keeps streams running: a restart goes before a report where worker slots are scarce."""
PLAIN = 10


@contextmanager
def tried_once() -> Iterator[None]:
    """For tasks whose next run comes by itself: whatever goes wrong inside is not tried again. What never got so far is, as
    with a server that is not there yet."""
    try:
        yield
    except AirflowFailException:
        raise
    except (Exception, AirflowTaskTimeout) as error:
        raise AirflowFailException(f"{type(error).__name__}: {error}") from error


def explicit_dag(
    dag_id: str,
    *,
    description: str,
    schedule: Any = None,
    tags: Collection[str] = (),
    doc: str | None = None,
    params: Mapping[str, Any] | None = None,
    slice_limit: timedelta = SLICE,
    run_limit: timedelta | None = None,
    weight: int = PLAIN,
    runs_at_once: int = 1,
    run_types: Collection[Any] | None = None,
    shown: AirflowSpec | None = None,
) -> DAG:
    """A DAG without tasks yet. `run_limit` None is no limit: there is no default for it in Airflow.

    `shown`: how a stream is to be shown; a DAG of the fleet is shown as it is.
    """
    shown = shown or AirflowSpec()
    return DAG(
        dag_id=dag_id,
        description=description,
        schedule=schedule,
        start_date=START,
        catchup=False,
        max_active_runs=runs_at_once,
        max_active_tasks=16,
        max_consecutive_failed_dag_runs=NEVER_PAUSED,
        dagrun_timeout=run_limit,
        # A paused DAG restarts nothing and tells nothing, and new DAGs are paused unless told otherwise.
        is_paused_upon_creation=False,
        fail_fast=False,
        allowed_run_types=run_types,
        params=dict(params) if params else None,
        doc_md=doc,
        tags={"streamops", *tags, *shown.tags},
        dag_display_name=shown.display_name or dag_id,
        owner_links={shown.owner: shown.runbook} if shown.runbook else {},
        default_args=_task_defaults(shown.owner, weight=weight, slice_limit=slice_limit),
    )


def _task_defaults(owner: str, *, weight: int, slice_limit: timedelta) -> dict[str, Any]:
    """What every task of a DAG of ours has."""
    return {
        "owner": owner,
        "execution_timeout": slice_limit,
        "retries": TRIES_AGAIN,
        "retry_delay": timedelta(seconds=SECONDS_BETWEEN_TRIES),
        "retry_exponential_backoff": 0,
        "retry_policy": None,
        "depends_on_past": False,
        "wait_for_downstream": False,
        "trigger_rule": "all_success",
        "pool": "default_pool",
        "pool_slots": 1,
        "priority_weight": weight,
        "weight_rule": "absolute",
        "email_on_failure": False,
        "email_on_retry": False,
    }
