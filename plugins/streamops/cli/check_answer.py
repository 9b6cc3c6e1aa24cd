"""`streamops check`: what the checkpoint does not tell, and whoever asks may."""

from enum import StrEnum


class Answer(StrEnum):
    """One answer."""

    YES = "yes"
    NO = "no"
    AUTO = "auto"
    """Not known: judged by what is there."""

    @property
    def known(self) -> bool | None:
        """None where nobody has said."""
        return {Answer.YES: True, Answer.NO: False}.get(self)
