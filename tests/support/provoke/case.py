"""One failure on record, and the list of the provocations that make one."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamops.control.records import Outcome
from streamops.failures.classify import DriverEvidence
from streamops.failures.failure_class import DEFAULT_REMEDIES, FailureClass, Remedy

if TYPE_CHECKING:
    from support.provoke.bench import Bench

CORPUS = Path(__file__).parents[2] / "data" / "exceptions"


class PreparationError(Exception):
    """What should lead to the failure did not work itself."""


@contextmanager
def preparing() -> Iterator[None]:
    """What fails in here is not what was meant to be provoked."""
    try:
        yield
    except Exception as error:
        raise PreparationError(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a driver left behind, and what a person who knows the cause would answer."""

    id: str
    source: str
    ending: DriverEvidence
    failure_class: FailureClass
    remedy: Remedy

    @property
    def is_held_out(self) -> bool:
        """A third, drawn by the hash of the id, so that nobody picks: not looked at while the rules are tuned."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 3 == 0

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "source": self.source,
            "split": "held-out" if self.is_held_out else "tune",
            "failure_class": self.failure_class.value,
            "remedy": self.remedy.value,
            "outcome": self.ending.outcome.value,
            "exit_code": self.ending.exit_code,
            "has_progressed": self.ending.has_progressed,
            "error_classes": list(self.ending.error_classes),
            "text": self.ending.text.split("\n"),
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "Case":
        return cls(
            id=entry["id"],
            source=entry["source"],
            ending=DriverEvidence(
                outcome=Outcome(entry["outcome"]),
                error_classes=tuple(entry["error_classes"]),
                text="\n".join(entry["text"]),
                exit_code=entry["exit_code"],
                has_progressed=entry["has_progressed"],
            ),
            failure_class=FailureClass(entry["failure_class"]),
            remedy=Remedy(entry["remedy"]),
        )


def read_cases(files: Iterable[Path] = ()) -> list[Case]:
    """The whole corpus, or what these files hold, in a fixed order."""
    chosen = files or sorted(CORPUS.glob("*/*.json"))
    return [Case.from_json(entry) for file in chosen for entry in json.loads(file.read_text())]


def write_cases(file: Path, cases: Iterable[Case]) -> None:
    """One family, one file; lines of text as lines, so that a change can be read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([case.to_json() for case in cases], indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provocation:
    """How to make one failure: `run` raises what a driver would catch."""

    id: str
    how: str
    run: Callable[["Bench"], None]
    failure_class: FailureClass
    remedy: Remedy
    has_progressed: bool


class Family:
    """The provocations of one subject; a module holds one and is named like it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.provocations: list[Provocation] = []

    def add(
        self,
        id: str,
        how: str,
        failure_class: FailureClass,
        run: Callable[["Bench"], None],
        *,
        remedy: Remedy | None = None,
        has_progressed: bool = False,
    ) -> None:
        """A provocation that is one of a table."""
        self.provocations.append(
            Provocation(
                id=f"{self.name}-{id}",
                how=how,
                run=run,
                failure_class=failure_class,
                remedy=remedy or DEFAULT_REMEDIES[failure_class],
                has_progressed=has_progressed,
            )
        )

    def provokes(
        self, failure_class: FailureClass, *, remedy: Remedy | None = None, has_progressed: bool = False
    ) -> Callable[[Callable[["Bench"], None]], Callable[["Bench"], None]]:
        """A provocation that is a function: its name is the id, its docstring says how."""

        def register(run: Callable[["Bench"], None]) -> Callable[["Bench"], None]:
            how = " ".join((run.__doc__ or "").split())
            self.add(
                run.__name__.replace("_", "-"), how, failure_class, run, remedy=remedy, has_progressed=has_progressed
            )
            return run

        return register
