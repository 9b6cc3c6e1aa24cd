"""Places that two streams, or two parts of one, must not share.

A checkpoint, and what the suite makes beside it, belong to one stream alone: a second query in it loses or repeats data, a
table in it makes Spark refuse the start, and cleaning up one of two nested folders removes the other. Two streams may well
append to one Delta table, and read what another one writes; a stream that reads what it writes itself never comes to an end.
Files that lie in a table and are not in its log are deleted by its VACUUM, so a folder of files has a place of its own.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from streamops.control.layout import own_places_around
from streamops.control.registry import registry_folder
from streamops.settings.problems import Refusal
from streamops.settings.yaml_file import Place
from streamops.spec import DeltaTableSource, FilesSource, KafkaSource, SinkSpec, StreamSpec


@dataclass(frozen=True, slots=True)
class _Claim:
    """One address that a stream uses; no stream for the suite's own."""

    address: str
    stream: str
    place: Place
    what: str
    is_table: bool = False
    is_files: bool = False
    """Whether files are written there that no log knows."""
    is_checkpoint: bool = False
    is_source: bool = False

    @property
    def owner(self) -> str:
        return f"the {self.what} of {self.stream}" if self.stream else f"the {self.what}"

    def excludes(self, other: "_Claim") -> bool:
        """Whether the two must not share a place."""
        if self is other:
            return False
        if self.is_source or other.is_source:
            is_shared = self.is_source and other.is_source
            is_read_by_another = self.stream != other.stream and (self._is_output or other._is_output)
            return not is_shared and not is_read_by_another
        return self.stream == other.stream or not (self.is_table and other.is_table)

    @property
    def _is_output(self) -> bool:
        return self.is_table or self.is_files


def conflicts(specs: Sequence[StreamSpec], *, state_root: str) -> dict[str, tuple[Refusal, ...]]:
    """By stream: what it shares and must not. Both sides are named, since nobody can know which one is meant."""
    claims = [claim for spec in specs for claim in _claims(spec)]
    claims.append(_Claim(registry_folder(state_root), "", ("state_root",), "registry"))
    by_address: dict[str, list[_Claim]] = defaultdict(list)
    for claim in claims:
        by_address[claim.address].append(claim)
    refusals: dict[str, dict[Refusal, None]] = defaultdict(dict)
    for inner in claims:
        for outer in _around(inner, by_address):
            if inner.excludes(outer):
                _refuse(refusals, inner, outer)
                _refuse(refusals, outer, inner)
    for spec in specs:
        if topic := _topic_that_feeds_itself(spec):
            refusals[spec.name][topic] = None
    return {stream: tuple(found) for stream, found in refusals.items()}


def _around(inner: _Claim, by_address: Mapping[str, Sequence[_Claim]]) -> Iterator[_Claim]:
    """The claims that an address is or lies in, looked up outwards: comparing every pair takes minutes with 5 000 streams."""
    for place in own_places_around(inner.address):
        for claim in by_address.get(place.checkpoint, ()):
            if place.address == claim.address:
                yield claim
            elif claim.is_checkpoint:
                yield replace(claim, address=place.address, what=place.what)


def _claims(spec: StreamSpec) -> tuple[_Claim, ...]:
    return (
        _Claim(spec.checkpoint, spec.name, ("checkpoint",), "checkpoint", is_checkpoint=True),
        *_sink(spec.sink, spec.name),
        *_source(spec),
    )


def _sink(sink: SinkSpec, stream: str) -> Iterator[_Claim]:
    """Tables and folders that the stream writes."""
    if sink.table:
        yield _Claim(sink.table, stream, ("sink", "delta", "table"), "table", is_table=True)
    if sink.dead_letters:
        yield _Claim(sink.dead_letters, stream, ("sink", "dead_letters"), "dead-letter table", is_table=True)
    if sink.files:
        yield _Claim(sink.files.path, stream, ("sink", "files", "path"), "folder of files", is_files=True)


def _topic_that_feeds_itself(spec: StreamSpec) -> Refusal | None:
    sink, source = spec.sink.kafka, spec.source
    if sink is None or not isinstance(source, KafkaSource) or sink.topic not in source.topics:
        return None
    if not _servers(sink.bootstrap_servers) & _servers(source.bootstrap_servers):
        return None
    return Refusal(("sink", "kafka", "topic"), repr(sink.topic), "a topic that the stream does not read itself")


def _servers(listed: str) -> set[str]:
    return {server.strip() for server in listed.split(",")}


def _source(spec: StreamSpec) -> Iterator[_Claim]:
    """A folder that the stream reads."""
    source = spec.source
    if isinstance(source, DeltaTableSource):
        yield _Claim(source.table, spec.name, ("source", "delta", "table"), "source table", is_source=True)
    elif isinstance(source, FilesSource):
        yield _Claim(source.path, spec.name, ("source", "files", "path"), "source folder", is_source=True)


def _refuse(refusals: dict[str, dict[Refusal, None]], claim: _Claim, other: _Claim) -> None:
    if claim.stream:
        expected = f"a place apart from {other.owner} ({other.address})"
        refusals[claim.stream][Refusal(claim.place, repr(claim.address), expected)] = None
