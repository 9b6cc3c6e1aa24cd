"""One DAG for each live stream of the settings file, and one for what is wrong in it."""

import os
from pathlib import Path

from streamops.airflow.dag_factory import build_dags

BESIDE_THIS_FOLDER = Path(__file__).parents[1] / "config" / "streams.yaml"

for dag in build_dags(os.environ.get("STREAMOPS_CONFIG") or str(BESIDE_THIS_FOLDER)):
    globals()[dag.dag_id] = dag
