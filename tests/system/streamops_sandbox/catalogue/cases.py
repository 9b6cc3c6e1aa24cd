"""All jobs of the catalogue, and which of them somebody means."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamops_sandbox.catalogue import fanned, joined, kept, landed, numbered_orders, published, stateful
from streamops_sandbox.catalogue.case import Case
from streamops_sandbox.errors import SandboxError

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A stream that can't be put on trial like the others."""

    job: str
    stream: str
    reason: str


def _number(case: Case) -> int:
    return int(case.job.removeprefix("J"))


CASES: tuple[Case, ...] = tuple(
    sorted(
        (
            *numbered_orders.CASES,
            *kept.CASES,
            *fanned.CASES,
            *stateful.CASES,
            *joined.CASES,
            *published.CASES,
            *landed.CASES,
        ),
        key=_number,
    )
)
"""By their numbers."""

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        job="J18",
        stream="rate_demo",
        reason="it drops its rows, so that there is nothing to compare",
    ),
)


def case_of(stream: str) -> Case:
    """The case of a stream; KeyError for one that has none."""
    return {case.stream: case for case in CASES}[stream]


def chosen(text: str) -> tuple[Case, ...]:
    """The jobs that are named, by number or by stream, parted by commas, each once and in the order of their numbers.

    `all` is all of them. SandboxError for a name that is none, and for a job that is left out: with the reason.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise SandboxError(f"no job is named: give some of {_known()}, or {ALL}")
    found: set[str] = set()
    for name in names:
        found |= {case.stream for case in _named(name)}
    return tuple(case for case in CASES if case.stream in found)


def left_out(text: str) -> tuple[LeftOut, ...]:
    """The streams of the jobs named that are not among the chosen ones."""
    names = {name.strip().lower() for name in text.split(",")}
    return tuple(found for found in LEFT_OUT if names & {ALL, found.job.lower()})


def _named(name: str) -> Sequence[Case]:
    if name.lower() == ALL:
        return CASES
    found = [case for case in CASES if name.upper() == case.job or name == case.stream]
    if found:
        return found
    for other in LEFT_OUT:
        if name.upper() == other.job or name == other.stream:
            raise SandboxError(f"{other.job} {other.stream} is left out: {other.reason}")
    raise SandboxError(f"there is no job {name!r} in the catalogue: give some of {_known()}, or {ALL}")


def _known() -> str:
    return ", ".join(f"{case.job} ({case.stream})" for case in CASES)
