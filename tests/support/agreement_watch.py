"""Asks all five places every few seconds, in a process of its own: `python -m support.agreement_watch ROOT PROJECT TARGET`.

Each answer is a line of JSON in the target. The commands run as a person's would, by the entry point of the command line and with
its exit codes; their settings are read anew each time. A sample that a record of the control log came into is left out.
"""

import contextlib
import io
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamops.cli.main import main as streamops
from streamops.cli.wiring import Session, Wiring
from streamops.errors import StreamOpsError
from streamops.status import Phase
from streamops.supervision.decision import Action
from streamops_sandbox.airflow_api import AirflowApi
from streamops_sandbox.errors import SandboxError
from support.agreement import StreamSample, Word

PAUSE_SECONDS = 3.0
_WORDS = {"ok": Word.FINE, "warning": Word.WARNING, "unknown": Word.ILL, "critical": Word.ILL}


def samples_of(target: Path) -> tuple[StreamSample, ...]:
    """All that was sampled so far, oldest first."""
    if not target.is_file():
        return ()
    lines = target.read_text(encoding="utf-8").splitlines()
    return tuple(_decoded(json.loads(line)) for line in lines)


def _decoded(content: dict[str, Any]) -> StreamSample:
    return StreamSample(
        stream=content["stream"],
        at=datetime.fromisoformat(content["at"]),
        status=Word(content["status"]),
        phase=Phase(content["phase"]),
        reconcile=Word(content["reconcile"]),
        plan=Word(content["plan"]),
        next_step=Action(content["next_step"]),
        planned_step=Action(content["planned_step"]),
        list_state=content["list_state"],
        is_paused=content["is_paused"],
        waits_for=content["waits_for"],
    )


def _encoded(sample: StreamSample) -> str:
    fields = {name: getattr(sample, name) for name in StreamSample.__slots__}
    return json.dumps(fields | {"at": sample.at.isoformat()})


class Sampler:
    """Asks about the streams of one settings file, which the environment names."""

    def __init__(self, api: AirflowApi) -> None:
        self._api = api

    def samples(self) -> Iterator[StreamSample]:
        """One sample of each stream; none of a stream that is just changing, or that can't be asked about."""
        session = Session(None, Wiring())
        for name in [spec.name for spec in session.settings().streams]:
            with contextlib.suppress(StreamOpsError):
                if sample := self._sample(session, name):
                    yield sample

    def _sample(self, session: Session, stream: str) -> StreamSample | None:
        before = session.look(session.spec(stream))
        status_code, status = _answer("status", stream)
        reconcile = _answer("reconcile")[1]
        plan_code, plan = _answer("plan", stream)
        dag = f"stream__{stream}"
        runs = self._api.dag_runs(dag)
        is_paused = bool(self._api.get(f"dags/{dag}")["is_paused"])
        after = session.look(session.spec(stream))
        if _stand(before) != _stand(after) or not (status and plan):
            return None
        severities = [_WORDS[found["severity"]] for found in reconcile["findings"] if found["stream"] == stream]
        return StreamSample(
            stream=stream,
            at=datetime.now(UTC),
            status=Word(status_code),
            phase=Phase(status["streams"][0]["phase"]),
            reconcile=max(severities, default=Word.FINE),
            plan=Word(plan_code),
            next_step=after.decision.action,
            planned_step=Action(plan["next_step"]),
            list_state=runs[0].state if runs else "",
            is_paused=is_paused,
            waits_for=after.decision.waits_for,
        )


def _stand(look: Any) -> tuple[int, str]:
    return look.observation.state.next_number, str(look.decision.action)


def _answer(*command: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command; nothing where it has failed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        code = streamops([*command, "--json"])
    try:
        return code, json.loads(output.getvalue())
    except ValueError:
        return code, {}


def main() -> None:
    """Sample until the process is ended."""
    from support.on_call_sandbox import OnCallSandbox

    root, project, target = (Path(argument) for argument in sys.argv[1:4])
    sampler = Sampler(OnCallSandbox(project, root).sandbox.api())
    with open(target, "a", encoding="utf-8") as lines:
        while True:
            # Without Airflow nobody sees a list that could contradict anything.
            with contextlib.suppress(SandboxError):
                for sample in sampler.samples():
                    lines.write(_encoded(sample) + "\n")
                    lines.flush()
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
