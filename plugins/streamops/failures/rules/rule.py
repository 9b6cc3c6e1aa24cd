"""One row of the table, and a driver's last words as it reads them.

The text is an exit record's (Python's traceback and the JVM's causes) or the end of a log. In a log most exceptions
ended nothing: a warned broker came back, a failed task was tried again, a shutdown hook found everything closed. So a
text is read as blocks, a log line and what hangs on it, and left out of what is said are

- stack frames and source lines (kept beside, for where something happened),
- Spark's description of the query: its plan and its offsets hold the user's words,
- what follows a death: py4j without its JVM, hooks, stopped executors.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto

from streamops.control.records import Outcome
from streamops.failures.failure_class import DEFAULT_REMEDIES, FailureClass, Remedy

READ_LIMIT = 96_000
"""Characters read, from both ends: a few hundred lines of a log, and a bound on the time."""


class Loudness(IntEnum):
    """How loudly something is said; a lower number is louder."""

    VERDICT = 0
    """It ended the driver, or is all there is: a traceback, a query's last error, what the JVM or the launcher says."""
    ERROR = 1
    """It was logged as an error of some part."""
    WARNING = 2
    """It was logged as a warning: survived, as far as the log's writer knew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is said in one voice."""

    said: str = ""
    """Messages, each at the start of a line, the first after a line break too."""
    seen: str = ""
    """Messages and stack frames."""


_LEVELS = r"(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)"
_LOG_LINE = re.compile(
    r"(?:\d\d/\d\d/\d\d \d\d:\d\d:\d\d " + _LEVELS + r" ([\w.$]+):"  # Spark's log4j layout
    r"|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3}\]? " + _LEVELS + r" ([\w.$]+)"  # Python, other log4j layouts
    r"|" + _LEVELS + r":([\w.]+):"  # Python without a layout
    r")"
)
_JSON_LINE = re.compile(r'\{"ts": ?"')
_JSON_LEVEL = re.compile(r'"level": ?"' + _LEVELS)
_JSON_LOGGER = re.compile(r'"logger": ?"([\w.$]+)')

_VERDICTS = ("MicroBatchExecution", "ContinuousExecution", "streamops.spark.runner", "ApplicationMaster")
"""Loggers that write an error only when a query or the application has failed."""

_AFTERMATH = (
    "ShutdownHookManager",
    "Inbox",
    "NettyRpcEnv",
    "NettyRpcHandler",
    "TransportRequestHandler",
    "TransportResponseHandler",
    "AsyncEventQueue",
    "DiskBlockManager",
    "SQLQueryContextLogger",
    "root",
    "py4j",
    "Utils",
)
"""Loggers whose errors follow an end, or tell again what stands elsewhere: their blocks are left out."""

_OPENINGS = (
    "Traceback (most recent call last)",
    "Exception in thread ",
    "java.lang.OutOfMemoryError",
    "Terminating due to ",
    "Aborting due to ",
    "# ",
    "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory",
)
"""Lines that begin a block of their own although they carry no level: written past the logger."""

_QUERY_DESCRIPTION = "=== Streaming Query ==="
_AFTER_DESCRIPTION = ("\tat ", "\t... ", "Caused by", "JVM stacktrace", "Traceback")
_PY4J = ("/py4j/clientserver.py", "/py4j/java_gateway.py")


def statements(text: str) -> dict[Loudness, Statement]:
    """The text, sorted by voice."""
    said: dict[Loudness, list[str]] = {voice: [] for voice in Loudness}
    seen: dict[Loudness, list[str]] = {voice: [] for voice in Loudness}
    for block in _blocks(_bounded(text)):
        if isinstance(block.voice, Loudness) and not block.is_aftermath:
            said[block.voice] += block.messages()
            seen[block.voice] += block.told()
    return {
        voice: Statement(said="\n" + "\n".join(said[voice]), seen="\n".join(seen[voice]))
        if said[voice]
        else Statement()
        for voice in Loudness
    }


class _Unheard(Enum):
    """Log lines that are left out."""

    CHATTER = auto()
    """Below a warning: it has no stack traces, so a line without a level that follows is not its own."""
    AFTERMATH = auto()
    """An error that follows an end, with all that hangs on it."""


class _Block:
    """A log line, or what was written past the logger, and the lines that hang on it."""

    def __init__(self, voice: Loudness | _Unheard) -> None:
        self.voice = voice
        self.lines: list[str] = []

    @property
    def is_headless(self) -> bool:
        """Java's stack trace before the first log line: the log's end was cut out of its middle, and of what is unknown."""
        return any(line.startswith(("\tat ", "Caused by: ")) for line in self.lines)

    @property
    def is_aftermath(self) -> bool:
        """Python's side of a JVM that is gone: the innermost frame of its traceback is py4j's, at the socket.

        An exception that the JVM *answered* with is raised in py4j/protocol.py.
        """
        frames = [line for line in self.lines if line.startswith('  File "')]
        return bool(frames) and any(place in frames[-1] for place in _PY4J)

    def told(self) -> list[str]:
        """Messages and frames, without the query's description."""
        kept: list[str] = []
        is_description = False
        for line in self.lines:
            if line.startswith(_QUERY_DESCRIPTION):
                is_description = True
            elif is_description and line.startswith(_AFTER_DESCRIPTION):
                is_description = False
            if not is_description:
                kept.append(line)
        return kept

    def messages(self) -> list[str]:
        """Without frames and the source lines below Python's."""
        kept: list[str] = []
        follows_frame = False
        for line in self.told():
            is_python_frame = line.startswith('  File "')
            is_source = follows_frame and line.startswith("    ")
            if not (is_python_frame or is_source or line.startswith(("\tat ", "\t... "))):
                kept.append(line)
            follows_frame = is_python_frame or is_source
        return kept


def _blocks(text: str) -> list[_Block]:
    head = block = _Block(Loudness.VERDICT)
    blocks = [block]
    for line in text.split("\n"):
        if (match := _LOG_LINE.match(line)) or _JSON_LINE.match(line):
            block = _Block(_voice(match, line))
            blocks.append(block)
        elif line.startswith(_OPENINGS) or (block.voice is _Unheard.CHATTER and line[:1] not in ("", " ", "\t")):
            block = _Block(Loudness.VERDICT)
            blocks.append(block)
        block.lines.append(line)
    if len(blocks) > 1 and head.is_headless:
        head.voice = Loudness.WARNING
    return blocks


def _voice(match: re.Match[str] | None, line: str) -> Loudness | _Unheard:
    """How loudly a log line speaks."""
    if match:
        level, logger = (word for word in match.groups() if word)
    else:
        level = found[1] if (found := _JSON_LEVEL.search(line)) else "INFO"
        logger = found[1] if (found := _JSON_LOGGER.search(line)) else ""
    if level in ("WARN", "WARNING"):
        return Loudness.WARNING
    if level not in ("ERROR", "FATAL", "CRITICAL"):
        return _Unheard.CHATTER
    if logger.startswith(_AFTERMATH):
        return _Unheard.AFTERMATH
    return Loudness.VERDICT if logger.startswith(_VERDICTS) else Loudness.ERROR


def _bounded(text: str) -> str:
    if len(text) <= READ_LIMIT:
        return text
    half = READ_LIMIT // 2
    return text[:half] + "\n" + text[-half:]


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
