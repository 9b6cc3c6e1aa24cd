"""What a supervising task writes into its log for each act."""

from typing import Any

from streamops.errors import StreamOpsError
from streamops.supervision.decision import Action
from streamops.supervision.endings import tail
from streamops.supervision.supervisor import Look

LOG_LINES = 50
"""Lines of a dead driver's log that go into the task log."""


def tell_act(log: Any, stream: str, look: Look) -> None:
    """One line for an act that was done; for the end of a driver the end of its log as well."""
    decision = look.decision
    log.info("stream=%s epoch=%d %s: %s", stream, decision.epoch, decision.action, decision.reason)
    if decision.action is not Action.RECORD_END:
        return
    for facts in look.observation.epochs:
        if facts.epoch.number == decision.epoch and facts.epoch.submission:
            _show_log(log, facts.epoch.submission.handle.log)


def _show_log(log: Any, path: str) -> None:
    try:
        log.info("last %d lines of %s:\n%s", LOG_LINES, path, "\n".join(tail(path, LOG_LINES)))
    except StreamOpsError as error:
        # The log may lie on another host; the restart does not wait for it.
        log.warning("the driver's log can't be shown: %s", error)
