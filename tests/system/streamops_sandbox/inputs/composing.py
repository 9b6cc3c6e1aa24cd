"""From the slots of a timetable to records, whatever their content."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from streamops_sandbox.inputs.malformed import spoil, to_json
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import Shape
from streamops_sandbox.inputs.timetable import Kind, Slot, arrange


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The content of one record."""

    key: str
    fields: dict[str, Any] | None
    """None is a tombstone."""


def compose(
    write: Callable[[Slot], Written],
    *,
    topic: str,
    shape: Shape,
    seed: int,
    count: int,
    shares: Shares,
    null_is_content: bool = False,
) -> tuple[InputRecord, ...]:
    """`count` records, each written by `write` but for duplicates, and spoiled where it is malformed.

    A malformed record must be written with all its fields. ValueError where `count` is too small for its shares.
    """

    def records() -> Iterator[InputRecord]:
        originals: dict[int, InputRecord] = {}
        for slot in arrange(seed=seed, count=count, shares=shares):
            if slot.kind is Kind.DUPLICATE:
                yield replace(originals[slot.number], wave=slot.wave)
                continue
            written = write(slot)
            if slot.kind is Kind.MALFORMED:
                value = spoil(written.fields or {}, shape, number=slot.number, null_is_content=null_is_content)
            else:
                value = None if written.fields is None else to_json(written.fields)
            record = InputRecord(topic, written.key.encode(), value, slot.wave)
            if slot.kind is not Kind.MALFORMED:
                originals[slot.number] = record
            yield record

    return tuple(records())
