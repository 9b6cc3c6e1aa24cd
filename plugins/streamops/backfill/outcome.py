"""How a backfill came out. Pure."""

from dataclasses import replace

from streamops.backfill import BackfillProgress
from streamops.backfill.report import RunOutcome, RunReport


def outcome_of(report: RunReport, progress: BackfillProgress) -> RunReport:
    """The report on a run of a backfill: finished when the whole range is committed, whatever has ended its last driver.

    One that is killed or stopped right behind its last commit leaves no word of it, and nothing is left for another.
    """
    is_finished = report.is_over and progress.is_done
    return replace(report, outcome=RunOutcome.FINISHED) if is_finished else report
