"""Names that follow from a stream's name."""

from streamops.spec.stream import Mode, StreamSpec


def dag_id_of(spec: StreamSpec) -> str:
    """The id of the Airflow DAG that runs a declared stream."""
    return catchup_dag_id(spec.name) if spec.mode is Mode.SCHEDULED else stream_dag_id(spec.name)


def catchup_dag_id(stream: str) -> str:
    """The id of the Airflow DAG that runs a scheduled stream."""
    return f"catchup__{stream}"


def stream_dag_id(stream: str) -> str:
    """The id of the Airflow DAG that keeps a live stream running."""
    return f"stream__{stream}"
