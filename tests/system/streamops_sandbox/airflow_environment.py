"""The environment of the sandbox's Airflow: SQLite, LocalExecutor, loopback, and the secrets.

Secrets are passed here and never as arguments, which every user of the machine can read.
"""

from collections.abc import Mapping

from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.state import ADMIN, SandboxState

PARALLELISM = 4
"""LocalExecutor forks all its workers at the start, about 140 MB each: the default of 32 fills a small machine."""

_NOBODY_LISTENS = 9
"""The discard port. The log servers of scheduler and triggerer listen on all interfaces and can't be told otherwise
(`serve_logs`, Airflow 3.3.2), so they are left out. The API server reads the task logs from the shared folder; what it
then still asks a log server for is refused at once instead of being answered by some other Airflow on port 8793."""


def airflow_environment(
    layout: SandboxLayout, state: SandboxState, *, inherited: Mapping[str, str], passed: Mapping[str, str]
) -> dict[str, str]:
    """What every component is started with; `passed` goes to tasks and triggers too and wins over everything.

    Airflow's own variables in `inherited` belong to another installation and are dropped.
    """
    base = {name: value for name, value in inherited.items() if not name.startswith("AIRFLOW_")}
    return base | _without_proxy(inherited) | _settings(layout, state) | dict(passed)


def airflow_url(state: SandboxState) -> str:
    """Where page and API answer, without a slash at the end."""
    return f"http://{LOOPBACK}:{state.airflow_port}"


def _settings(layout: SandboxLayout, state: SandboxState) -> dict[str, str]:
    home = layout.airflow_home
    url = airflow_url(state)
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(PARALLELISM),
        "AIRFLOW__CORE__DAGS_FOLDER": str(layout.dags),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(layout.plugins),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # A paused supervisor restarts nothing, and nobody expects to have to switch it on.
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        # Workers report to port 8080 unless told otherwise.
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(state.airflow_port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(_NOBODY_LISTENS),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(_NOBODY_LISTENS),
        "AIRFLOW__CORE__FERNET_KEY": state.fernet_key,
        "AIRFLOW__API__SECRET_KEY": state.api_secret_key,
        "AIRFLOW__API_AUTH__JWT_SECRET": state.jwt_secret,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADMIN}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(layout.airflow_passwords),
        # Seconds. Defaults of 300 and 300: a new dag and a dead worker would be noticed minutes late. Known files are parsed
        # at the default pace: each time costs a second of one core, which the drivers on this machine need.
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
    }


def _without_proxy(inherited: Mapping[str, str]) -> dict[str, str]:
    """Workers reach the execution API directly even where the shell names a web proxy."""
    present = inherited.get("NO_PROXY") or inherited.get("no_proxy") or ""
    hosts = ",".join(filter(None, [present, LOOPBACK, "localhost"]))
    return {"NO_PROXY": hosts, "no_proxy": hosts}
