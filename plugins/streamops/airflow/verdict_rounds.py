"""What the DAGs have in common that judge all streams, round after round: shards, then a task for each stream that is not ok."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from streamops.airflow.explicit_dag import CONFIG_ERRORS_DAG, tried_once
from streamops.errors import SettingsError
from streamops.fleet.health_round import answer_of, shard_of, summary_of, tasks_of
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_change import OnChange, VerdictChange, load_on_change
from streamops.fleet.verdict_store import RoundReport
from streamops.settings import Settings, settings_in_force
from streamops.spec import StreamSpec
from streamops.spec.health_rounds import HealthRounds
from streamops.spec.wire import namespaced
from streamops.verdict import Verdict

log = logging.getLogger(__name__)

STUCK = timedelta(minutes=10)
"""A round that waits so long for its tasks to run gives way to the next one."""

_LEVELS = {
    Verdict.OK: logging.INFO,
    Verdict.WARNING: logging.WARNING,
    Verdict.UNKNOWN: logging.WARNING,
    Verdict.CRITICAL: logging.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRounds:
    """One kind of rounds."""

    section: str
    """Of the settings."""
    rounds_of: Callable[[Settings], HealthRounds]
    judge: Callable[[Settings, list[StreamSpec], OnChange | None], RoundReport]
    """One round over some streams."""
    look: Callable[[Settings, StreamSpec], HealthLook]
    """A look at one stream that is kept nowhere."""

    def run_shard(self, config: str, *, shard: int, shards: int) -> dict[str, Any]:
        """One round over the streams of a shard. AirflowFailException where the settings declare nothing."""
        settings = _settings(config)
        specs = [spec for spec in settings.streams if shard_of(spec.name, shards) == shard]
        on_change, trouble = self._on_change(settings)
        wrong = tuple(str(problem) for problem in settings.asides if problem.place.split(".")[0] == self.section)
        found = self.judge(settings, specs, on_change)
        report = RoundReport(looks=found.looks, troubles=(*wrong, *([trouble] if trouble else []), *found.troubles))
        for text in report.troubles:
            log.error("%s", text)
        answer = answer_of(report, shard=shard)
        log.info("%s", summary_of([answer]))
        return answer

    def run_report(self, config: str, shown: Mapping[str, Any]) -> None:
        """Show one stream's report as it is now, or a list. AirflowFailException where it is critical."""
        verdict, lines = Verdict(shown["verdict"]), tuple(shown["lines"])
        if shown["stream"]:
            verdict, lines = self._present(config, shown["stream"], verdict, lines)
        log.log(_LEVELS[verdict], "%s\n%s", shown["label"], "\n".join(lines))
        if verdict is Verdict.CRITICAL:
            raise AirflowFailException(f"{shown['label']}: {verdict}: {lines[0]}")

    def _present(
        self, config: str, stream: str, seen: Verdict, lines: tuple[str, ...]
    ) -> tuple[Verdict, tuple[str, ...]]:
        """The verdict and the report of now. What was critical is so until a look has shown that it is not."""
        settings = _settings(config)
        spec = next((spec for spec in settings.streams if spec.name == stream), None)
        told = f"the round found {seen}: {'; '.join(lines)}"
        if spec is None:
            errors = namespaced(settings.namespace, CONFIG_ERRORS_DAG)
            return seen, (told, f"By now it is not declared any more, or not rightly: see {errors}.")
        look = self.look(settings, spec)
        is_out_of_sight = seen is Verdict.CRITICAL and look.verdict is Verdict.UNKNOWN
        return (seen if is_out_of_sight else look.verdict), (told, "", *look.report)

    def _on_change(self, settings: Settings) -> tuple[OnChange | None, str]:
        """Whom to tell, and why that can't be had: then each change stays untold, to be told when it can."""
        name = self.rounds_of(settings).on_change
        if not name:
            return None, ""
        try:
            return load_on_change(name, section=self.section), ""
        except SettingsError as error:
            trouble = str(error)

        def refuse(change: VerdictChange) -> None:
            raise SettingsError(trouble)

        return refuse, trouble


def shards_of(rounds: HealthRounds, settings: Settings) -> int:
    """How many tasks share the streams: never more than there are streams."""
    return min(rounds.shards, max(1, len(settings.streams)))


def run_limit(rounds: HealthRounds) -> timedelta:
    """How long a round may take."""
    return max(rounds.every, STUCK)


@tried_once()
def run_gather(answers: Any, *, shards: int) -> list[dict[str, Any]]:
    """What is to be shown of all answers; empty where every stream is ok."""
    given = list(answers)
    log.info("%s", summary_of(given))
    return tasks_of(given, shards=shards)


def _settings(config: str) -> Settings:
    settings = settings_in_force(config)
    if not settings.state_root:
        whole = [str(problem) for problem in settings.whole]
        raise AirflowFailException("the settings declare nothing that could be checked:\n" + "\n".join(whole))
    return settings
