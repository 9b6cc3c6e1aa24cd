"""The terminal's one door: what other people's files hold is shown, never obeyed."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from streamops.diagnosis.checkup_text import printable as printable_line


class PrintableConsole(Console):
    """Shows each character that a terminal might obey in its escaped form, `\\x1b`; line ends stay.

    Reasons, names and errors in a control log come from whoever wrote it. Rich itself takes out five control characters and
    passes on all others, escape sequences and marks of direction among them (rich 15).
    """

    def __init__(self, *, is_talk: bool = False) -> None:
        super().__init__(stderr=is_talk, highlight=False, emoji=False, markup=False, soft_wrap=not is_talk)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Rich's own segments; only those that are text are looked at, not the ones that move its cursor."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def printable(text: str) -> str:
    """The text with everything escaped that is neither printable nor a line end."""
    return "\n".join(map(printable_line, text.split("\n")))
