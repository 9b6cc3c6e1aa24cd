"""The model with bounded runs: people ask for them, end them, and their time passes, of a live stream and of a scheduled one."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from streamops.control.records import ClaimMode
from streamops.spec.sinks import SinkGuarantee
from support.model import STATE_ROOT, TALLY, StreamModel
from support.model_calm import assert_it_comes_to_what_is_declared, assert_it_rests_between_two_runs, calm_down
from support.model_invariants import assert_runs_are_drivers_of_runs, assert_runs_end_for_a_reason
from support.model_stage import Stage, after_calls
from support.specs import PERSON

BATCHES = st.sampled_from([0, 1, 3, 1000])
"""A thousand are more than any schedule has time for: then the time of the run is over first."""


class RunsModel(StreamModel):
    """All that may happen to a stream, and runs in between."""

    is_scheduled = False

    @initialize(guarantee=st.sampled_from([SinkGuarantee.IDEMPOTENT, SinkGuarantee.EXACTLY_ONCE_OR_NOTHING]))
    def begin(self, guarantee: SinkGuarantee) -> None:
        self.stage = Stage(STATE_ROOT, self.fleet, guarantee, is_scheduled=self.is_scheduled)
        self.stage.excuses |= {"rerun"} if guarantee is SinkGuarantee.EXACTLY_ONCE_OR_NOTHING else set()
        self.world = self.stage.world
        TALLY[f"{self.title} schedules"] += 1

    @rule(span=st.sampled_from([20, 60, 200, 3600]), batches=BATCHES, calls=st.integers(0, 8))
    def ask_for_a_run(self, span: int, batches: int, calls: int) -> None:
        self.stage.batches_to_read = batches
        person = self.world.person(storage=self.stage.storage_on(PERSON.host))
        until = self.world.hosts[PERSON.host].clock.now() + timedelta(seconds=span)
        self._as_person(lambda: person.begin_run(ClaimMode.CATCHUP, "far behind", until=until), calls)

    @rule(calls=st.integers(0, 8))
    def end_a_run(self, calls: int) -> None:
        person = self.world.person(storage=self.stage.storage_on(PERSON.host))
        self._as_person(lambda: person.end_run("enough"), calls)

    @invariant()
    def only_what_was_asked_for_runs_beside_what_is_declared(self) -> None:
        declared = None if self.is_scheduled else ClaimMode.LIVE
        assert_runs_are_drivers_of_runs(self.world.records, declared=declared)

    @invariant()
    def a_run_is_given_up_for_a_reason(self) -> None:
        if "clock" not in self.stage.excuses:
            assert_runs_end_for_a_reason(self.world.records)

    def come_to_rest(self) -> None:
        calm_down(self.stage)
        self._let_the_source_dry_up()
        if self.is_scheduled:
            assert_it_rests_between_two_runs(self.stage)
        else:
            assert_it_comes_to_what_is_declared(self.stage)
        TALLY[f"{self.title} runs"] += sum(
            record.body.kind == "maintenance_begun" and record.body.run is not None for record in self.world.records
        )

    def _let_the_source_dry_up(self) -> None:
        """Or a run would go on for its whole time."""
        self.stage.batches_to_read = 3
        for driver in self.world.drivers:
            driver.batches_to_read = min(driver.batches_to_read, 3)

    def _as_person(self, request, calls: int) -> None:
        self.stage.person(request, after_calls(calls) if calls else None)
