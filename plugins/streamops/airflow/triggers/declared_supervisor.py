"""A supervisor that follows its settings file: a trigger lives for days, and meanwhile its stream is declared anew."""

import logging
from collections.abc import Callable

from streamops.errors import StreamOpsError
from streamops.settings import Settings
from streamops.spec import StreamSpec
from streamops.supervision.supervisor import Supervisor

log = logging.getLogger(__name__)


class DeclaredSupervisor:
    """The supervisor of a stream as it is declared now.

    Where that can't be told any more, the last declaration counts: a mistake in a file must not disarm what runs.
    """

    def __init__(
        self, stream: str, *, settings: Callable[[], Settings], build: Callable[[StreamSpec, str], Supervisor]
    ) -> None:
        """SettingsError when the stream is declared wrongly, or not at all. `build` takes a spec and the state root."""
        self._stream = stream
        self._settings = settings
        self._build = build
        self._declared = self._read()
        self._trouble = ""
        self.supervisor = build(*self._declared)

    def renewed(self) -> Supervisor:
        """The supervisor after another look at the settings; a new one knows what the one before has seen."""
        try:
            declared = self._read()
            if declared != self._declared:
                self._follow(declared)
        except StreamOpsError as error:
            if str(error) != self._trouble:
                log.warning("stream=%s watched as it was declared before: %s", self._stream, error)
            self._trouble = str(error)
        else:
            self._trouble = ""
        return self.supervisor

    def _read(self) -> tuple[StreamSpec, str]:
        settings = self._settings()
        return settings.stream(self._stream), settings.state_root

    def _follow(self, declared: tuple[StreamSpec, str]) -> None:
        supervisor = self._build(*declared)
        if declared[0].checkpoint == self.supervisor.spec.checkpoint:  # Elsewhere there are other drivers.
            supervisor.take_over(self.supervisor.hand_over())
        self._declared, self.supervisor = declared, supervisor
        log.info("stream=%s is declared anew", self._stream)
