"""One DAG for each live stream of the settings file, and one for what is wrong in it."""

import os

from streamops.airflow.dag_factory import build_dags

for dag in build_dags(os.environ.get("STREAMOPS_CONFIG", "config/streams.yaml")):
    globals()[dag.dag_id] = dag
