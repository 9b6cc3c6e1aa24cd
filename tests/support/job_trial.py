"""A job on trial: its declared stream under a real `streamops supervise`, on a real broker, struck in the middle of a batch.

The mechanics are those of the catalogue (`streamops_sandbox.catalogue.trial`); here is what a test has around them.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from streamops.settings import load_settings
from streamops.storage.local import LocalStorage
from streamops_sandbox.catalogue.case import Case, Place
from streamops_sandbox.catalogue.comparing import Difference, Row, table_rows
from streamops_sandbox.catalogue.delivery import Delivery, made_landing_folders
from streamops_sandbox.catalogue.playing import InTheseWaves, Player, play
from streamops_sandbox.catalogue.topics import make_anew
from streamops_sandbox.catalogue.trial import LIMIT_SECONDS, Trial
from streamops_sandbox.drivers import kill_drivers_below
from streamops_sandbox.inputs import InputRecord
from streamops_sandbox.inputs.sending import send
from streamops_sandbox.quick_start import COMPILE_LESS
from support.cluster import Cluster
from support.job_account import Account
from support.job_catalogue import CATALOGUE, PARTITIONS, PROJECT, catalogue_environment, declared_stream
from support.state_root import init

PROMPT = "200ms"
"""Time between two looks of the supervisor, and between two batches: a trial need not wait for either."""


class JobTrial:
    """One stream of the catalogue, from its first start to its stop."""

    def __init__(
        self,
        stream: str,
        *,
        root: Path,
        cluster: Cluster,
        tell: Callable[[str, object], None],
        environment: Mapping[str, str],
    ) -> None:
        self._tell = tell
        started = {"STREAMOPS_TRIGGER": PROMPT, "STREAMOPS_JAVA_OPTIONS": COMPILE_LESS}
        self._environment = catalogue_environment(root, cluster.bootstrap, {**started, **environment})
        self.spec = declared_stream(stream, self._environment)
        self.cluster = cluster
        self._root = root
        self._log = root / "supervise.log"
        self._trial = Trial(self.spec, bootstrap=cluster.bootstrap, told=self._told)
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        self._records = 0

    def begin(self, *topics: str) -> None:
        """Empty topics, those of the source and further ones, and a supervisor; it starts the stream by itself."""
        for topic in (*self._trial.sources, *topics):
            make_anew(self.cluster.bootstrap, topic, partitions=PARTITIONS)
        init(LocalStorage(), load_settings(CATALOGUE, self._environment).state_root)
        command = [sys.executable, "-m", "streamops.cli.main", "supervise", self.spec.name, "--interval", PROMPT]
        with self._log.open("ab") as log:
            self._supervisor = subprocess.Popen(
                command, cwd=PROJECT, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def play(
        self,
        records: Collection[InputRecord],
        *,
        kill_in: Collection[int],
        written: Callable[[], int] | None = None,
    ) -> None:
        """Send wave after wave, strike the driver in a batch of those named, and settle after each.

        With `written`, which counts what the sink has got, a blow falls once it has got something of the batch.
        """
        delivery = Delivery(bootstrap=self.cluster.bootstrap, folders={})
        self._play(Player(trial=self._trial, written=written), records, kill_in, delivery)

    def prove(self, case: Case, *, seed: int, count: int, kill_in: Collection[int]) -> Account:
        """The whole trial as the catalogue has it: play the input of the case, stop, compare."""
        sent = case.sent(seed=seed, count=count)
        place = Place(spec=self.spec, bootstrap=self.cluster.bootstrap)
        with case.watched(place) as written:
            player = Player(trial=self._trial, written=written, shows_batches=case.shows_batches)
            delivery = Delivery(bootstrap=self.cluster.bootstrap, folders=made_landing_folders({case: self.spec}))
            self._play(player, [record for records in sent.values() for record in records], kill_in, delivery)
        self.stop()
        came = case.came(place)
        return self.account(
            found=came.rows,
            expected=case.expected(sent),
            dead_letters=case.malformed(sent),
            letters=case.letters(place),
            repeated=came.repeated,
        )

    def send(self, records: Iterable[InputRecord]) -> None:
        """Put these into their topics."""
        self._records += send(records, bootstrap=self.cluster.bootstrap)

    def settle(self) -> None:
        """Return when all that was sent is committed and nothing is due; SandboxError past the limit."""
        self._trial.settle()

    def kill_in_batch(self) -> int:
        """SIGKILL for the driver's processes while a batch is planned and not committed; the batch.

        Returns when the supervisor has submitted the next driver.
        """
        return self._trial.kill_in_batch()

    def kill(self, *, once: Callable[[], bool]) -> None:
        """SIGKILL for the driver's processes as soon as `once` holds: of a query whose batches show in no log while they run.

        Returns when the supervisor has submitted the next driver.
        """
        self._trial.kill(once=once)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when it holds; SandboxError past the limit."""
        self._trial.until(condition, what)

    def committed(self) -> int:
        """The newest committed batch; -1 before the first."""
        return self._trial.committed()

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What `streamops` answers in the trial's environment."""
        command = [sys.executable, "-m", "streamops.cli.main", *arguments]
        return subprocess.run(
            command, cwd=PROJECT, env=self._environment, capture_output=True, text=True, timeout=LIMIT_SECONDS
        )

    def stop(self) -> None:
        """Stop the stream as a person does, then the supervision.

        Before, `streamops check`, `lag` and `plan` must find nothing: all is read, and a start would be safe. `lag` knows
        topics alone.
        """
        for question in ("check", "lag", "plan") if self._trial.sources else ("check", "plan"):
            answer = self.ask(question, self.spec.name)
            assert answer.returncode == 0, f"{question}: {answer.stdout}{answer.stderr}"
        self._trial.ask_to_stop("the trial is over", actor="test:job-trial")
        self._trial.wait_for_stop()
        self._end_supervision()

    def account(
        self,
        *,
        found: Iterable[Row],
        expected: Iterable[Row],
        dead_letters: Collection[InputRecord] = (),
        letters: Collection[Row] | None = None,
        repeated: int = 0,
    ) -> Account:
        """Compare what came out with what had to, row by row, dead letters too; `repeated` are those found twice otherwise.

        `letters` are the dead letters that came, those of the stream's table where they are not given.

        Also written to the file that STREAMOPS_TRIALS names.
        """
        wanted = [*expected, *((record.topic, record.key, record.value) for record in dead_letters)]
        assert wanted, "no row is expected: a trial of nothing proves nothing"
        difference = Difference.between(
            found=[*found, *(self.dead_letters() if letters is None else letters)], expected=wanted
        )
        # Which pytest shows when the test fails.
        print(*difference.examples("rows"), sep="\n")
        account = Account(
            job=self.spec.name,
            guarantee=self.spec.sink.guarantee.value,
            records=self._records,
            kills=self._trial.kills,
            lost=difference.lost.total(),
            duplicated=difference.surplus.total() + repeated,
            repeated=repeated,
            seconds=round(time.monotonic() - self._began, 1),
        )
        account.keep()
        self._tell("figure", account.line)
        return account

    def rows(self, *columns: str) -> list[tuple[object, ...]]:
        """The rows of the stream's table, read by another library than the one that wrote them."""
        return table_rows(self.spec.sink.table, *columns)

    def dead_letters(self) -> list[tuple[object, ...]]:
        """Topic, key and value of each dead letter."""
        table = self.spec.sink.dead_letters
        return table_rows(table, "topic", "key", "value") if table else []

    def clear(self) -> None:
        """Leave no process behind, whatever has happened."""
        self._end_supervision()
        kill_drivers_below(f"file://{self._root}")

    def _play(
        self, player: Player, records: Collection[InputRecord], kill_in: Collection[int], delivery: Delivery
    ) -> None:
        course = InTheseWaves(waves=kill_in)
        self._records += play([player], records, deliver=delivery.deliver, course=course)

    def _end_supervision(self) -> None:
        if self._supervisor and self._supervisor.poll() is None:
            self._supervisor.terminate()
            self._supervisor.wait(30)

    def _told(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]


@contextmanager
def on_trial(
    stream: str,
    *topics: str,
    root: Path,
    cluster: Cluster,
    tell: Callable[[str, object], None],
    environment: Mapping[str, str],
) -> Iterator[JobTrial]:
    """A trial that has begun; `topics` are those that the stream writes to. Nothing of it runs afterwards.

    `tell` gets the account under the name of `figure`, as pytest's `record_property` takes it.
    """
    trial = JobTrial(stream, root=root, cluster=cluster, tell=tell, environment=environment)
    try:
        trial.begin(*topics)
        yield trial
    finally:
        trial.clear()
