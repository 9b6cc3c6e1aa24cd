"""Names that follow from those of a stream and of its settings file."""

from streamops.spec.stream import Mode, StreamSpec


def namespaced(namespace: str, name: str) -> str:
    """The id of a DAG: `team_b__streamops_reconcile`. Every id of ours is made here; one Airflow knows each id once."""
    return f"{namespace}__{name}" if namespace else name


def dag_id_of(spec: StreamSpec) -> str:
    """The id of the Airflow DAG that runs a declared stream."""
    own = catchup_dag_id if spec.mode is Mode.SCHEDULED else stream_dag_id
    return own(spec.name, namespace=spec.namespace)


def catchup_dag_id(stream: str, *, namespace: str = "") -> str:
    """The id of the Airflow DAG that runs a scheduled stream."""
    return namespaced(namespace, f"catchup__{stream}")


def stream_dag_id(stream: str, *, namespace: str = "") -> str:
    """The id of the Airflow DAG that keeps a live stream running."""
    return namespaced(namespace, f"stream__{stream}")
