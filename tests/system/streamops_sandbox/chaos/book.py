"""`.sandbox/chaos.json`: every run of chaos, and all runs added up.

It is replaced whole after each round, so that a crash of the chaos program costs the present round and nothing else. The
totals are computed anew from the runs each time and never counted on.
"""

import contextlib
import fcntl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from streamops_sandbox.chaos.rounds import Round, VictimSummary, by_victim, deaths, patience, summarize
from streamops_sandbox.chaos.victims import Instant
from streamops_sandbox.json_file import read_json, write_json
from streamops_sandbox.ledger import Ledger

RUNS = "runs"
TOTALS = "totals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one stream was sent and what lies in its tables when all is over."""

    stream: str
    sent: int
    delivered: int
    lost: int
    duplicated: int
    """Rows beyond the first of their order, and dead letters beyond the malformed records."""
    malformed: int
    dead_letters: int
    epochs: int
    epochs_with_batches: int
    """Of the failed ones, how many had committed a batch."""

    @classmethod
    def of(cls, stream: str, ledger: Ledger, *, epochs: int, epochs_with_batches: int) -> Self:
        """The account from a ledger; a malformed record that is missing is lost as well."""
        return cls(
            stream=stream,
            sent=ledger.sent,
            delivered=ledger.delivered,
            lost=ledger.lost + max(0, ledger.malformed - ledger.dead_letters),
            duplicated=ledger.duplicated + max(0, ledger.dead_letters - ledger.malformed),
            malformed=ledger.malformed,
            dead_letters=ledger.dead_letters,
            epochs=epochs,
            epochs_with_batches=epochs_with_batches,
        )


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of chaos, as far as it has got."""

    started_at: str
    seed: int
    cycles: int
    """How many rounds were meant."""
    supervised_by: str
    streams: tuple[str, ...]
    left_out: str = ""
    """Victims that this machine could not strike, and why."""
    rounds: list[Round] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    """Empty until the end of the run: without them nobody knows whether anything was lost."""
    double_writers: int = 0
    samples: int = 0
    """Looks at the process table in search of two drivers of one stream."""
    seconds: float = 0.0
    error: str = "not ended"
    """Why the run did not come to its end; empty when it did."""

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing twice, never two drivers, and every driver met the fate that it should."""
        wrong = self.double_writers + sum(account.lost + account.duplicated for account in self.accounts)
        expected = all(found.is_as_expected for found in self.rounds)
        return not (wrong or self.error) and expected and len(self.accounts) == len(self.streams)

    def to_json(self) -> dict[str, Any]:
        """As the file holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """A run of this or another version; names that are not known are skipped."""
        known = _known(cls, content)
        known["streams"] = tuple(known["streams"])
        known["rounds"] = [Round.from_json(found) for found in known.get("rounds", ())]
        known["accounts"] = [Account(**_known(Account, found)) for found in known.get("accounts", ())]
        return cls(**known)


class Book:
    """The file; several experiments may write it at the same time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def runs(self) -> list[Run]:
        """The runs of chaos so far; SandboxError when the file is no book."""
        return [Run.from_json(found) for found in self._read().get(RUNS, ())]

    def save_run(self, run: Run) -> None:
        """Enter the run, or what is new of it: a run is known by its start."""
        with self._alone():
            runs = [found for found in self.runs() if found.started_at != run.started_at] + [run]
            self._write({RUNS: [found.to_json() for found in runs], TOTALS: totals(runs)})

    def section(self, name: str) -> list[dict[str, Any]]:
        """What another experiment has entered under its name."""
        entries: list[dict[str, Any]] = self._read().get(name, [])
        return entries

    def save_entry(self, name: str, entry: Mapping[str, Any]) -> None:
        """Enter a result of another experiment, or what is new of it: it is known by `started_at`."""
        with self._alone():
            others = [found for found in self.section(name) if found.get("started_at") != entry["started_at"]]
            self._write({name: [*others, dict(entry)]})

    def begin_anew(self) -> None:
        """Forget everything."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        return read_json(self._path) or {}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Between reading and writing nobody else writes."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self._path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, changes: Mapping[str, Any]) -> None:
        write_json(self._path, {TOTALS: totals(()), RUNS: []} | self._read() | dict(changes))


def totals(runs: Sequence[Run]) -> dict[str, Any]:
    """All runs added up; times over all rounds of all runs, not means of means."""
    rounds = [found for run in runs for found in run.rounds]
    accounts = [account for run in runs for account in run.accounts]
    return {
        "runs": len(runs),
        "runs_without_account": sum(not run.accounts for run in runs),
        "cycles": len(rounds),
        "unexpected": sum(not found.is_as_expected for found in rounds),
        "double_writers": sum(run.double_writers for run in runs),
        "samples": sum(run.samples for run in runs),
        **_sums(accounts, ("sent", "delivered", "lost", "duplicated", "malformed", "dead_letters", "epochs")),
        "overall": asdict(summarize(rounds)),
        "deaths": asdict(deaths(rounds)),
        "deaths_by_supervisor": {name: asdict(found) for name, found in deaths_by_supervisor(runs).items()},
        "patience": asdict(patience(rounds)),
        "by_victim": {str(victim): asdict(summary) for victim, summary in by_victim(rounds).items()},
    }


def deaths_by_supervisor(runs: Sequence[Run]) -> dict[str, VictimSummary]:
    """Drivers that ended at once, by who supervised them and by the instant: under Airflow nothing is noticed in a
    driver's first 15 seconds."""
    names = sorted({run.supervised_by for run in runs})
    return {
        f"{name}, {instant}": deaths(
            found for run in runs if run.supervised_by == name for found in run.rounds if found.instant is instant
        )
        for name in names
        for instant in Instant
    }


def _sums(accounts: Iterable[Account], names: Sequence[str]) -> dict[str, int]:
    listed = list(accounts)
    return {name: sum(getattr(account, name) for account in listed) for name in names}


def _known(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    return {found.name: content[found.name] for found in fields(kind) if found.name in content}
