"""One table from facts to the next step, in order, each row with its reason. Pure: no clock, no files, no logging."""

from streamops.spec import StreamSpec
from streamops.supervision.decision import Decision
from streamops.supervision.epoch_rules import decide_newest_epoch, decide_older_epoch
from streamops.supervision.observation import Observation
from streamops.supervision.start_rules import belongs_elsewhere, decide_start, log_is_behind, missing


def decide(observation: Observation, spec: StreamSpec, *, mine: frozenset[str]) -> Decision:
    """The next step. `mine` are the tokens of claims that this very supervisor appended and has not submitted yet.

    Whose checkpoint it is comes first: nothing of another stream is touched, and nothing is written to a log that is not
    whole. Then older epochs: nothing may be submitted
    while one of their drivers may live. Then the newest epoch; only when all have ended is a start considered.
    """
    if decision := (
        belongs_elsewhere(observation, spec) or log_is_behind(observation, spec) or missing(observation, spec)
    ):
        return decision
    newest = observation.state.newest
    for facts in observation.epochs:
        is_newest = newest is not None and facts.epoch.number == newest.number
        decision = (
            decide_newest_epoch(facts, observation, spec, mine=mine)
            if is_newest
            else decide_older_epoch(facts, observation, spec)
        )
        if decision:
            return decision
    return decide_start(observation, spec)
