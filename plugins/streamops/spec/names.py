"""Names that follow from a stream's name."""


def stream_dag_id(stream: str) -> str:
    """The id of the Airflow DAG that keeps a live stream running."""
    return f"stream__{stream}"
