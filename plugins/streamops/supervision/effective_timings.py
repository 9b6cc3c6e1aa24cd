"""The clockwork that a driver is judged by: it runs with the timings of its claim, whatever the YAML says by now."""

from dataclasses import replace

from streamops.control.state import Epoch
from streamops.spec.stream import Timings
from streamops.spec.wire import timings_in


def timings_of(epoch: Epoch, declared: Timings) -> Timings:
    """The declared timings, nowhere shorter than those its driver was given.

    A driver that was told to halt after 120 s is not gone after 30 s because somebody has changed the YAML since, and a
    supervisor that has 60 s from claim to submit is not given up after 30 s.
    """
    given = timings_in(epoch.claim.spec)
    if given is None:
        return declared
    return replace(
        declared,
        halt=max(declared.halt, given.halt),
        takeover=max(declared.takeover, given.takeover),
        start=max(declared.start, given.start),
        claim=max(declared.claim, given.claim),
        stop=max(declared.stop, given.stop),
    )
