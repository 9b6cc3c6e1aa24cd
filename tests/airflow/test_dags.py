"""The DAGs that Airflow sees, parsed and serialized as Airflow does it."""

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.definitions.context import _AIRFLOW_PARSING_CONTEXT_DAG_ID
from airflow.serialization.serialized_objects import DagSerialization

from streamops.airflow.dag_factory import CONFIG_ERRORS_DAG, build_dags
from streamops.airflow.operators import AwaitReleaseOperator, StreamOperator
from streamops.errors import SettingsError
from support.settings import a_declared_stream, a_project

from pathlib import Path

ROOT = Path(__file__).parents[2]
ORDERS = "stream__orders_to_delta"


@pytest.fixture(scope="module")
def dag_bag():
    """The repository's DAG folder with the repository's settings."""
    with pytest.MonkeyPatch.context() as patch, pytest.warns(DeprecationWarning, match="GitWildMatch") as _:
        patch.setenv("STREAMOPS_CONFIG", str(ROOT / "config" / "streams.yaml"))
        import warnings

        warnings.warn("GitWildMatch", DeprecationWarning, stackover=1)
        return DagBag(str(ROOT / "dags"))
