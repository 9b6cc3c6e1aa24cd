"""`make demo JOBS=J3,J6`: jobs of the catalogue at once, each struck in the middle of a batch, and the account of each.

What it does, in order:

1. A sandbox of its own, made anew: a broker, and the servers that the chosen jobs write to.
2. As many jobs at once as memory and cores allow, all under one `streamops supervise`, with empty topics.
3. Their input in waves, each when the one before is processed. In the second, every driver is killed (SIGKILL) in a batch.
4. Once all is read, the streams are stopped, and what lies in their sinks is compared with a plain computation over the input.

All figures go into `.sandbox/jobs.json`. Exit code 0 when every guarantee has held, 1 when not, 2 for a job that is none.
"""

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from streamops.errors import StreamOpsError
from streamops.settings import load_settings
from streamops.spec import StreamSpec
from streamops_sandbox.catalogue.case import Case
from streamops_sandbox.catalogue.cases import chosen, left_out
from streamops_sandbox.catalogue.memory import demand, room
from streamops_sandbox.catalogue.one_round import PROMPT, Round, topics_of
from streamops_sandbox.catalogue.outcome import Outcome
from streamops_sandbox.catalogue.rounds import plan_text, rounds_of
from streamops_sandbox.catalogue.table import print_outcomes
from streamops_sandbox.chaos.leftovers import end_leftovers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.json_file import write_json
from streamops_sandbox.layout import SandboxLayout, find_project
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.waiting import Narrator, StderrNarrator

RESULT = "jobs.json"
LOCK = "jobs.lock"
FOLDER = "jobs"
"""A sandbox beside the user's, used up by each run."""

SETTINGS = Path("config", "catalogue.yaml")
INTERRUPTED = 130
"""The exit code that shells give a program ended by Ctrl-C."""

RECORDS = 2_000
SEED = 8

LOG_WIDTH = 160
"""Of the table where no terminal says how wide it is."""


class Demo:
    """The chosen jobs, round by round."""

    def __init__(self, project: Path, console: Console, narrator: Narrator) -> None:
        self._project = project
        self._console = console
        self._narrator = narrator
        self._begin = time.monotonic()
        root = SandboxLayout.of_project(project).root
        self._result, self._lock = root / RESULT, root / LOCK
        self._sandbox = Sandbox(
            SandboxLayout(project=project, root=root / FOLDER),
            narrator=narrator,
            inherited={**os.environ, "STREAMOPS_CONFIG": str(project / SETTINGS)},
            added={"STREAMOPS_TRIGGER": PROMPT},
        )

    def run(self, cases: Sequence[Case], *, count: int, seed: int) -> tuple[Outcome, ...]:
        """The outcomes, fewer than cases where a round has failed; on disk, too, after each round. Nothing runs afterwards."""
        with self._alone():
            self._result.unlink(missing_ok=True)
            end_leftovers(self._sandbox)
            self._sandbox.reset()
            try:
                return self._rounds(self._set_up(cases), count=count, seed=seed)
            finally:
                self._sandbox.down()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A second run would clear away what the first one has running."""
        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self._lock, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SandboxError(
                    f"jobs of the catalogue run already in {self._lock.parent}: wait for them"
                ) from error
            yield

    def _set_up(self, cases: Sequence[Case]) -> dict[Case, StreamSpec]:
        self._sandbox.up(with_airflow=False, topics=())
        specs = self._specs(cases)
        if any(spec.sink.jdbc for spec in specs.values()):
            self._sandbox.start_postgres()
        if any(spec.sink.rest for spec in specs.values()):
            self._sandbox.start_rest_endpoint()
        return self._specs(cases)

    def _rounds(self, specs: Mapping[Case, StreamSpec], *, count: int, seed: int) -> tuple[Outcome, ...]:
        demands, free = [demand(spec) for spec in specs.values()], room()
        rounds = rounds_of(demands, free)
        self._tell(plan_text(demands, rounds, free))
        outcomes: list[Outcome] = []
        for number, names in enumerate(rounds, start=1):
            if len(rounds) > 1:
                self._tell(f"round {number} of {len(rounds)}: {', '.join(names)}")
            present = {case: spec for case, spec in specs.items() if case.stream in names}
            records = topics_of(tuple(present), seed=seed, count=count)
            one = Round(self._sandbox, present, records=records, tell=self._tell, narrator=self._narrator)
            try:
                outcomes += one.run()
            except SandboxError as error:
                # The jobs of the other rounds need not pay for it.
                self._tell(f"{', '.join(names)}: failed, no account: {error}")
            write_json(self._result, {"seed": seed, "jobs": [outcome.content for outcome in outcomes]})
        return tuple(outcomes)

    def _specs(self, cases: Sequence[Case]) -> dict[Case, StreamSpec]:
        environment = {**os.environ, **self._sandbox.environment()}
        settings = load_settings(self._project / SETTINGS, environment)
        return {case: settings.stream(case.stream) for case in cases}

    def _tell(self, text: str) -> None:
        self._narrator.settle()
        self._console.print(f"[dim]{time.monotonic() - self._begin:6.1f} s[/]  ", end="")
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the jobs that are named; the exit code."""
    arguments = _arguments(argv)
    console = Console()
    if not console.is_terminal:
        console.width = LOG_WIDTH
    try:
        cases = chosen(arguments.jobs)
    except StreamOpsError as error:
        _say(console, f"error: {error}")
        return 2
    for other in left_out(arguments.jobs):
        _say(console, f"{other.job} {other.stream} is left out: {other.reason}")
    try:
        demo = Demo(find_project(Path.cwd()), console, StderrNarrator())
        outcomes = demo.run(cases, count=arguments.records, seed=arguments.seed)
    except StreamOpsError as error:
        _say(console, f"demo failed: {error}")
        return 1
    except KeyboardInterrupt:
        _say(console, "interrupted; nothing of it runs any more")
        return INTERRUPTED
    print_outcomes(outcomes, console)
    return 0 if len(outcomes) == len(cases) and all(outcome.is_good for outcome in outcomes) else 1


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m streamops_sandbox.catalogue", description=__doc__)
    parser.add_argument("--jobs", required=True, help="numbers or streams, joined by commas, such as J3,J6; or all")
    parser.add_argument("--records", type=int, default=RECORDS, help="how many records a topic, about")
    parser.add_argument("--seed", type=int, default=SEED, help="another seed, other records")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
