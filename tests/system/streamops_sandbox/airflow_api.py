"""The few questions and acts of Airflow's REST API (v2) that the sandbox and the demo need."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from streamops_sandbox.errors import SandboxError

REQUEST_TIMEOUT = timedelta(seconds=30)
_PAGE = 100


class AirflowRefusedError(SandboxError):
    """Airflow answered a request with an error; `status` is its HTTP status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class DagRun:
    """One run of a dag."""

    run_id: str
    state: str
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstance:
    """One task of a run, in its present attempt. `state` is None before it is scheduled."""

    attempt_id: str
    task_id: str
    map_index: int
    state: str | None
    try_number: int
    started_at: datetime | None
    ended_at: datetime | None


class AirflowApi:
    """A client of one Airflow, logged in at the first call that needs it.

    Every method raises SandboxError when nothing answers, AirflowRefusedError when Airflow refuses.
    """

    def __init__(self, url: str, *, user: str, password: str) -> None:
        self._url = url
        self._user = user
        self._password = password
        self._token: str | None = None
        # The sandbox is on loopback: a web proxy named in the environment is not asked.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        """The JSON answer to `GET /api/v2/<path>`."""
        asked = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        return self._authorized("GET", asked)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON answer to `POST /api/v2/<path>`."""
        return self._authorized("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON answer to `PATCH /api/v2/<path>`."""
        return self._authorized("PATCH", path, body)

    def heartbeats(self) -> dict[str, datetime]:
        """The last heartbeat of each component that Airflow itself calls healthy, by component name; needs no login."""
        health = self._request("GET", "/api/v2/monitor/health")
        beats = {}
        for key in ("scheduler", "triggerer", "dag_processor"):
            part = health.get(key) or {}
            if part.get("status") == "healthy":
                beats[key.replace("_", "-")] = datetime.fromisoformat(part[f"latest_{key}_heartbeat"])
        return beats

    def dag_runs(self, dag_id: str) -> tuple[DagRun, ...]:
        """The runs of the dag, newest first, 100 at most."""
        answer = self.get(f"dags/{_quoted(dag_id)}/dagRuns", order_by="-run_after", limit=_PAGE)
        return tuple(_dag_run(run) for run in answer["dag_runs"])

    def start_run(self, dag_id: str, conf: Mapping[str, Any]) -> str:
        """Begin a run of the dag with that form filled in; its id."""
        answer = self.post(f"dags/{_quoted(dag_id)}/dagRuns", {"logical_date": None, "conf": dict(conf)})
        return str(answer["dag_run_id"])

    def returned(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """What a task of a run has returned; empty where it is no mapping."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{_quoted(task_id)}/xcomEntries/return_value"
        value = self.get(path, deserialize="true").get("value")
        return value if isinstance(value, dict) else {}

    def task_instances(self, dag_id: str, run_id: str) -> tuple[TaskInstance, ...]:
        """The task instances of one run, 100 at most."""
        answer = self.get(f"{_run_path(dag_id, run_id)}/taskInstances", limit=_PAGE)
        return tuple(_task_instance(instance) for instance in answer["task_instances"])

    def clear_task_instance(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Let the task run again, its run too if that has ended."""
        body = {"dag_run_id": run_id, "task_ids": [task_id], "only_failed": False, "reset_dag_runs": True}
        self.post(f"dags/{_quoted(dag_id)}/clearTaskInstances", body | {"dry_run": False})

    def set_task_state(self, dag_id: str, run_id: str, task_id: str, *, state: str) -> None:
        """Mark the task instance `success`, `failed` or `skipped`."""
        self.patch(f"{_run_path(dag_id, run_id)}/taskInstances/{_quoted(task_id)}", {"new_state": state})

    def _authorized(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        resource = f"/api/v2/{path}"
        if self._token is None:
            self._log_in()
        try:
            return self._request(method, resource, body)
        except AirflowRefusedError as refusal:
            if refusal.status != 401:
                raise
        # The token is a day old, or Airflow was set up anew.
        self._log_in()
        return self._request(method, resource, body)

    def _log_in(self) -> None:
        self._token = None
        answer = self._request("POST", "/auth/token", {"username": self._user, "password": self._password})
        self._token = answer["access_token"]

    def _request(self, method: str, resource: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}{resource}", data=content, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=REQUEST_TIMEOUT.total_seconds()) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            detail = error.read(2000).decode(errors="replace")
            raise AirflowRefusedError(
                f"airflow answered {method} {resource} with {error.code}: {detail}", status=error.code
            ) from error
        except (OSError, ValueError) as error:
            raise SandboxError(
                f"no answer from airflow to {method} {self._url}{resource}: {error}. "
                "Look at `streamops-sandbox status`, start it with `streamops-sandbox up`"
            ) from error
        if not isinstance(answer, dict):
            raise SandboxError(f"airflow answered {method} {resource} with no JSON object: another server's port?")
        return answer


def _quoted(part: str) -> str:
    # Run ids hold colons and plus signs.
    return urllib.parse.quote(part, safe="")


def _run_path(dag_id: str, run_id: str) -> str:
    return f"dags/{_quoted(dag_id)}/dagRuns/{_quoted(run_id)}"


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _dag_run(content: Mapping[str, Any]) -> DagRun:
    return DagRun(
        run_id=content["dag_run_id"],
        state=content["state"],
        started_at=_moment(content["start_date"]),
        ended_at=_moment(content["end_date"]),
    )


def _task_instance(content: Mapping[str, Any]) -> TaskInstance:
    return TaskInstance(
        attempt_id=content["id"],
        task_id=content["task_id"],
        map_index=content["map_index"],
        state=content["state"],
        try_number=content["try_number"],
        started_at=_moment(content["start_date"]),
        ended_at=_moment(content["end_date"]),
    )
