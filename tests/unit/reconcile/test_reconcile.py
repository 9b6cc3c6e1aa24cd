"""From facts to findings, row by row."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given

from streamops.control.attendance import UNATTENDED_AFTER, Attendance
from streamops.control.records import (
    Author,
    MaintenanceBegun,
    Outcome,
    Parked,
    StopRequested,
)
from streamops.launch import DriverState, DriverStatus, FoundDriver
from streamops.reconcile import FindingKind, ReconcileSeverity, reconcile
from streamops.reconcile.attendance import DriverFault, fault_of, may_be_killed
from streamops.reconcile.facts import DeclarationState, FleetFacts, StreamFacts, StreamTask
from streamops.reconcile.finding import FindingStore, ReconcileRemedy, told, worst
from streamops.reconcile.reconciler import EVERYTHING, RECORDING, mandate
from streamops.supervision.decision import Action, Decision
from streamops.verdict import DatedVerdict, StreamVerdicts, Verdict
from support.observations import NOW
from support.records import a_claim, a_handle, a_log, a_state, a_submit, an_end, lawful_logs, token_of
from support.specs import CHECKPOINT, seconds

TRIGGER = Author(actor="airflow:trigger", host="host-1", pid=7)
LOOP = Author(actor="supervise", host="host-1", pid=7)
DAG = "stream__orders"

RUNS = (a_claim(1), a_submit(1))
REPLACED = (*RUNS, a_claim(2), a_submit(2))
DOWN = (*RUNS, an_end(1))


def a_sign(age: float = 5, by: Author = TRIGGER) -> Attendance:
    """A supervisor signed so many seconds ago."""
    return Attendance(stream="orders", at=NOW - seconds(age), by=by)


FRESH = a_sign()
OVER = a_sign(UNATTENDED_AFTER.total_seconds() + 1)


def a_driver(epoch: int = 1, *, token: str = "") -> FoundDriver:
    """A living driver with the arguments that its submit gave it."""
    handle = a_handle(f"{100 + epoch}:5")
    return FoundDriver(handle=handle, control=f"{CHECKPOINT}.streamops", epoch=epoch, token=token or token_of(epoch))


def polled(epoch: int = 1, state: DriverState = DriverState.RUNNING) -> tuple[int, DriverStatus]:
    return epoch, DriverStatus(state=state, evidence=f"process of epoch {epoch} is {state}")


def facts(*bodies, **changes) -> StreamFacts:
    """A declared stream with such a log; nobody attends, and no driver is seen unless told otherwise."""
    return replace(StreamFacts(stream="orders", checkpoint=CHECKPOINT, state=a_state(*bodies)), **changes)


def running(*bodies, epoch: int = 1, **changes) -> StreamFacts:
    """The same with a driver that lives and is attended to."""
    seen = {"statuses": (polled(epoch),), "living": (a_driver(epoch),), "attendance": FRESH}
    return facts(*(bodies or RUNS), **{**seen, **changes})


def findings(*streams: StreamFacts, **fleet):
    return reconcile(FleetFacts(at=NOW, streams=streams, **fleet), NOW)


def the_finding(stream: StreamFacts, **fleet):
    (found,) = findings(stream, **fleet)
    return found


def kinds(stream: StreamFacts, **fleet) -> list[FindingKind]:
    return [found.kind for found in findings(stream, **fleet)]


# Nothing to find

PAUSED = StreamTask(dag=DAG, is_paused=True)


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(running(), id="a driver runs and a trigger watches"),
        pytest.param(running(task=StreamTask(dag=DAG)), id="its DAG is there and not paused"),
        pytest.param(
            running(attendance=a_sign(by=LOOP), task=PAUSED),
            id="its DAG is paused, and a supervisor outside Airflow looks after it",
        ),
        pytest.param(
            running(attendance=a_sign(UNATTENDED_AFTER.total_seconds())), id="the last sign is as old as it may be"
        ),
        pytest.param(running(attendance=a_sign(-60)), id="the sign comes from a clock that is ahead"),
        pytest.param(
            facts(*RUNS, statuses=(polled(state=DriverState.ENDED),), attendance=FRESH),
            id="B80 ended, and whoever attends records it",
        ),
        pytest.param(facts(*DOWN, StopRequested(epoch=1), attendance=OVER), id="stopped, and nobody need watch it"),
        pytest.param(
            running(*RUNS, StopRequested(epoch=1), attendance=OVER, stop_grace=timedelta(hours=2)),
            id="asked to stop, and the grace is not over",
        ),
        pytest.param(
            running(a_claim(1), attendance=FRESH, statuses=()), id="submitted a moment ago, not on record yet"
        ),
        pytest.param(facts(*DOWN, declaration=DeclarationState.GONE), id="left the settings after it had ended"),
        pytest.param(
            facts(*RUNS, statuses=(polled(state=DriverState.ENDED),), declaration=DeclarationState.GONE),
            id="left the settings, its driver is gone",
        ),
    ],
)
def test_nothing_is_found(stream):
    assert kinds(stream) == []


# Drivers


def test_two_live_epochs_are_critical_at_once():
    """Whoever attends: an epoch is submitted only when the older driver is proven gone, so this is no passing state."""
    found = the_finding(running(*REPLACED, living=(a_driver(1), a_driver(2)), statuses=(polled(1), polled(2))))

    assert (found.kind, found.severity) == (FindingKind.TWO_LIVE_EPOCHS, ReconcileSeverity.CRITICAL)
    assert "drivers of epochs 1, 2 live" in found.evidence
    assert (found.remedy, [driver.epoch for driver in found.drivers]) == (ReconcileRemedy.KILL_ORPHANS, [1])


def test_two_live_epochs_are_found_by_the_launchers_word_alone():
    """On another host the process table shows neither."""
    stream = running(*REPLACED, living=(), statuses=(polled(1), polled(2, DriverState.BROKEN)))

    assert the_finding(stream).kind is FindingKind.TWO_LIVE_EPOCHS
    assert the_finding(stream).remedy is ReconcileRemedy.NONE


@pytest.mark.parametrize(
    ("bodies", "driver", "fault"),
    [
        pytest.param(RUNS, a_driver(1), None, id="the newest claim's own"),
        pytest.param((*RUNS, a_claim(2)), a_driver(1), DriverFault.SUPERSEDED, id="a newer claim exists"),
        pytest.param(DOWN, a_driver(1), DriverFault.ENDED, id="its end is on record, and there it is"),
        pytest.param(
            (*DOWN, a_claim(2)), a_driver(1), DriverFault.ENDED, id="its end is on record, and a newer claim too"
        ),
        pytest.param(RUNS, a_driver(1, token="else"), DriverFault.FOREIGN_TOKEN, id="the epoch is another driver's"),
        pytest.param(
            (*RUNS, a_claim(2)),
            a_driver(1, token="else"),
            DriverFault.FOREIGN_TOKEN,
            id="an older epoch is another driver's",
        ),
        pytest.param(RUNS, a_driver(2), DriverFault.AHEAD, id="an older copy of the log was put back"),
        pytest.param((Parked(),), a_driver(1), DriverFault.AHEAD, id="a log without a claim"),
        pytest.param((), a_driver(1), DriverFault.NO_LOG, id="the log was deleted"),
    ],
)
def test_a_driver_is_held_against_the_log(bodies, driver, fault):
    assert fault_of(driver, a_state(*bodies)) is fault


@pytest.mark.parametrize(
    ("bodies", "driver", "remedy"),
    [
        pytest.param((*RUNS, a_claim(2)), a_driver(1), ReconcileRemedy.KILL_ORPHANS, id="superseded"),
        pytest.param(DOWN, a_driver(1), ReconcileRemedy.KILL_ORPHANS, id="ended on record"),
        pytest.param(
            (*RUNS, an_end(1, Outcome.CONFIRMED_DEAD)), a_driver(1), ReconcileRemedy.KILL_ORPHANS, id="vouched dead"
        ),
        pytest.param(RUNS, a_driver(1, token="else"), ReconcileRemedy.NONE, id="a token that the log does not know"),
        pytest.param(RUNS, a_driver(2), ReconcileRemedy.NONE, id="newer than the log: the log may be wrong"),
        pytest.param((), a_driver(1), ReconcileRemedy.NONE, id="without a log: the log may come back"),
    ],
)
def test_an_orphan_is_critical_and_killed_only_on_the_logs_own_word(bodies, driver, remedy):
    stream = facts(*bodies, living=(driver,), attendance=a_sign(by=LOOP))

    (found,) = [found for found in findings(stream) if found.kind is FindingKind.ORPHAN_DRIVER]

    assert (found.severity, found.remedy) == (ReconcileSeverity.CRITICAL, remedy)
    assert driver.handle.process in found.evidence


def test_a_driver_that_its_supervisor_is_about_to_replace_is_no_orphan():
    stream = running(*RUNS, a_claim(2))
    early = stream.state.newest.claimed.at + seconds(10)

    assert reconcile(FleetFacts(at=early, streams=(replace(stream, attendance=replace(FRESH, at=early)),)), early) == ()
    assert kinds(stream) == [FindingKind.ORPHAN_DRIVER], "an hour later it is one"


def test_a_driver_of_an_unknown_stream_is_told_when_its_log_is_gone():
    stray = replace(a_driver(4), control="file:///elsewhere/clicks.streamops")

    (found,) = findings(strays=(stray,))

    assert (found.kind, found.severity, found.stream) == (FindingKind.ORPHAN_DRIVER, ReconcileSeverity.WARNING, "")
    assert "file:///elsewhere/clicks.streamops" in found.evidence
    assert found.remedy is ReconcileRemedy.NONE


@given(lawful_logs())
def test_only_drivers_that_the_log_disowns_may_be_killed(records):
    """Whatever the log: the one driver that may write is never among them."""
    for record in records:
        known = a_state(*(other.body for other in records[: record.number + 1]))
        newest = known.newest
        if newest and newest.is_open:
            driver = a_driver(newest.number)
            assert fault_of(driver, known) is None
            assert not may_be_killed(driver, records[: record.number + 1])


@pytest.mark.parametrize(
    ("bodies", "driver", "may"),
    [
        pytest.param(REPLACED, a_driver(1), True, id="a newer claim"),
        pytest.param(DOWN, a_driver(1), True, id="its end is on record"),
        pytest.param(RUNS, a_driver(1), False, id="the newest"),
        pytest.param(REPLACED, a_driver(1, token="else"), False, id="another token with a known number"),
        pytest.param(REPLACED, a_driver(2, token=token_of(1)), False, id="a known token with another number"),
        pytest.param((), a_driver(1), False, id="no log"),
    ],
)
def test_the_whole_log_decides_right_before_a_kill(bodies, driver, may):
    assert may_be_killed(driver, a_log(*bodies)) is may


# Who looks after a stream


@pytest.mark.fault("B78")
@pytest.mark.parametrize(
    ("task", "cause", "repair"),
    [
        pytest.param(None, "the last sign of airflow:trigger on host-1", "start a supervisor", id="nobody can say why"),
        pytest.param(PAUSED, f"its DAG {DAG} is paused", f"airflow dags unpause {DAG}", id="paused"),
        pytest.param(StreamTask(dag=DAG, is_present=False), f"Airflow has no DAG {DAG}", "import errors", id="missing"),
        pytest.param(
            StreamTask(dag=DAG, living_runs=1, is_deferred=True),
            f"the task of {DAG} is deferred, and no trigger looks after it",
            "a triggerer runs",
            id="B78 deferred, and the triggerer is dead",
        ),
        pytest.param(
            StreamTask(dag=DAG, living_runs=1), "its task gets no further", "the pool and the workers", id="no worker"
        ),
        pytest.param(StreamTask(dag=DAG, living_runs=0), f"no run of {DAG} lives", "scheduler", id="no run"),
    ],
)
def test_a_stream_that_nobody_attends_is_critical_with_its_cause(task, cause, repair):
    found = the_finding(running(attendance=OVER, task=task))

    assert (found.kind, found.severity) == (FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL)
    assert f"unsupervised since {OVER.at:%Y-%m-%d %H:%M:%S} UTC" in found.evidence
    assert cause in found.evidence
    assert repair in found.repair
    assert found.meaning == "epoch 1 runs; when it ends, nobody restarts it"


def test_a_stream_that_nobody_ever_attended_says_so():
    found = the_finding(facts())

    assert (found.kind, found.severity) == (FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL)
    assert found.evidence == "no supervisor has ever signed for it"


@pytest.mark.parametrize(
    ("stream", "age"),
    [
        pytest.param(facts(), 301, id="declared a while ago"),
        pytest.param(running(attendance=None), 20, id="an old stream in a file that was just edited"),
        pytest.param(facts(attendance=OVER), 20, id="somebody was there and has gone"),
    ],
)
def test_a_stream_that_nobody_looks_after_is_critical(stream, age):
    assert the_finding(stream, settings_age=seconds(age)).severity is ReconcileSeverity.CRITICAL


@pytest.mark.parametrize(
    "fleet",
    [
        pytest.param({"settings_age": seconds(20)}, id="declared a moment ago"),
        pytest.param({"first_seen": (("orders", NOW - seconds(20)),)}, id="seen for the first time, in a fresh clone"),
        pytest.param(
            {"settings_age": seconds(9000), "first_seen": (("orders", NOW - seconds(299)),)}, id="seen a while ago"
        ),
    ],
)
def test_a_new_stream_is_given_time_to_be_picked_up(fleet):
    assert findings(facts(), **fleet) == ()


def test_a_new_stream_that_nobody_picks_up_is_critical_in_the_end():
    first_seen = (("orders", NOW - seconds(301)),)

    assert the_finding(facts(), first_seen=first_seen).severity is ReconcileSeverity.CRITICAL


@pytest.mark.parametrize(
    ("changes", "meaning"),
    [
        pytest.param({"bodies": ()}, "it does not run, and nobody starts it", id="never started"),
        pytest.param(
            {"bodies": RUNS, "statuses": (polled(state=DriverState.UNKNOWN),)},
            "its driver can't be seen from here; when it ends, nobody restarts it",
            id="on another host: unknown is not dead",
        ),
        pytest.param(
            {"bodies": (*RUNS, StopRequested(epoch=1)), "statuses": (polled(),), "stop_grace": seconds(60)},
            "it was stopped and its driver does not obey: nobody is there to end it",
            id="stopped an hour ago, and it still lives",
        ),
        pytest.param(
            {"bodies": (*RUNS, MaintenanceBegun(until=NOW + seconds(60))), "statuses": (polled(),)},
            "epoch 1 runs; when it ends, nobody restarts it",
            id="during maintenance, which somebody must end",
        ),
    ],
)
def test_an_unattended_stream_is_told_by_what_becomes_of_it(changes, meaning):
    found = the_finding(facts(*changes.pop("bodies"), attendance=OVER, **changes))

    assert (found.kind, found.meaning) == (FindingKind.UNATTENDED, meaning)


@pytest.mark.parametrize(
    ("bodies", "statuses"),
    [
        pytest.param(RUNS, (polled(state=DriverState.ENDED),), id="nobody has recorded its end"),
        pytest.param(DOWN, (), id="its end was recorded, and then nobody came"),
    ],
)
def test_a_driver_that_ended_and_that_nobody_replaces_is_lost(bodies, statuses):
    decision = Decision(action=Action.CLAIM, reason="start is safe")

    found = findings(facts(*bodies, statuses=statuses, attendance=OVER, decision=decision))

    assert [(one.kind, one.severity) for one in found] == [
        (FindingKind.LOST_DRIVER, ReconcileSeverity.CRITICAL),
        (FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL),
    ]
    assert "epoch 1 has ended" in found[0].evidence
    assert "a supervisor would claim: start is safe" in found[0].evidence
    assert found[0].remedy is ReconcileRemedy.SETTLE


@pytest.mark.parametrize("state", [DriverState.UNKNOWN, DriverState.GONE], ids=str)
def test_a_driver_that_is_not_proven_dead_is_not_lost(state):
    assert kinds(facts(*RUNS, statuses=(polled(state=state),), attendance=OVER)) == [FindingKind.UNATTENDED]


def test_a_paused_dag_is_critical_although_its_trigger_watches():
    """Airflow queues no task of a paused DAG: the trigger fires, and nobody comes."""
    found = the_finding(running(task=PAUSED))

    assert (found.kind, found.severity) == (FindingKind.PAUSED_DAG, ReconcileSeverity.CRITICAL)
    assert "when its driver ends, nobody restarts it" in found.meaning


def test_a_missing_dag_is_critical_although_its_trigger_watches():
    assert kinds(running(task=StreamTask(dag=DAG, is_present=False))) == [FindingKind.MISSING_DAG]


def test_a_paused_dag_of_a_stopped_stream_is_as_it_should_be():
    assert kinds(facts(*DOWN, StopRequested(epoch=1), attendance=FRESH, task=PAUSED)) == []


# Standstills, declarations, trouble


def test_a_parked_stream_is_told_once_and_needs_a_person():
    found = the_finding(facts(*DOWN, Parked(), attendance=OVER, task=PAUSED))

    assert (found.kind, found.severity) == (FindingKind.PARKED, ReconcileSeverity.CRITICAL)
    assert "streamops release orders" in found.repair


def test_a_blocked_stream_is_told_once_and_needs_a_person():
    decision = Decision(action=Action.BLOCKED, reason="belongs to clicks", needs_attention=True)

    found = the_finding(facts(*DOWN, attendance=OVER, decision=decision))

    assert (found.kind, found.severity, found.evidence) == (
        FindingKind.BLOCKED,
        ReconcileSeverity.CRITICAL,
        "belongs to clicks",
    )


def judged(verdict: Verdict) -> DatedVerdict:
    return DatedVerdict(verdict=verdict, at=NOW, reason="some-rule")


@pytest.mark.parametrize(
    ("verdicts", "kinds"),
    [
        pytest.param(StreamVerdicts(checkpoint=judged(Verdict.OK), retention=judged(Verdict.OK)), [], id="all is well"),
        pytest.param(
            StreamVerdicts(checkpoint=judged(Verdict.CRITICAL), retention=judged(Verdict.WARNING)),
            [
                (FindingKind.CHECKPOINT, ReconcileSeverity.CRITICAL),
                (FindingKind.RETENTION, ReconcileSeverity.WARNING),
            ],
            id="both are ill",
        ),
        pytest.param(
            StreamVerdicts(retention=judged(Verdict.UNKNOWN)),
            [(FindingKind.RETENTION, ReconcileSeverity.WARNING)],
            id="nobody can tell",
        ),
    ],
)
@pytest.mark.parametrize("stream", [running(), facts(*DOWN, StopRequested(epoch=1))], ids=["it runs", "it is stopped"])
def test_what_its_places_were_judged_to_be_is_told(verdicts, kinds, stream):
    found = findings(replace(stream, verdicts=verdicts))

    assert [(one.kind, one.severity) for one in found] == kinds


def test_a_verdict_that_gets_worse_is_news():
    early = findings(running(verdicts=StreamVerdicts(retention=judged(Verdict.WARNING))))
    late = findings(running(verdicts=StreamVerdicts(retention=judged(Verdict.CRITICAL))))
    book = FindingStore.of(early, NOW)

    assert [one.is_new for one in book.dated(early)] == [False]
    assert [one.is_new for one in book.dated(late)] == [True]


def test_drivers_of_another_stream_on_the_same_checkpoint_are_its_own_business():
    found = the_finding(replace(running(*REPLACED, living=(a_driver(1), a_driver(2))), stream="clicks"))

    assert found.kind is FindingKind.BLOCKED
    assert "belongs to stream orders" in found.evidence


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        pytest.param({"attendance": FRESH}, ReconcileSeverity.WARNING, id="somebody watches it still"),
        pytest.param({"attendance": OVER}, ReconcileSeverity.CRITICAL, id="nobody does"),
        pytest.param(
            {"attendance": None, "living": (), "statuses": (polled(state=DriverState.UNKNOWN),)},
            ReconcileSeverity.UNKNOWN,
            id="it may run elsewhere",
        ),
    ],
)
def test_a_stream_that_left_the_settings_and_runs_is_told(changes, severity):
    found = the_finding(running(declaration=DeclarationState.GONE, **changes))

    assert (found.kind, found.severity) == (FindingKind.LEFT_SETTINGS, severity)
    assert CHECKPOINT in found.evidence


@pytest.mark.parametrize(
    ("stream", "severity", "meaning"),
    [
        pytest.param(
            running(), ReconcileSeverity.WARNING, "runs as it was declared before and is watched", id="watched"
        ),
        pytest.param(running(attendance=OVER), ReconcileSeverity.CRITICAL, "nobody restarts it", id="not watched"),
        pytest.param(facts(*DOWN), ReconcileSeverity.CRITICAL, "nobody can start it", id="down"),
        pytest.param(facts(), ReconcileSeverity.WARNING, "nobody can start it", id="never started"),
        pytest.param(facts(*DOWN, Parked()), ReconcileSeverity.WARNING, "it stands still", id="parked"),
    ],
)
def test_a_stream_with_a_wrong_declaration_is_told_by_what_becomes_of_it(stream, severity, meaning):
    found = the_finding(replace(stream, declaration=DeclarationState.WRONG, problems=("job: found nothing",)))

    assert (found.kind, found.severity, found.evidence) == (
        FindingKind.WRONG_SETTINGS,
        severity,
        "job: found nothing",
    )
    assert meaning in found.meaning


def test_two_live_epochs_of_a_stream_that_left_the_settings_are_critical_too():
    stream = running(*REPLACED, living=(a_driver(1), a_driver(2)), declaration=DeclarationState.GONE)

    assert kinds(stream) == [FindingKind.TWO_LIVE_EPOCHS, FindingKind.LEFT_SETTINGS]


def test_what_can_not_be_read_is_unknown_and_nothing_else_is_said():
    found = the_finding(replace(running(attendance=OVER), trouble="record 3 is gone"))

    assert (found.kind, found.severity) == (FindingKind.UNREADABLE, ReconcileSeverity.UNKNOWN)


def test_the_worst_comes_first_and_what_is_repaired_counts_no_more():
    found = findings(
        running(verdicts=StreamVerdicts(retention=judged(Verdict.WARNING))),
        replace(running(attendance=OVER), stream="clicks", state=a_state(a_claim(1, stream="clicks"))),
        troubles=("the process table can't be read",),
    )

    assert [one.severity for one in found] == [
        ReconcileSeverity.CRITICAL,
        ReconcileSeverity.UNKNOWN,
        ReconcileSeverity.WARNING,
    ]
    assert worst(found) is ReconcileSeverity.CRITICAL
    assert (
        worst(tuple(replace(one, is_repaired=one.severity is ReconcileSeverity.CRITICAL) for one in found))
        is ReconcileSeverity.UNKNOWN
    )
    assert worst(()) is ReconcileSeverity.OK


# What may be repaired, and what is known


@pytest.mark.parametrize(
    ("task", "sign", "allowed"),
    [
        pytest.param(StreamTask(dag=DAG, living_runs=0), OVER, EVERYTHING, id="the DAG could run, and does not"),
        pytest.param(StreamTask(dag=DAG, living_runs=1), OVER, frozenset(), id="a run lives: it is the supervisor"),
        pytest.param(StreamTask(dag=DAG, is_paused=True, living_runs=0), OVER, RECORDING, id="paused is not restarted"),
        pytest.param(StreamTask(dag=DAG, is_paused=True, living_runs=1), OVER, frozenset(), id="paused with a run"),
        pytest.param(StreamTask(dag=DAG, is_present=False), OVER, RECORDING, id="missing: perhaps not Airflow's"),
        pytest.param(None, OVER, RECORDING, id="nobody can say"),
        pytest.param(StreamTask(dag=DAG), OVER, frozenset(), id="nobody asked about runs"),
        pytest.param(
            StreamTask(dag=DAG, living_runs=0),
            a_sign(500, by=LOOP),
            RECORDING,
            id="it was not Airflow's: this may be the wrong host",
        ),
        pytest.param(StreamTask(dag=DAG, living_runs=0), None, RECORDING, id="never attended"),
    ],
)
def test_only_a_stream_whose_dag_could_run_and_does_not_is_started(task, sign, allowed):
    assert mandate(facts(*DOWN, task=task, attendance=sign)) == allowed


def test_what_is_known_keeps_its_date_and_what_was_repaired_is_news_again():
    first = findings(running(attendance=OVER))
    book = FindingStore.of(first, NOW)

    again = book.dated(findings(running(attendance=a_sign(500))))

    assert [one.since for one in again] == [NOW]
    assert FindingStore.of(again, NOW + seconds(60)) == book
    assert FindingStore.of((replace(again[0], is_repaired=True),), NOW) == FindingStore()


def test_a_finding_is_told_in_one_line_with_what_is_left_to_do():
    found = replace(the_finding(facts(*DOWN, Parked())), done="nothing")

    assert told(found) == (
        "orders: parked: reason 3 · it stands still until a person releases it · done: nothing"
        " · repair: mend the cause, then `streamops release orders --reason …`"
    )
