import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamops.control import codec
from streamops.control.registry import (
    RegistryEntry,
    SharedRegistry,
    entry_address,
    read_registry,
    register,
    standing_of,
)
from streamops.errors import SettingsError, StorageError
from streamops.storage import DEFAULT_READ_LIMIT
from streamops.storage.memory import MemoryStorage
from support.clock import FakeClock
from support.counting_storage import CountingStorage
from support.specs import seconds

STATE = "file:///state"


def an_entry(stream: str = "orders", *, checkpoint: str = "", sink: str = "", query_id: str = "") -> RegistryEntry:
    return RegistryEntry(
        stream=stream,
        checkpoint=checkpoint or f"file:///cp/{stream}",
        sink=sink or f"file:///tables/{stream}",
        query_id=query_id,
    )


def entries(storage: MemoryStorage) -> tuple[RegistryEntry, ...]:
    return read_registry(storage, STATE).entries


def conflicts(known: RegistryEntry, candidate: RegistryEntry, *, owns_log: bool = False) -> tuple[str, ...]:
    """Of a look at a registry that holds one entry."""
    storage = MemoryStorage()
    storage.write(entry_address(STATE, known.stream), codec.encode(known))
    return standing_of(storage, STATE, candidate, owns_log=owns_log, registry=read_registry(storage, STATE)).conflicts


def test_an_entered_stream_is_read_back() -> None:
    storage = MemoryStorage()
    register(storage, STATE, an_entry("returns"))
    register(storage, STATE, an_entry("orders"))

    assert entries(storage) == (an_entry("orders"), an_entry("returns"))


def test_a_registry_that_nobody_has_written_yet_is_empty() -> None:
    assert entries(MemoryStorage()) == ()


def test_files_that_are_no_entries_are_skipped() -> None:
    storage = MemoryStorage()
    storage.write(f"{STATE}/registry/.orders.json.1f.tmp", b"half")
    storage.write(f"{STATE}/registry/README", b"text")

    assert entries(storage) == ()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"stream": "orders"', id="cut off"),
        pytest.param(b'{"stream": "orders"}', id="fields are missing"),
        pytest.param(b'{"stream":"returns","checkpoint":"c","sink":"s","query_id":""}', id="of another stream"),
        pytest.param(b" " * (DEFAULT_READ_LIMIT + 1), id="larger than what is read"),
    ],
)
def test_an_entry_that_cannot_be_trusted_is_told_with_its_file_and_hides_no_other(content: bytes) -> None:
    storage = MemoryStorage()
    register(storage, STATE, an_entry("stock"))
    storage.write(f"{STATE}/registry/orders.json", content)

    (broken,) = read_registry(storage, STATE).broken

    assert "/state/registry/orders.json" in broken.reason
    assert entries(storage) == (an_entry("stock"),)


def test_fields_of_a_newer_version_are_skipped() -> None:
    storage = MemoryStorage()
    storage.write(
        entry_address(STATE, "orders"), b'{"stream":"orders","checkpoint":"c","sink":"s","query_id":"q","owner":"x"}'
    )

    assert entries(storage) == (an_entry(checkpoint="c", sink="s", query_id="q"),)


@pytest.mark.parametrize(
    ("known", "candidate", "reason"),
    [
        pytest.param(
            an_entry("returns", checkpoint="file:///cp"),
            an_entry("orders", checkpoint="file:///cp"),
            "belongs to stream returns",
            id="one checkpoint, two streams",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp"),
            an_entry("orders", checkpoint="file:///cp/inner"),
            "nested with",
            id="inside another's",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp/inner"),
            an_entry("orders", checkpoint="file:///cp"),
            "nested with",
            id="around another's",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp"),
            an_entry("orders", checkpoint="file:///cp.streamops/x"),
            "nested with",
            id="inside another's control folder",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp.streamops"),
            an_entry("orders", checkpoint="file:///cp"),
            "nested with",
            id="its control folder is another's checkpoint",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp"),
            an_entry("orders", checkpoint="file:///cp.companion-0"),
            "nested with",
            id="in place of another's companion",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp.companion-3/x"),
            an_entry("orders", checkpoint="file:///cp"),
            "nested with",
            id="its companion is around another's checkpoint",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp"),
            an_entry("orders", checkpoint="file:///cp.backfills/march/checkpoint"),
            "nested with",
            id="in place of another's backfill",
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp.backfills"),
            an_entry("orders", checkpoint="file:///cp"),
            "nested with",
            id="its backfills lie in another's checkpoint",
        ),
        pytest.param(
            an_entry(checkpoint="file:///old"),
            an_entry(checkpoint="file:///new"),
            "moved from file:///old to file:///new",
            id="moved",
        ),
        pytest.param(an_entry(query_id="q1"), an_entry(query_id="q2"), "holds query q2", id="replaced"),
        pytest.param(an_entry("returns"), an_entry(checkpoint="s3://bucket"), "root of a bucket", id="bucket root"),
        pytest.param(an_entry("returns"), an_entry(checkpoint="file:///"), "root of a bucket", id="file system root"),
    ],
)
def test_a_conflict_is_refused_and_leaves_the_registry_as_it_was(
    known: RegistryEntry, candidate: RegistryEntry, reason: str
) -> None:
    storage = MemoryStorage()
    register(storage, STATE, known)

    assert reason in conflicts(known, candidate)[0]
    with pytest.raises(SettingsError, match=reason):
        register(storage, STATE, candidate)
    assert entries(storage) == (known,)


@pytest.mark.parametrize(
    ("known", "candidate"),
    [
        pytest.param(an_entry(query_id="q"), an_entry(query_id="q"), id="nothing new"),
        pytest.param(an_entry(), an_entry(query_id="q"), id="the first start gave it a query id"),
        pytest.param(an_entry(query_id="q"), an_entry(), id="the query id was not looked up"),
        pytest.param(
            an_entry("returns", sink="file:///t"), an_entry("orders", sink="file:///t"), id="one sink for two"
        ),
        pytest.param(
            an_entry("returns", checkpoint="file:///cp"),
            an_entry("orders", checkpoint="file:///cp2"),
            id="a common beginning of the name",
        ),
    ],
)
def test_what_only_looks_like_a_conflict_passes(known: RegistryEntry, candidate: RegistryEntry) -> None:
    assert conflicts(known, candidate) == ()


def test_a_later_start_brings_sink_and_query_id_up_to_date() -> None:
    storage = MemoryStorage()
    register(storage, STATE, an_entry())
    register(storage, STATE, an_entry(sink="file:///other", query_id="q"))

    assert entries(storage) == (an_entry(sink="file:///other", query_id="q"),)


def test_a_known_query_id_is_not_forgotten() -> None:
    storage = MemoryStorage()
    register(storage, STATE, an_entry(query_id="q"))
    register(storage, STATE, an_entry())

    assert entries(storage) == (an_entry(query_id="q"),)


def test_a_stream_whose_entry_was_removed_may_have_another_checkpoint() -> None:
    storage = MemoryStorage()
    register(storage, STATE, an_entry(checkpoint="file:///old"))
    storage.delete(entry_address(STATE, "orders"))
    register(storage, STATE, an_entry(checkpoint="file:///new"))

    assert entries(storage) == (an_entry(checkpoint="file:///new"),)


class OvertakenStorage(MemoryStorage):
    """Another supervisor registers from start to end right before the first create here."""

    def __init__(self, faster: RegistryEntry) -> None:
        super().__init__()
        self._faster: RegistryEntry | None = faster

    def create(self, address: str, content: bytes) -> None:
        faster, self._faster = self._faster, None
        if faster:
            register(self, STATE, faster)
        super().create(address, content)


@pytest.mark.parametrize("late", ["a_first_by_name", "z_last_by_name"])
def test_who_looks_second_takes_its_entry_back_whatever_its_name(late: str) -> None:
    faster = an_entry("orders", checkpoint="file:///cp")
    storage = OvertakenStorage(faster)

    with pytest.raises(SettingsError, match="belongs to stream orders"):
        register(storage, STATE, an_entry(late, checkpoint="file:///cp"))
    assert entries(storage) == (faster,)


def test_two_supervisors_of_one_stream_both_succeed() -> None:
    storage = OvertakenStorage(an_entry(query_id="q"))
    register(storage, STATE, an_entry())

    assert entries(storage) == (an_entry(query_id="q"),)


@pytest.mark.parametrize("inner", ["", "/inner"], ids=["same", "nested"])
def test_two_streams_at_once_are_never_both_entered_on_one_checkpoint(inner: str) -> None:
    candidates = [an_entry("orders", checkpoint="file:///cp"), an_entry("returns", checkpoint=f"file:///cp{inner}")]
    with ThreadPoolExecutor(max_workers=2) as threads:
        for _ in range(50):
            storage = MemoryStorage()
            gate = threading.Barrier(2)

            def is_entered(
                entry: RegistryEntry, storage: MemoryStorage = storage, gate: threading.Barrier = gate
            ) -> bool:
                gate.wait(timeout=10)
                try:
                    register(storage, STATE, entry)
                except SettingsError:
                    return False
                return True

            answers = list(threads.map(is_entered, candidates))

            assert sum(answers) <= 1
            assert [entry.stream for entry in entries(storage)] == [
                entry.stream for entry, entered in zip(candidates, answers, strict=True) if entered
            ]


BROKEN = entry_address(STATE, "broken")


def test_a_broken_entry_stops_its_own_stream_and_first_starts_and_nobody_else():
    storage = MemoryStorage()
    register(storage, STATE, an_entry("orders"))
    storage.write(BROKEN, b"")
    registry = read_registry(storage, STATE)

    def told(stream: str, *, owns_log: bool) -> tuple[str, ...]:
        return standing_of(storage, STATE, an_entry(stream), owns_log=owns_log, registry=registry).conflicts

    assert told("orders", owns_log=True) == ()
    for stream, owns_log in (("broken", True), ("returns", False), ("returns", True), ("orders", False)):
        (refusal,) = told(stream, owns_log=owns_log)
        assert BROKEN in refusal
        with pytest.raises(SettingsError, match="broken"):
            register(storage, STATE, an_entry(stream), owns_log=owns_log)
    register(storage, STATE, an_entry("orders", query_id="q"), owns_log=True)

    assert entries(storage) == (an_entry("orders", query_id="q"),)


def test_an_entry_that_the_place_does_not_give_is_no_broken_one():
    class Unreachable(MemoryStorage):
        def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
            raise StorageError(f"{address}: Input/output error (EIO)")

    storage = Unreachable()
    storage.write(BROKEN, b"")

    with pytest.raises(StorageError, match="EIO"):
        read_registry(storage, STATE)


def test_all_streams_that_are_down_at_once_cost_a_read_each_and_one_of_the_whole():
    inner, clock, streams = MemoryStorage(), FakeClock(), [an_entry(f"s{number}") for number in range(200)]
    for entry in streams:
        inner.write(entry_address(STATE, entry.stream), codec.encode(entry))
    storage, shared = CountingStorage(inner), SharedRegistry(clock)

    for entry in streams:
        registry = shared.of(storage, STATE)
        assert standing_of(storage, STATE, entry, owns_log=True, registry=registry).conflicts == ()
        register(storage, STATE, entry, owns_log=True)

    assert storage.calls == {"list": 1, "read": 3 * len(streams)}
    clock.advance(seconds(10))
    shared.of(storage, STATE)
    assert storage.calls == {"list": 2, "read": 4 * len(streams)}


def test_a_first_start_looks_anew_whatever_is_shared():
    storage, shared = MemoryStorage(), SharedRegistry(FakeClock())
    shared.of(storage, STATE)
    register(storage, STATE, an_entry("returns", checkpoint="file:///cp"))
    late = an_entry("orders", checkpoint="file:///cp")

    assert not standing_of(storage, STATE, late, owns_log=False, registry=shared.of(storage, STATE)).conflicts
    with pytest.raises(SettingsError, match="belongs to stream returns"):
        register(storage, STATE, late)
