"""Tasks that supervise streams, run them once, read ranges again, and carry people's acts out."""

from streamops.airflow.operators.stream import StreamOperator

__all__ = ["StreamOperator"]
