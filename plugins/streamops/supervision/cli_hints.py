"""The command that carries a person's word on a stream; each needs a `--reason` besides. Pure.

No command knows the name of a backfill: all that can be said of one is said to `streamops backfill`, by stream and id.
"""

from streamops.control.layout import backfill_id, declared_name
from streamops.spec import Mode, StreamSpec


def called(spec: StreamSpec) -> str:
    """What people call it: `stream orders`, `backfill march of orders`."""
    if spec.mode is not Mode.BACKFILL:
        return f"stream {spec.name}"
    return f"backfill {backfill_id(spec.checkpoint)} of {_declared(spec)}"


def to_release(spec: StreamSpec, *, accepts_unsafe: bool = False) -> str:
    """Lets a parked stream run again; with `accepts_unsafe` its next start goes ahead whatever its plan says."""
    command = _resume(spec) if spec.mode is Mode.BACKFILL else f"streamops release {spec.name}"
    return f"{command} --accept-unsafe" if accepts_unsafe else command


def to_start(spec: StreamSpec) -> str:
    """Lets a stream run that was stopped on purpose."""
    return _resume(spec) if spec.mode is Mode.BACKFILL else f"streamops start {spec.name}"


def to_stop(spec: StreamSpec) -> str:
    """Lets it end between two batches, and stand still."""
    if spec.mode is Mode.BACKFILL:
        return f"streamops backfill {_declared(spec)} --stop {backfill_id(spec.checkpoint)}"
    return f"streamops stop {spec.name}"


def to_confirm_dead(spec: StreamSpec, epoch: int) -> str:
    """Vouches for the end of an epoch's driver."""
    return f"{to_start(spec)} --confirm-dead {epoch}"


def to_adopt(spec: StreamSpec) -> str:
    """Takes over a checkpoint whose log is lost; the range of a backfill is asked for anew."""
    if spec.mode is Mode.BACKFILL:
        return f"streamops backfill {_declared(spec)} --from … --to …"
    return f"streamops adopt {spec.name}"


def to_forget(spec: StreamSpec) -> str:
    """Lets the registry forget a stream, so that its next start is a first one."""
    return f"streamops forget {_declared(spec) if spec.mode is Mode.BACKFILL else spec.name}"


def resume_command(stream: str, backfill: str) -> str:
    """Goes on with a backfill of a declared stream."""
    return f"streamops backfill {stream} --resume {backfill}"


def _resume(spec: StreamSpec) -> str:
    return resume_command(_declared(spec), backfill_id(spec.checkpoint))


def _declared(spec: StreamSpec) -> str:
    return declared_name(spec.name, backfill_id(spec.checkpoint))
