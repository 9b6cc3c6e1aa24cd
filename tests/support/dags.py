"""The DAGs of `dags/`, as Airflow parses them for one settings file."""

from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag

FOLDER = Path(__file__).parents[2] / "dags"
CONFIG_ERRORS_DAG = "streamops_config_errors"
RECONCILE_DAG = "streamops_reconcile"
CHECKPOINT_HEALTH_DAG = "streamops_checkpoint_health"
RETENTION_COVERAGE_DAG = "streamops_retention_coverage"
OPS_DAG = "streamops_ops"
CATCHUP_DAG = "streamops_catchup"
BACKFILL_DAG = "streamops_backfill"


def dag_bag(config: str | Path, file: str = "") -> DagBag:
    """The repository's DAG folder, or one file of it, with these settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMOPS_CONFIG", str(config))
        return DagBag(str(FOLDER / file))


def dags_of(config: str | Path, file: str = "") -> dict[str, Any]:
    """By id; no DAG file may fail."""
    bag = dag_bag(config, file)
    assert bag.import_errors == {}
    return dict(bag.dags)


def only_dag(config: str | Path, file: str) -> Any:
    """The one that a file gives."""
    (dag,) = dags_of(config, file).values()
    return dag
