"""From a failure to a case: what the driver's runner would leave behind."""

from collections.abc import Callable
from pathlib import Path

from streamops.control.records import Outcome
from streamops.control.texts import FAILURE_LIMIT, shortened
from streamops.failures.classify import DriverEvidence
from streamops.spark.failure import error_classes, failure_text
from support.provoke.bench import Bench
from support.provoke.case import Case, PreparationError, Provocation
from support.provoke.sanitise import sanitise, thinned


def record_one(provocation: Provocation, bench: Bench, root: Path) -> Case | None:
    """What a driver would leave behind after this failure; None when nothing failed."""
    error = _caught(lambda: provocation.run(bench))
    if error is None:
        return None
    text = failure_text(error)
    return Case(
        id=provocation.id,
        source=f"recorded: Spark 4.2.0, {provocation.how}",
        ending=DriverEvidence(
            outcome=Outcome.FAILED,
            error_classes=error_classes(text),
            text=thinned(sanitise(shortened(text, FAILURE_LIMIT), root)),
            exit_code=1,
            has_progressed=provocation.has_progressed,
        ),
        failure_class=provocation.failure_class,
        remedy=provocation.remedy,
    )


def _caught(run: Callable[[], None]) -> Exception | None:
    try:
        run()
    except PreparationError:
        raise
    except Exception as error:
        return error
    return None
