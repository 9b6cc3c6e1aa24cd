"""Which of a process' environment variables its drivers are given: what Java, Spark and Python need, and what is declared.

A supervisor's environment has secrets of others in it, Airflow's above all. A driver gets none of them unless its stream names
the variable in `launch.environment`; a claim carries that name, and never the value.
"""

import re
from collections.abc import Mapping, Sequence

_FROM_THE_SYSTEM = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR"),
    *("TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS"),
    *("KRB5*", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
_OF_SPARK = (
    *("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"),
    *("SPARK_PUBLIC_DNS", "SPARK_PREFER_IPV6", "SPARK_DIST_CLASSPATH", "SPARK_SCALA_VERSION", "SPARK_LOG_DIR"),
    *("SPARK_PID_DIR", "SPARK_USER", "HADOOP_HOME", "HADOOP_CONF_DIR", "HADOOP_USER_NAME", "YARN_CONF_DIR"),
    "HIVE_CONF_DIR",
)
"""A list and no prefix: SPARK_SUBMIT_OPTS and PYSPARK_GATEWAY_SECRET may be, or are, secrets."""
_OF_PYTHON = (
    *("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "PYTHONUNBUFFERED"),
    *("PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "CONDA_PREFIX"),
)
ALLOWED = (*_FROM_THE_SYSTEM, *_OF_SPARK, *_OF_PYTHON)
"""What every driver inherits; a name with a trailing * stands for all that begin like it."""
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
"""In either case; one with a login in it is a secret."""

_DECLARED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
_OF_AIRFLOW = "AIRFLOW"
"""With or without leading underscores: Airflow's secrets are none of a job's, and live no longer than its task."""


def is_declarable(name: str) -> bool:
    """Whether a stream may ask for a variable, or for all that begin alike: `PGPASSWORD`, `AWS_*`, and not `*`."""
    return bool(_DECLARED.fullmatch(name)) and not name.lstrip("_").startswith(_OF_AIRFLOW)


def driver_environment(environment: Mapping[str, str], declared: Sequence[str]) -> dict[str, str]:
    """What a driver inherits of a process' environment."""
    return {
        name: value
        for name, value in environment.items()
        if not name.lstrip("_").startswith(_OF_AIRFLOW) and (_is_allowed(name, value) or _is_among(name, declared))
    }


def missing_variables(environment: Mapping[str, str], declared: Sequence[str]) -> tuple[str, ...]:
    """Those that are declared by their full name and not there. A beginning may match nothing: `AWS_*` beside a role."""
    return tuple(name for name in declared if not name.endswith("*") and name not in environment)


def _is_allowed(name: str, value: str) -> bool:
    return _is_among(name, ALLOWED) or (name.lower() in _PROXIES and "@" not in value)


def _is_among(name: str, listed: Sequence[str]) -> bool:
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in listed)
