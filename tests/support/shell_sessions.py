"""Shell sessions of the pages, as they stand there and as the commands answer.

A session that is played has its name in a comment above it: `<!-- session: lag -->`. What its commands answer is compared with
the page by a test, which writes the page anew with STREAMOPS_WRITE_SESSIONS=1.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

_SESSION = re.compile(
    r"(<!-- session: (?P<name>[\w-]+) -->\n```console\n)(?P<text>.*?)(?=^```$)", re.DOTALL | re.MULTILINE
)
_COMMAND = re.compile(r"(?:^\$ |`)(streamops [a-z][^`\n]*(?:\n[^`\n]+(?=`))?)(?:`|$)", re.MULTILINE)
_PROMPT = "$ "


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One block of a page."""

    page: Path
    name: str
    text: str
    """What stands there: commands behind a prompt, a line that goes on ends with a backslash, and answers."""

    @property
    def commands(self) -> Iterator[str]:
        """Each as it is typed, over all its lines."""
        lines = iter(self.text.splitlines())
        for line in lines:
            if not line.startswith(_PROMPT):
                continue
            command = line
            while command.endswith("\\"):
                command += f"\n{next(lines)}"
            yield command.removeprefix(_PROMPT)

    def played(self, run: Callable[[list[str]], str]) -> str:
        """The text anew: the commands, each with what `run` says that it answers."""
        return "".join(f"{_PROMPT}{command}\n{run(arguments(command))}" for command in self.commands)

    def write(self, text: str) -> None:
        """Put it into the page."""
        page = self.page.read_text()
        self.page.write_text(
            _SESSION.sub(lambda found: found[1] + (text if found["name"] == self.name else found["text"]), page)
        )


def sessions() -> list[Session]:
    """All that are played."""
    return [
        Session(page=page, name=found["name"], text=found["text"])
        for page in PAGES
        for found in _SESSION.finditer(page.read_text())
    ]


def commands() -> list[tuple[str, str]]:
    """Every command line of streamops on any page, with the page's name: of shell sessions, and of code within the text."""
    return [
        (page.name, " ".join(found[1].split()))
        for page in PAGES
        for found in _COMMAND.finditer(page.read_text().replace("\\\n", " "))
        if "…" not in found[1]
    ]


def arguments(command: str) -> list[str]:
    """What a shell makes of a line, without what it says behind `#`."""
    return shlex.split(command.replace("\\\n", " "), comments=True)
