"""Collects what is wrong with one stream while it is resolved, so that one look at the problems is enough."""

import os.path
from collections.abc import Callable, Mapping

from streamops.errors import SettingsError
from streamops.settings.folders import resolve_folder
from streamops.settings.problems import Refusal, shown
from streamops.settings.yaml_file import Place

_STAND_IN = "file:///refused"


class Collector:
    """The problems of one stream. Something stands in for what is refused, and nobody sees it."""

    def __init__(self, root: str) -> None:
        self._root = root
        """Relative paths count from it."""
        self.refusals: list[Refusal] = []

    @property
    def root(self) -> str:
        """What relative paths count from."""
        return self._root

    def refuse(self, place: Place, value: object, expected: str) -> None:
        """This value stands at that place, and what is expected is something else."""
        self.refusals.append(Refusal(place, shown(value, place=place), expected))

    def absolute(self, path: str) -> str:
        """A path, from the root on."""
        return os.path.normpath(os.path.join(self._root, path))

    def folder(self, text: str, place: Place, resolve: Callable[..., str] = resolve_folder) -> str:
        """The canonical address of a folder."""
        try:
            return resolve(text, root=self._root)
        except SettingsError as error:
            self.refuse(place, text, str(error))
            return _STAND_IN

    def accepted(
        self, values: Mapping[str, str], place: Place, refused: Callable[[str, str], str]
    ) -> tuple[tuple[str, str], ...]:
        """Options or confs, sorted by name, so that another order in the file is not another spec."""
        for name, value in values.items():
            if expected := refused(name, value):
                self.refuse((*place, name), value, expected)
        return tuple(sorted(values.items()))
