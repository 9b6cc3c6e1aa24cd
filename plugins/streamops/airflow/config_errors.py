"""What `streamops_config_errors` shows."""

from typing import NoReturn

from airflow.sdk.exceptions import AirflowFailException

from streamops.settings import Settings


def doc_of(settings: Settings) -> str:
    """For the page of the DAG."""
    return f"Mend these in the settings file; the DAG goes away by itself.\n\n{_told(settings)}"


def fail_with(settings: Settings) -> NoReturn:
    """AirflowFailException with everything that is wrong."""
    raise AirflowFailException(f"{len(settings.problems)} problem(s) in the settings:\n{_told(settings)}")


def _told(settings: Settings) -> str:
    problems = "\n".join(f"- {problem}" for problem in settings.problems)
    kept = ", ".join(f"{kept.name} (declared since {kept.since:%Y-%m-%d %H:%M} UTC)" for kept in settings.kept)
    return f"{problems}\n\nUntil then these go on as they were declared last: {kept}." if kept else problems
