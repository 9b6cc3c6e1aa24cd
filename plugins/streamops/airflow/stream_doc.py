"""What the page of a stream's DAG says about it: where it reads and writes, and what to do when it is red."""

from streamops.diagnosis.checkup_text import printable
from streamops.durations import format_duration
from streamops.spec import Mode, StreamSpec


def doc_of(spec: StreamSpec, *, form: str) -> str:
    """Markdown, from the declaration. `form`: the id of the DAG with the form of acts."""
    every = f", {format_duration(spec.trigger.interval)}" if spec.trigger.interval else ""
    rows = {
        "job": spec.job,
        "reads": str(spec.source),
        "writes": spec.sink.address,
        "checkpoint": spec.checkpoint,
        "trigger": f"{spec.trigger.kind}{every}",
        "master": spec.launch.connection or spec.launch.master,
        "owner": spec.airflow.owner,
    }
    table = "\n".join(f"| {name} | {_cell(value)} |" for name, value in rows.items())
    told = _LIVE if spec.mode is Mode.LIVE else _BOUNDED
    runbook = f"**Runbook**: <{spec.airflow.runbook}>\n\n" if spec.airflow.runbook else ""
    said = told.format(stream=spec.name, form=form)
    return f"{_cell(spec.description)}\n\n| | |\n|---|---|\n{table}\n\n{runbook}{said}\n"


_LIVE = """\
**Red**: it is parked or blocked, or has not got on for half a minute; the last lines of the task `supervise` say why, and what
to do. **Green, and not running**: it was stopped on purpose. Nothing is to be triggered here: the next run begins by itself when
it is of use.

To start, stop, release, restart or adopt it, use the form of the DAG `{form}`. Marking, clearing or pausing never stops a stream.
At a shell: `streamops status {stream}`, `streamops check {stream}`, `streamops history {stream}`."""

_BOUNDED = """\
**Red**: the run did not end well; the last lines of its task say why, and what to do. **Skipped**: there was nothing to read, or
somebody has stopped the stream or runs it. Marking the task ends the run between two batches.

To stop or start the stream, use the form of the DAG `{form}`.
At a shell: `streamops status {stream}`, `streamops check {stream}`, `streamops history {stream}`."""


def _cell(text: str) -> str:
    """What people typed may not break the table."""
    return printable(text).replace("|", "\\|")
