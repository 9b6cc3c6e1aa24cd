"""Whom chaos strikes, when and for how long: drawn at random, the same for the same seed."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from streamops.spec import Timings


class Victim(StrEnum):
    """What is struck; the words stay, they are in `chaos.json`."""

    DRIVER_KILL = "driver-kill"
    JVM_KILL = "jvm-kill"
    PYTHON_KILL = "python-kill"
    DRIVER_TERM = "driver-term"
    JVM_TERM = "jvm-term"
    PYTHON_TERM = "python-term"
    SHORT_FREEZE = "short-freeze"
    LONG_FREEZE = "long-freeze"
    HANG = "hang"
    READ_ONLY = "read-only"
    LONG_READ_ONLY = "long-read-only"
    DISK_FULL = "disk-full"
    LONG_DISK_FULL = "long-disk-full"
    BROKER_KILL = "broker-kill"
    SUPERVISOR_KILL = "supervisor-kill"
    TASK_KILL = "task-kill"
    TRIGGERER_KILL = "triggerer-kill"
    SCHEDULER_KILL = "scheduler-kill"


class Fate(StrEnum):
    """What becomes of the driver that ran when the blow fell."""

    REPLACED = "replaced"
    UNTOUCHED = "untouched"
    STALLED = "stalled"
    """It lives, and commits no batch any more: never right."""


MEANING = {
    Victim.DRIVER_KILL: "SIGKILL for JVM and Python at once",
    Victim.JVM_KILL: "SIGKILL for the JVM alone",
    Victim.PYTHON_KILL: "SIGKILL for the job's Python alone",
    Victim.DRIVER_TERM: "SIGTERM for JVM and Python",
    Victim.JVM_TERM: "SIGTERM for the JVM, which leads the group",
    Victim.PYTHON_TERM: "SIGTERM for the job's Python: a graceful stop",
    Victim.SHORT_FREEZE: "SIGSTOP for less than the halt time, then SIGCONT",
    Victim.LONG_FREEZE: "SIGSTOP for longer than the halt time, then SIGCONT: the driver ends itself",
    Victim.HANG: "SIGSTOP for longer than the takeover time: the supervisor kills it",
    Victim.READ_ONLY: "control folder read-only for less than the halt time",
    Victim.LONG_READ_ONLY: "control folder read-only for longer than the halt time: the driver ends itself",
    Victim.DISK_FULL: "no space for the control folder for less than the halt time",
    Victim.LONG_DISK_FULL: "no space for the control folder for longer than the halt time: the driver ends itself",
    Victim.BROKER_KILL: "SIGKILL for the broker, started again some seconds later",
    Victim.SUPERVISOR_KILL: "SIGKILL for `streamops supervise`, started again some seconds later",
    Victim.TASK_KILL: "SIGKILL for the process of the supervising Airflow task",
    Victim.TRIGGERER_KILL: "SIGKILL for Airflow's triggerer, started again some seconds later",
    Victim.SCHEDULER_KILL: "SIGKILL for Airflow's scheduler, started again some seconds later",
}

SUDDEN = frozenset({Victim.DRIVER_KILL, Victim.JVM_KILL, Victim.PYTHON_KILL})
"""The driver ends at once: what is measured is how soon that is noticed."""

ASKED = frozenset({Victim.DRIVER_TERM, Victim.JVM_TERM, Victim.PYTHON_TERM})
"""The driver takes the time to end a batch and its session, and only its end can be noticed."""

SLOW = frozenset({Victim.LONG_FREEZE, Victim.HANG, Victim.LONG_READ_ONLY, Victim.LONG_DISK_FULL})
"""The driver must not be given up before halt or takeover time: what is noticed early would be wrong."""

REPLACED = SUDDEN | ASKED | SLOW

OF_SURROUNDINGS = frozenset({Victim.BROKER_KILL, Victim.SUPERVISOR_KILL, Victim.TRIGGERER_KILL, Victim.SCHEDULER_KILL})
"""Struck once for all streams."""

OF_MOUNTS = frozenset({Victim.READ_ONLY, Victim.LONG_READ_ONLY, Victim.DISK_FULL, Victim.LONG_DISK_FULL})
"""They need the right to mount."""

OF_SMALL_DISK = frozenset({Victim.DISK_FULL, Victim.LONG_DISK_FULL})

OF_AIRFLOW = frozenset({Victim.TASK_KILL, Victim.TRIGGERER_KILL, Victim.SCHEDULER_KILL})

_AT_ANY_TIME = frozenset({Victim.DRIVER_KILL, Victim.JVM_KILL, Victim.PYTHON_KILL, Victim.DRIVER_TERM, Victim.JVM_TERM})
"""Also while the driver starts. A frozen start beats late, not again, and a stop before the query is another story."""

LONGEST_START = timedelta(seconds=20)
LONGEST_RUN = timedelta(seconds=8)


class Instant(StrEnum):
    """When a blow falls."""

    STARTING = "starting"
    """At a random instant of the first twenty seconds: while the JVM starts, about the first beat, in the first batch."""
    RUNNING = "running"
    """At a random instant after a batch: in the middle of one, between two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """One blow, as drawn."""

    victim: Victim
    instant: Instant
    delay: timedelta
    """From the driver's submit, or from a batch of its."""
    lasts: timedelta
    """Of a freeze or an outage; nothing for a plain signal."""


def victims_of(*, with_airflow: bool, with_mounts: bool) -> tuple[Victim, ...]:
    """Whom chaos can strike in such a sandbox, in the order of their declaration."""
    absent = {Victim.SUPERVISOR_KILL} if with_airflow else OF_AIRFLOW
    beyond_us = frozenset() if with_mounts else OF_MOUNTS
    return tuple(victim for victim in Victim if victim not in absent | beyond_us)


def draw_blows(count: int, *, seed: int, victims: Sequence[Victim], timings: Timings) -> tuple[Blow, ...]:
    """Blows like cards from shuffled decks: with as many blows as victims, each is struck once."""
    chance = random.Random(seed)
    deck: list[Victim] = []
    blows = []
    for _ in range(count):
        if not deck:
            deck = chance.sample(list(victims), len(victims))
        blows.append(_blow(deck.pop(), chance, timings))
    return tuple(blows)


def duration_bounds(victim: Victim, timings: Timings) -> tuple[timedelta, timedelta]:
    """Shortest and longest outage of the kind, well on its side of the limit that it is about."""
    beat, halt, takeover = timings.beat, timings.halt, timings.takeover
    if victim in (Victim.SHORT_FREEZE, Victim.READ_ONLY, Victim.DISK_FULL):
        # The last beat may be one interval old, and the next takes its time: the halt counts from the former's start.
        return beat / 5, (halt - beat) * 0.6
    if victim is Victim.LONG_FREEZE:
        return halt + beat, takeover - 2 * beat
    if victim is Victim.HANG:
        return takeover + 4 * beat, takeover + 6 * beat
    if victim in (Victim.LONG_READ_ONLY, Victim.LONG_DISK_FULL):
        return halt + 2 * beat, halt + 4 * beat
    if victim in OF_SURROUNDINGS:
        return timedelta(0), timedelta(seconds=10)
    return timedelta(0), timedelta(0)


def _blow(victim: Victim, chance: random.Random, timings: Timings) -> Blow:
    instant = chance.choice(list(Instant)) if victim in _AT_ANY_TIME else Instant.RUNNING
    longest = LONGEST_START if instant is Instant.STARTING else LONGEST_RUN
    shortest_outage, longest_outage = duration_bounds(victim, timings)
    return Blow(
        victim=victim,
        instant=instant,
        delay=longest * chance.random(),
        lasts=shortest_outage + (longest_outage - shortest_outage) * chance.random(),
    )


def expected_fates(victim: Victim) -> Collection[Fate]:
    """What may become of the driver; anything else is a finding."""
    return {Fate.REPLACED} if victim in REPLACED else {Fate.UNTOUCHED}
