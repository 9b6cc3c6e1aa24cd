"""The driver side: runs a job's query under a claim on its checkpoint.

Stdlib only at module level: the package travels as a zip to interpreters that have nothing but PySpark.
"""

from streamops.spark.context import StreamContext

__all__ = ["StreamContext"]
