"""`streamops check`: any checkpoint, declared or not, judged without Spark."""

import json
import os
import sys
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from streamops.catalogue.watch import Watch
from streamops.checkpoint.source_offsets import OffsetForm
from streamops.cli.check_places import (
    Answer,
    Applications,
    AvailableNow,
    Bootstrap,
    DeltaPath,
    SinkPath,
    asked_kafka,
    asked_kafka_of,
    refuse_without_library,
    sink_fields,
    sink_place,
    source_table,
)
from streamops.cli.options import AsJson, duration, session_of
from streamops.clock import SystemClock
from streamops.diagnosis.checkup import Checkup, check_stream
from streamops.diagnosis.checkup import check as check_checkpoint
from streamops.diagnosis.checkup_text import checkup_lines, printable
from streamops.diagnosis.declared_places import SourceInput
from streamops.diagnosis.judge import explanations
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED, engine_of
from streamops.errors import SettingsError, StorageError
from streamops.retention.checkup_with_kafka import EXPLANATIONS
from streamops.spec import StreamSpec
from streamops.spec.sources import MAX_FILE_AGE
from streamops.spec.stream import is_stream_name
from streamops.storage.address import canonical_address, is_root
from streamops.storage.kinds import storage_for
from streamops.verdict import Verdict

_STYLES = {
    "ok": "bold green",
    "note": "dim",
    "warning": "bold yellow",
    "unknown": "bold magenta",
    "critical": "bold red",
}
"""Of the verdict and of each finding, which stand first in their lines, before two blanks."""
_WIDTH = 110
"""Columns where stdout is no terminal."""


def show_checkup(checkup: Checkup, console: Console) -> None:
    """Print it. Its lines are printable, whatever the files hold."""
    if not console.is_terminal:
        console.width = _WIDTH
    for line in checkup_lines(checkup):
        text = line.lstrip(" ")
        if text == line:
            # Whole, so that an address or an id can be copied; a terminal folds it by itself.
            console.print(_styled(line), soft_wrap=True)
        else:
            console.print(Padding(Text(text), (0, 0, 0, len(line) - len(text)), expand=False), soft_wrap=False)


def _styled(line: str) -> Text:
    first, blanks, rest = line.partition("  ")
    return Text.assemble((first, _STYLES[first]), blanks, rest) if first in _STYLES else Text(line)


_OF_A_STREAM = frozenset({"checkpoint", "as_json", "explain"})
"""What may be asked of a declared stream."""

EXIT_CODES = {Verdict.OK: 0, Verdict.WARNING: 3, Verdict.UNKNOWN: 4, Verdict.CRITICAL: 4}


SinkIdempotent = Annotated[
    Answer,
    typer.Option("--sink-idempotent", help="Whether the sink recognises a batch that it has had; auto: not known."),
]
AsyncProgress = Annotated[
    Answer,
    typer.Option(
        "--async-progress", help="Whether the query runs with `asyncProgressTrackingEnabled`; auto: as it looks."
    ),
]
SparkVersion = Annotated[
    str, typer.Option("--spark-version", metavar="V", help="The Spark of the next start: 3.5 to 4.3.")
]
RuleToExplain = Annotated[
    str,
    typer.Option(
        "--explain",
        metavar="RULE",
        help="Say what a rule is about, or `all` of them, and nothing else.",
        show_default=False,
    ),
]
Confs = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="A setting of the next run, to see whether the checkpoint pins another; may be repeated.",
        show_default=False,
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="PATH",
        help="The folder that a file source reads: compared with what was read of it; may be repeated.",
        show_default=False,
    ),
]
MaxFileAge = Annotated[
    timedelta | None,
    typer.Option(
        "--max-file-age",
        parser=duration,
        metavar="DURATION",
        help="The source's option `maxFileAge`: 12h, 30d. Default: 7d.",
        show_default=False,
    ),
]


def check(
    context: typer.Context,
    checkpoint: Annotated[
        str,
        typer.Argument(
            metavar="CHECKPOINT",
            help="Folder or address of a checkpoint; or the name of a declared stream, which is judged by its settings alone.",
            show_default=False,
        ),
    ] = "",
    spark_version: SparkVersion = PINNED.version,
    sink_idempotent: SinkIdempotent = Answer.AUTO,
    async_progress: AsyncProgress = Answer.AUTO,
    confs: Confs = None,
    source_inputs: Inputs = None,
    max_file_age: MaxFileAge = None,
    sink: SinkPath = "",
    applications: Applications = None,
    delta: DeltaPath = "",
    kafka: Bootstrap = "",
    available_now: AvailableNow = Answer.AUTO,
    explain: RuleToExplain = "",
    as_json: AsJson = False,
) -> None:
    """Judge a checkpoint: what a start would do now, what is wrong, how to repair it.

    Needs neither Spark nor a JVM nor any settings, and changes nothing. Of a declared stream everything is asked that its
    declaration names: Kafka, a Delta table, a folder of files, the sink.

    Exit code 0: ok. 3: a warning. 4: critical, or unknown.
    """
    if explain:
        sys.stdout.write(_explanation(explain) + "\n")
        return
    if not checkpoint:
        raise SettingsError("which checkpoint? `streamops check CHECKPOINT`")
    if spec := _declared(context, checkpoint):
        _refuse_options_of_a_folder(context, spec)
        state_root = session_of(context).settings().state_root
        declared = check_stream(spec, storage_for=storage_for, now=SystemClock().now(), state_root=state_root)
        refuse_without_library(declared.sink)
        declared = asked_kafka_of(declared, spec, session_of(context).wiring)
        _show(declared, as_json=as_json)
        raise typer.Exit(EXIT_CODES[declared.verdict])
    address = canonical_address(checkpoint, base=os.getcwd())
    if is_root(address):
        raise SettingsError(
            f"{checkpoint!r} is the root of a file system or a bucket, and no checkpoint: name its folder"
        )
    try:
        checkup = check_checkpoint(
            storage_for(address),
            address,
            engine=engine_of(spark_version),
            is_sink_idempotent=sink_idempotent.known,
            tracks_progress_async=async_progress.known,
            source_form=_source_form(kafka=kafka, delta=delta, files=source_inputs),
            confs=tuple(_conf(text) for text in confs or ()),
            watch=Watch(now=SystemClock().now()),
            source_inputs=[_source_input(path) for path in source_inputs or ()],
            max_file_age=max_file_age or MAX_FILE_AGE,
            sink=sink_place(sink, applications),
            source_table=source_table(delta),
        )
    except StorageError as error:
        _show_unread(address, error, as_json=as_json)
        raise typer.Exit(EXIT_CODES[Verdict.UNKNOWN]) from error
    refuse_without_library(checkup.sink)
    checkup = asked_kafka(checkup, kafka, session_of(context).wiring, is_available_now=available_now.known)
    _show(checkup, as_json=as_json)
    raise typer.Exit(EXIT_CODES[checkup.verdict])


def _source_form(*, kafka: str, delta: str, files: list[str] | None) -> OffsetForm | None:
    """Of the source that was named; where several are, each of them may be any of the query's."""
    named = ((kafka, OffsetForm.KAFKA), (delta, OffsetForm.DELTA), (files, OffsetForm.FILES))
    forms = [form for name, form in named if name]
    return forms[0] if len(forms) == 1 else None


def _refuse_options_of_a_folder(context: typer.Context, spec: StreamSpec) -> None:
    """Of a stream only its settings are asked: an option beside them would count for nothing."""
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in _OF_A_STREAM and _is_given(context, str(parameter.name))
    ]
    if given:
        raise SettingsError(
            f"{', '.join(given)}: {spec.name} is a declared stream, and only its settings are asked; options are for a"
            f" folder: streamops check {spec.checkpoint} {' '.join(given)} …"
        )


def _is_given(context: typer.Context, name: str) -> bool:
    """Compared by name: the enumeration is Click's own or, with later versions of Typer, that of the copy it brings."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _declared(context: typer.Context, text: str) -> StreamSpec | None:
    """The stream of that name; None where a folder is called so, or nobody has declared one.

    SettingsError where it is declared and wrong: it must not be taken for a folder that is not there.
    """
    if not is_stream_name(text) or os.path.exists(text):
        return None
    try:
        settings = session_of(context).settings()
    except SettingsError:
        return None  # no settings are needed to check a folder
    names = {spec.name for spec in settings.streams} | {problem.stream for problem in settings.errors}
    return settings.stream(text) if text in names else None


def _show(checkup: Checkup, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(checkup_fields(checkup), ensure_ascii=True, indent=2) + "\n")
    else:
        show_checkup(checkup, Console(highlight=False, emoji=False, markup=False, soft_wrap=True))


def _show_unread(address: str, error: StorageError, *, as_json: bool) -> None:
    """The verdict on what can't be read: nothing is known of it, which is not the same as healthy."""
    way_out = "see that it is the folder of a checkpoint, and ask as the user that runs the driver"
    if as_json:
        fields: dict[str, object] = {
            "checkpoint": address,
            "verdict": Verdict.UNKNOWN,
            "restart": {"safety": Safety.UNKNOWN, "summary": f"it can't be read: {error}"},
            "error": str(error),
            "repair": way_out,
            "findings": [],
        }
        sys.stdout.write(json.dumps(fields, ensure_ascii=True, indent=2) + "\n")
    else:
        sys.stdout.write(
            f"unknown  {printable(address)}\nIt can't be read: {printable(str(error))}\n  repair: {way_out}\n"
        )


def _conf(text: str) -> tuple[str, str]:
    """`spark.sql.shuffle.partitions=400`"""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise SettingsError(f"--conf {text!r}: KEY=VALUE is expected")
    return key.strip(), value


def _source_input(path: str) -> SourceInput:
    address = canonical_address(path, base=os.getcwd())
    return SourceInput(storage=storage_for(address), address=address)


def checkup_fields(checkup: Checkup) -> dict[str, object]:
    """The report as JSON has it."""
    facts, restart = checkup.snapshot.facts, checkup.restart
    return {
        "checkpoint": facts.address,
        "verdict": checkup.verdict,
        "spark_version": checkup.engine.version,
        "restart": {
            "safety": restart.safety,
            "next_batch": restart.next_batch,
            "reruns": list(restart.reruns),
            "ranges": [{"start": source.start, "end": source.end} for source in restart.ranges],
            "expected_error": restart.expected_error,
            "summary": restart.summary,
        },
        "findings": [
            {
                "rule": finding.rule,
                "severity": str(finding.severity),
                "file": finding.file,
                "evidence": finding.evidence,
                "meaning": finding.meaning,
                "repair": finding.repair,
                "not_when": finding.not_when,
                "at_start": finding.start.kind if finding.start else None,
            }
            for finding in checkup.findings
        ],
        "sink": sink_fields(checkup.sink),
        "facts": {
            "last_offset": facts.last_offset,
            "last_commit": facts.last_commit,
            "query_id": facts.query_id,
            "log_version": facts.newest.version if facts.newest else None,
            "planned_at": facts.newest.planned_at.isoformat() if facts.newest and facts.newest.planned_at else None,
            "spark_fingerprint": facts.spark_fingerprint,
        },
    }


EVERY_RULE = "all"


def _explanation(rule: str) -> str:
    known = explanations() | EXPLANATIONS
    if rule == EVERY_RULE:
        return "\n".join(f"{name}: {about}" for name, about in known.items())
    if rule not in known:
        raise SettingsError(f"no rule {rule!r}; rules: {', '.join(sorted(known))}")
    return f"{rule}: {known[rule]}"
