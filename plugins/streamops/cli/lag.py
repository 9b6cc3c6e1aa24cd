"""`streamops lag`: how far streams are behind, and until when that can be made good."""

from typing import Annotated

import typer

from streamops.cli.options import AsJson, Streams, session_of
from streamops.cli.output import output
from streamops.errors import SettingsError
from streamops.kafka.access import access_of
from streamops.retention.observe_lag import LagPorts, lags_of
from streamops.verdict import Verdict

EXIT_CODES = {Verdict.OK: 0, Verdict.WARNING: 3, Verdict.UNKNOWN: 4, Verdict.CRITICAL: 4}


def lag(
    context: typer.Context,
    streams: Streams = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All declared streams, one line each.", show_default=False)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what streams have not read yet, whether it is still there, and until when.

    It compares the checkpoint with the broker, so it tells the same of a living and of a dead query. The deadline is the
    moment at which the first record that waits may be deleted; act-by leaves half an hour for a restart, and the time to
    catch up. A query that was seen to keep pace, by the looks that the DAG streamops_retention_coverage keeps, has no
    deadline. Of a stream that reads a Delta table or files, which have no such deadline, it tells the versions or the files
    that are not read yet. Credentials come from the properties file that STREAMOPS_KAFKA_PROPERTIES names. Reads only.

    Exit code 0: ok. 3: somebody must act within twelve hours, or a topic keeps its records for less than the outage that is
    declared as tolerated. 4: records are lost or act-by is over, or the answer is not known.
    """
    session = session_of(context)
    if not streams and not everything:
        raise SettingsError("which stream? `streamops lag STREAM`, or `streamops lag --all`")
    settings = session.settings()
    specs = list(settings.streams) if everything else [settings.stream(name) for name in dict.fromkeys(streams or ())]
    doors = LagPorts(
        storage_for=settings.storage_for,
        access_for=lambda spec: access_of(spec.kafka.bootstrap_servers, spec.kafka.options),
        broker_for=lambda access: session.wiring.broker(access, session.clock),
        clock=session.clock,
    )
    found = lags_of(specs, doors=doors)
    output(as_json=as_json).lags(found, in_detail=not everything)
    worst = max((EXIT_CODES[one.verdict] for one in found), default=0)
    raise typer.Exit(worst)
