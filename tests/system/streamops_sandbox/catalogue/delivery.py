"""A wave of records to where each belongs: its topic, or the folder whose files it is one of."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from streamops.spec import FilesSource, StreamSpec
from streamops.storage.address import local_path
from streamops_sandbox.catalogue.case import Case
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.inputs import InputRecord
from streamops_sandbox.inputs.order_files import OrderFile, put
from streamops_sandbox.inputs.sending import send


class Delivery:
    """Sends records to a broker, and puts those of a folder into it as files: the key is the name, the value the content."""

    def __init__(self, *, bootstrap: str, folders: Mapping[str, Path]) -> None:
        """`folders` by what the records of their files bear as topic."""
        self._bootstrap = bootstrap
        self._folders = folders

    def deliver(self, wave: Iterable[InputRecord]) -> int:
        """How many records went out; SandboxError when one did not."""
        records = tuple(wave)
        files = [record for record in records if record.topic in self._folders]
        for record in files:
            file = OrderFile(name=(record.key or b"").decode(), content=record.value or b"", wave=record.wave)
            put([file], self._folders[record.topic])
        rest = [record for record in records if record.topic not in self._folders]
        return len(files) + (send(rest, bootstrap=self._bootstrap) if rest else 0)


def made_landing_folders(cases: Mapping[Case, StreamSpec]) -> dict[str, Path]:
    """The folders that the streams read, which are there then; SandboxError where one is not on this machine."""
    found: dict[str, Path] = {}
    for case, spec in cases.items():
        if not isinstance(spec.source, FilesSource):
            continue
        if (folder := local_path(spec.source.path)) is None:
            raise SandboxError(
                f"{spec.name} reads {spec.source.path}: only a folder of this machine can be filled here"
            )
        Path(folder).mkdir(parents=True, exist_ok=True)
        found |= {feed.topic: Path(folder) for feed in case.feeds}
    return found
