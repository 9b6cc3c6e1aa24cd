"""The Java exception behind a Python one."""

from typing import Any


def java_exception(error: BaseException) -> Any | None:
    """What the JVM threw, or None: PySpark keeps it in `_origin`, py4j in `java_exception` (4.2.0, 0.10.9.9)."""
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)
