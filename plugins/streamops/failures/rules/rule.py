"""One row of the table."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from streamops.control.records import Outcome
from streamops.failures.failure_class import DEFAULT_REMEDIES, FailureClass, Remedy
from streamops.failures.rules.reading import Loudness, Statement

EVIDENCE_LIMIT = 200
_BEFORE = 40
"""Characters of the evidence that stand before what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRule:
    """A failure is recognised by its words, by its pattern, or by how the driver ended; all that is given must hold."""

    id: str
    failure_class: FailureClass
    source: str
    """Where this is known from."""
    words: tuple[str, ...] = ()
    """One of these is said, letter for letter; an error class stands in its bracket."""
    pattern: re.Pattern[str] | None = None
    """Or this is said: for messages with numbers or names in between. Only digits and what is no space repeat in it, and
    nothing that repeats is repeated, so time stays linear."""
    beside: tuple[str, ...] = ()
    """And one of these is said, or seen in the stack: who is speaking."""
    outcomes: tuple[Outcome, ...] = ()
    exit_codes: tuple[int, ...] = ()
    has_progressed: bool | None = None
    own_remedy: Remedy | None = None
    """What helps where this is not what helps against the class."""
    faintest: Loudness = Loudness.ERROR
    """What is said more faintly than this is not believed."""

    @property
    def remedy(self) -> Remedy:
        return self.own_remedy or DEFAULT_REMEDIES[self.failure_class]

    @property
    def needs_text(self) -> bool:
        return bool(self.words or self.pattern)

    def evidence(self, statement: Statement) -> str | None:
        """The place in the text that proves the rule; None when there is none."""
        at = self._find(statement.said)
        if at < 0 or (self.beside and not any(word in statement.seen for word in self.beside)):
            return None
        return _around(statement.said, at)

    def _find(self, said: str) -> int:
        for word in self.words:
            if (at := said.find(word)) >= 0:
                return at
        match = self.pattern.search(said) if self.pattern else None
        return match.start() if match else -1


def _around(text: str, at: int) -> str:
    """The line of the place, or the part of it that fits."""
    at += text[at : at + 1] == "\n"
    line_start = text.rfind("\n", 0, at) + 1
    line_end = text.find("\n", at)
    start = max(line_start, at - _BEFORE)
    return text[start : line_end if line_end >= 0 else len(text)][:EVIDENCE_LIMIT].strip()


def rules_by_stage(stages: Iterable[tuple[FailureRule, ...]]) -> tuple[FailureRule, ...]:
    """All rows, in the order in which they are asked."""
    return tuple(rule for stage in stages for rule in stage)
