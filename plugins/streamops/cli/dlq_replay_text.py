"""A replay for people and as values: what it sends, what it leaves out, what came of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamops.cli.console import printable
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.choice import Choice
from streamops.dead_letters.replay import PartitionOffsets, Replay, ReplayDone, grouped
from streamops.dead_letters.replay_service import ReplayOutcome
from streamops.formatting import moment

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAnswer:
    """A replay that was planned, carried on, or given up."""

    stream: str
    bootstrap: str
    others: tuple[str, ...] = ()
    """Other declared streams that read one of the topics: they get the records again, too."""
    choice: Choice | None = None
    """What a new replay sends."""
    open_one: Replay | None = None
    """The open replay that is carried on, or given up."""
    outcome: ReplayOutcome | None = None
    """None where nothing was sent: it was only planned."""
    given_up: ReplayDone | None = None

    @property
    def exit_code(self) -> int:
        """1 for a replay that has not come to its end."""
        return 1 if self.outcome and not self.outcome.is_done else 0

    @property
    def parts(self) -> tuple[PartitionOffsets, ...]:
        """What is to be sent, by partition."""
        if self.open_one:
            return self.open_one.plan.letters
        return grouped(self.choice.chosen) if self.choice else ()


def plan_lines(answer: ReplayAnswer) -> Iterator[str]:
    """What is going to be sent, and what is not."""
    letters = sum(len(part.offsets) for part in answer.parts)
    if answer.open_one:
        plan = answer.open_one.plan
        yield (
            f"{answer.stream}: replay {plan.number} of {moment(plan.at)} UTC by {plan.by.actor} is open ({plan.reason});"
            f" it is carried on: of its {_letters(letters)} those are sent that are not in their topics yet"
        )
    elif letters:
        yield f"{answer.stream}: sends {_letters(letters)} again to where they came from, at {answer.bootstrap}"
    else:
        yield f"{answer.stream}: no dead letters to send again"
    for part in answer.parts:
        yield f"  {part.topic}, partition {part.partition}: {len(part.offsets)}"
    if letters:
        others = f"; so do the streams {', '.join(answer.others)}" if answer.others else ""
        yield f"  whoever reads these topics gets the records once more{others}"
    if answer.choice:
        yield from _left_out(answer.choice)


def answer_lines(answer: ReplayAnswer) -> Iterator[str]:
    """What came of it; the plan where nothing was done."""
    outcome, given_up = answer.outcome, answer.given_up
    if given_up and answer.open_one:
        yield from _given_up_lines(answer.stream, answer.open_one, given_up)
    elif outcome is None:
        yield from plan_lines(answer)
    else:
        number, total = outcome.plan.number, len(outcome.plan.positions)
        if outcome.is_done:
            yield f"{answer.stream}: replay {number} is done: {_letters(total)} sent, {outcome.sent_now} of them now"
            return
        yield f"{answer.stream}: replay {number} is open: {outcome.sent} of {_letters(total)} are sent, the rest is not"
        yield f"  {outcome.trouble}"
        yield (
            f"  when that is mended: `streamops dlq {answer.stream} --resume`; to end it: `streamops dlq"
            f" {answer.stream} --give-up --reason …`"
        )


def answer_fields(answer: ReplayAnswer) -> dict[str, object]:
    """The same as values."""
    plan = answer.outcome.plan if answer.outcome else answer.open_one.plan if answer.open_one else None
    choice, outcome, given_up = answer.choice, answer.outcome, answer.given_up
    return {
        "stream": answer.stream,
        "replay": plan.number if plan else None,
        "id": plan.id if plan else None,
        "letters": [
            {"topic": part.topic, "partition": part.partition, "letters": len(part.offsets)} for part in answer.parts
        ],
        "others": list(answer.others),
        "left_out": {why.name.lower(): [str(one) for one in ones] for why, ones in choice.left_out} if choice else {},
        "unknown": [str(one) for one in choice.unknown] if choice else [],
        "waiting": choice.waiting if choice else 0,
        "outcome": {
            "sent": outcome.sent,
            "sent_now": outcome.sent_now,
            "is_done": outcome.is_done,
            "trouble": outcome.trouble,
        }
        if outcome
        else None,
        "is_given_up": given_up is not None,
    }


def _left_out(choice: Choice) -> Iterator[str]:
    for why, positions in choice.left_out:
        yield f"  left out: {len(positions)} {why}: {_examples(positions)}"
    if choice.unknown:
        yield f"  no dead letters: {len(choice.unknown)} of the positions asked for: {_examples(choice.unknown)}"
    if choice.waiting:
        yield f"  {choice.waiting} more wait for the next replay: this one is full"


def _given_up_lines(stream: str, replay: Replay, done: ReplayDone) -> Iterator[str]:
    total, sent = len(replay.plan.positions), sum(len(part.offsets) for part in done.sent)
    yield f"{stream}: replay {replay.plan.number} is given up"
    if done.is_unknown:
        yield f"  nobody can tell which of its {_letters(total)} were sent: none of them is sent again"
    else:
        yield f"  {sent} of its {_letters(total)} were sent; the other {total - sent} may be sent by another replay"


def _examples(positions: Sequence[RecordPosition]) -> str:
    more = f" and {len(positions) - _EXAMPLES} more" if len(positions) > _EXAMPLES else ""
    return ", ".join(printable(str(one)) for one in positions[:_EXAMPLES]) + more


def _letters(count: int) -> str:
    return "1 dead letter" if count == 1 else f"{count} dead letters"
