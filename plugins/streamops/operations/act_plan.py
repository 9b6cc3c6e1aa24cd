"""A plan: what a request will record, and what will then happen, before anything is done."""

from dataclasses import dataclass
from enum import StrEnum

from streamops.operations.act_progress import AwaitedStart


class Act(StrEnum):
    """What people ask for."""

    STOP = "stop"
    START = "start"
    RESTART = "restart"
    RELEASE = "release"
    ADOPT = "adopt"
    CATCHUP = "catchup"
    """A bounded run, in the live query's place where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActPlan:
    """One request before it is made."""

    act: Act
    stream: str
    reason: str
    records: tuple[str, ...]
    """Kinds of the records that will be appended to the control log; empty when there is nothing to do."""
    effects: tuple[str, ...]
    """What then happens, a sentence each."""
    warnings: tuple[str, ...] = ()
    """What keeps it from happening, or makes it cost more than it seems."""
    force: bool = False
    awaits: AwaitedStart | None = None
    """What shows that it has come about; None where no start follows from it."""

    @property
    def is_needed(self) -> bool:
        """Whether anything is left to do."""
        return bool(self.records)

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan, a fact a line."""
        return (
            f"{self.act} {self.stream}{', forced' if self.force else ''}",
            f"  because  {self.reason}",
            f"  records  {', '.join(self.records) or 'nothing'}",
            *(f"  then     {effect}" for effect in self.effects),
            *(f"  WARNING  {warning}" for warning in self.warnings),
        )
