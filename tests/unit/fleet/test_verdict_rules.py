"""When a verdict counts as changed: one row for each situation that matters."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.catalogue.watch import HealthSample
from streamops.fleet.health_history import HealthEntry, KeptChange, NotedChange
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_store import Upkeep, has_record, is_untold, settled_verdict, upkeep_of
from streamops.verdict import Verdict
from support.clock import START
from support.specs import a_stream

OK, WARNING, UNKNOWN, CRITICAL = Verdict.OK, Verdict.WARNING, Verdict.UNKNOWN, Verdict.CRITICAL
MINUTE = timedelta(minutes=1)
PATIENCE = 4 * MINUTE


def a_look(verdict: Verdict, *, at: datetime = START, trouble: str = "") -> HealthLook:
    sample = HealthSample(at=at, verdict=verdict, rules=("a-rule",) if verdict is not OK else ())
    return HealthLook(spec=a_stream(), sample=sample, report=(), trouble=trouble)


def an_entry(verdict: Verdict, *, at: datetime = START - 5 * MINUTE, is_recorded: bool = True) -> HealthEntry:
    return HealthEntry(sample=HealthSample(at=at, verdict=verdict), is_recorded=is_recorded)


def kept(after: str, *, at: datetime = START - 60 * MINUTE, is_told: bool = True, again: bool = False) -> KeptChange:
    return KeptChange(noted=NotedChange(number=3, at=at, after=after), is_told=is_told, is_taken_over=again)


@pytest.mark.parametrize(
    ("before", "previous", "seen", "settled"),
    [
        pytest.param(None, None, OK, OK, id="the first look, and all is well"),
        pytest.param(None, None, CRITICAL, CRITICAL, id="the first look, and it is bad"),
        pytest.param(None, None, UNKNOWN, OK, id="the first look, and the place does not answer"),
        pytest.param(OK, OK, CRITICAL, CRITICAL, id="damage counts at once"),
        pytest.param(OK, OK, WARNING, WARNING, id="so does a warning"),
        pytest.param(WARNING, WARNING, CRITICAL, CRITICAL, id="it gets worse"),
        pytest.param(OK, OK, UNKNOWN, OK, id="no answer for a moment"),
        pytest.param(OK, UNKNOWN, UNKNOWN, UNKNOWN, id="no answer twice in a row"),
        pytest.param(OK, UNKNOWN, OK, OK, id="and then it answers"),
        pytest.param(CRITICAL, CRITICAL, UNKNOWN, CRITICAL, id="no answer is no repair"),
        pytest.param(UNKNOWN, UNKNOWN, CRITICAL, CRITICAL, id="what was hidden is bad"),
        pytest.param(CRITICAL, CRITICAL, OK, CRITICAL, id="good once"),
        pytest.param(CRITICAL, OK, OK, OK, id="good twice in a row"),
        pytest.param(CRITICAL, WARNING, OK, CRITICAL, id="better in two ways is not twice the same"),
        pytest.param(CRITICAL, OK, CRITICAL, CRITICAL, id="it comes and goes"),
        pytest.param(CRITICAL, None, CRITICAL, CRITICAL, id="nothing has changed"),
    ],
)
def test_which_verdict_counts(
    before: Verdict | None, previous: Verdict | None, seen: Verdict, settled: Verdict
) -> None:
    assert settled_verdict(before, previous=previous, seen=seen) is settled


@given(st.none() | st.sampled_from(Verdict), st.none() | st.sampled_from(Verdict), st.sampled_from(Verdict))
def test_what_counts_is_what_counted_or_what_is_seen(
    before: Verdict | None, previous: Verdict | None, seen: Verdict
) -> None:
    assert settled_verdict(before, previous=previous, seen=seen) in (before or OK, seen)


@given(st.lists(st.sampled_from([OK, CRITICAL]), max_size=20))
def test_a_verdict_that_comes_and_goes_each_time_changes_once_at_most(looks: list[Verdict]) -> None:
    flickering = [verdict for index, verdict in enumerate(looks) if index == 0 or verdict is not looks[index - 1]]
    counts, previous, changes = OK, None, 0
    for seen in flickering:
        settled = settled_verdict(counts, previous=previous, seen=seen)
        changes += settled is not counts
        counts, previous = settled, seen

    assert changes <= 1


def test_a_change_has_the_next_number_and_what_it_rests_on() -> None:
    upkeep = upkeep_of(a_look(CRITICAL), previous=an_entry(OK), kept=kept("warning"), patience=PATIENCE)

    assert upkeep == Upkeep(
        settled=CRITICAL,
        change=NotedChange(number=4, at=START, after="critical", before="warning", rules=("a-rule",)),
        is_record_due=True,
    )


def test_the_first_change_has_no_verdict_before_it() -> None:
    upkeep = upkeep_of(a_look(CRITICAL), previous=None, kept=None, patience=PATIENCE)

    assert upkeep.change == NotedChange(number=0, at=START, after="critical", before="", rules=("a-rule",))


def test_a_change_that_can_not_be_read_is_no_verdict_and_its_number_is_taken() -> None:
    broken = KeptChange(noted=NotedChange(number=3, at=datetime(1, 1, 1, tzinfo=UTC), after=""))

    assert upkeep_of(a_look(OK), previous=None, kept=broken, patience=PATIENCE).change is None
    change = upkeep_of(a_look(CRITICAL), previous=None, kept=broken, patience=PATIENCE).change
    assert change is not None
    assert (change.number, change.before) == (4, "")


def test_nothing_is_to_do_where_all_is_as_it_was() -> None:
    upkeep = upkeep_of(a_look(CRITICAL), previous=an_entry(CRITICAL), kept=kept("critical"), patience=PATIENCE)

    assert upkeep == Upkeep(settled=CRITICAL, is_recorded=True)


@pytest.mark.parametrize(
    ("look", "previous", "kept_change", "is_due"),
    [
        pytest.param(a_look(OK), None, None, True, id="the first look: the log may hold an older verdict"),
        pytest.param(a_look(OK), an_entry(OK), None, False, id="the look before has seen it there"),
        pytest.param(a_look(OK), an_entry(OK, is_recorded=False), None, True, id="it has not"),
        pytest.param(a_look(CRITICAL), an_entry(OK), None, True, id="a change"),
        pytest.param(a_look(UNKNOWN), an_entry(OK), None, False, id="what does not count yet"),
        pytest.param(
            a_look(UNKNOWN, trouble="no answer"), an_entry(UNKNOWN), None, False, id="the log is out of reach as well"
        ),
        pytest.param(
            a_look(CRITICAL),
            an_entry(OK, at=START - 10 * MINUTE),
            kept("critical", at=START - 5 * MINUTE),
            True,
            id="the round that noted it came no further",
        ),
    ],
)
def test_when_the_control_log_is_to_be_given_the_verdict(
    look: HealthLook, previous: HealthEntry | None, kept_change: KeptChange | None, is_due: bool
) -> None:
    assert upkeep_of(look, previous=previous, kept=kept_change, patience=PATIENCE).is_record_due is is_due


@pytest.mark.parametrize(
    ("change", "is_waiting"),
    [
        pytest.param(kept("critical", is_told=True), False, id="told"),
        pytest.param(kept("critical", is_told=False), True, id="noted long ago, and not told"),
        pytest.param(
            kept("critical", is_told=False, at=START - 3 * MINUTE), False, id="a round may be about to tell it"
        ),
        pytest.param(kept("critical", is_told=False, at=START - PATIENCE), True, id="no round takes so long"),
        pytest.param(kept("critical", is_told=False, again=True), False, id="taken over already, and in vain"),
        pytest.param(
            kept("critical", is_told=False, at=START + 60 * MINUTE), True, id="noted by a clock that is ahead"
        ),
        pytest.param(kept("", is_told=False), False, id="broken: there is nothing to tell"),
    ],
)
def test_when_a_change_waits_to_be_told(change: KeptChange, is_waiting: bool) -> None:
    assert is_untold(change, START, patience=PATIENCE) is is_waiting


def test_a_new_change_is_told_in_place_of_an_untold_one() -> None:
    upkeep = upkeep_of(a_look(CRITICAL), previous=an_entry(OK), kept=kept("warning", is_told=False), patience=PATIENCE)

    assert (upkeep.change is not None, upkeep.untold) == (True, None)


def test_a_look_of_the_round_that_noted_the_change_knows_whether_it_is_recorded() -> None:
    assert has_record(an_entry(CRITICAL, at=START), kept("critical", at=START))
