"""Several jobs at once: one supervisor, one input, a blow against each, and the account of each."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from streamops.spec import StreamSpec
from streamops_sandbox.catalogue.case import Case, Place, Sent
from streamops_sandbox.catalogue.delivery import Delivery, made_landing_folders
from streamops_sandbox.catalogue.outcome import Outcome, Run, judge
from streamops_sandbox.catalogue.playing import Player, play
from streamops_sandbox.catalogue.topics import make_anew
from streamops_sandbox.catalogue.trial import MissedBlowError, Trial
from streamops_sandbox.drivers import kill_drivers_below
from streamops_sandbox.inputs import InputRecord
from streamops_sandbox.sandbox import SUPERVISOR_DAEMON, SUPERVISOR_STOP_GRACE, Sandbox
from streamops_sandbox.waiting import Narrator

PARTITIONS = 2
PROMPT = "200ms"
"""Time between two looks of the supervisor, and between two batches: nobody waits for either here."""


class Round:
    """Some jobs, from empty topics to their stop."""

    def __init__(
        self,
        sandbox: Sandbox,
        cases: Mapping[Case, StreamSpec],
        *,
        records: Mapping[str, tuple[InputRecord, ...]],
        tell: Callable[[str], None],
        narrator: Narrator,
    ) -> None:
        """`records` are those of each topic that a job reads, and the files of each folder."""
        self._sandbox = sandbox
        self._bootstrap = sandbox.broker.bootstrap
        self._cases = cases
        self._records = records
        self._tell = tell
        self._narrator = narrator
        self._folders = made_landing_folders(cases)
        self._delivery = Delivery(bootstrap=self._bootstrap, folders=self._folders)
        self._trials = {
            case: Trial(spec, bootstrap=self._bootstrap, told=lambda: sandbox.daemons.log_tail(SUPERVISOR_DAEMON))
            for case, spec in cases.items()
        }

    def run(self) -> tuple[Outcome, ...]:
        """The outcome of each job. Nothing of them runs afterwards, whatever has happened."""
        try:
            self._prepare()
            begin = time.monotonic()
            self._start_supervisor()
            self._play()
            seconds = self._stop(begin)
            return tuple(self._outcome(case, seconds[case]) for case in self._cases)
        finally:
            self._narrator.settle()
            self._sandbox.daemons.stop(SUPERVISOR_DAEMON, grace=SUPERVISOR_STOP_GRACE)
            kill_drivers_below(f"file://{self._sandbox.layout.data}")

    def _prepare(self) -> None:
        sinks = [spec.sink.kafka.topic for spec in self._cases.values() if spec.sink.kafka]
        for topic in (*(self._records.keys() - self._folders.keys()), *sinks):
            make_anew(self._bootstrap, topic, partitions=PARTITIONS)
        for case in self._cases:
            if case.prepare:
                case.prepare(self._place(case), self._sent(case))

    def _start_supervisor(self) -> None:
        names = [case.stream for case in self._cases]
        command = [sys.executable, "-m", "streamops.cli.main", "supervise", *names, "--interval", PROMPT]
        environment = {**os.environ, **self._sandbox.environment()}
        self._sandbox.daemons.start(SUPERVISOR_DAEMON, command, environment=environment)
        self._tell(f"streamops supervise {' '.join(names)}")

    def _play(self) -> None:
        with ExitStack() as watches:
            players = [self._player(case, watches) for case in self._cases]
            everything = [record for records in self._records.values() for record in records]
            play(players, everything, deliver=self._delivery.deliver, course=OneBlowEach(self._tell, self._narrator))

    def _player(self, case: Case, watches: ExitStack) -> Player:
        written = watches.enter_context(case.watched(self._place(case)))
        return Player(trial=self._trials[case], written=written, shows_batches=case.shows_batches)

    def _place(self, case: Case) -> Place:
        return Place(spec=self._cases[case], bootstrap=self._bootstrap)

    def _sent(self, case: Case) -> Sent:
        return {feed.topic: self._records[feed.topic] for feed in case.feeds}

    def _stop(self, begin: float) -> dict[Case, float]:
        """How long each ran, in seconds."""
        for trial in self._trials.values():
            trial.ask_to_stop("all is read", actor="sandbox:demo")
        seconds = {}
        for case, trial in self._trials.items():
            trial.wait_for_stop()
            seconds[case] = round(time.monotonic() - begin, 1)
        self._tell("all is read; the streams have stopped")
        return seconds

    def _outcome(self, case: Case, seconds: float) -> Outcome:
        spec = self._cases[case]
        place = self._place(case)
        sent = self._sent(case)
        run = Run(
            job=case.job,
            stream=case.stream,
            sink=spec.sink,
            records=sum(map(len, sent.values())),
            kills=self._trials[case].kills,
            seconds=seconds,
        )
        return judge(
            run,
            came=case.came(place),
            expected=case.expected(sent),
            dead_letters=case.letters(place),
            expected_dead_letters=[(record.topic, record.key, record.value) for record in case.malformed(sent)],
        )


class OneBlowEach:
    """Strikes each driver once, in the second wave; where the batch was faster, again in the next one."""

    FIRST_WAVE = 1
    """In the wave before, the driver starts, and state comes into being."""

    def __init__(self, tell: Callable[[str], None], narrator: Narrator) -> None:
        self._tell = tell
        self._narrator = narrator

    def is_due(self, trial: Trial, *, wave: int) -> bool:
        return wave >= self.FIRST_WAVE and trial.kills == 0

    def sent(self, records: int, *, wave: int, waves: int) -> None:
        self._tell(f"wave {wave + 1} of {waves}: {records} records are sent")
        self._narrator.waiting(f"wave {wave + 1} of {waves}: until all streams have read it")

    def struck(self, trial: Trial, batch: int | None) -> None:
        moment = "between two marks" if batch is None else f"in batch {batch}"
        self._tell(f"{trial.spec.name}: kill -9 of its driver {moment}; the next driver is submitted")

    def missed(self, error: MissedBlowError) -> None:
        self._tell(f"{error}; again in the next wave")


def topics_of(cases: Sequence[Case], *, seed: int, count: int) -> dict[str, tuple[InputRecord, ...]]:
    """The input of all of them: `count` records a topic or lines a folder, fewer where its feed says so."""
    return {topic: records for case in cases for topic, records in case.sent(seed=seed, count=count).items()}
