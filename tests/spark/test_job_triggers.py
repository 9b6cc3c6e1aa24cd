"""Each job by batches under the triggers that the trials do not use, with no other code: the same rows come out.

The trials (`tests/jobs`) run the jobs under a processing time, with crashes. Here nothing crashes; the queries run as their
driver starts them, in one session for all.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from streamops.spec import StreamSpec, TriggerKind
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops_sandbox.catalogue.case import Case, Place, Sent
from streamops_sandbox.catalogue.cases import CASES
from streamops_sandbox.catalogue.delivery import Delivery, made_landing_folders
from streamops_sandbox.catalogue.settling import Ends, has_settled, topics_read
from streamops_sandbox.catalogue.topics import ends, make_anew
from streamops_sandbox.inputs import InputRecord, waves
from support.cluster import Cluster, a_cluster
from support.job_catalogue import PARTITIONS, catalogue_environment, catalogue_with_trigger, declared_stream
from support.job_in_session import run_in_session
from support.sink_servers import a_database, an_endpoint

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.usefixtures("workers")]

RECORDS = 300
TRIGGERS = {
    TriggerKind.DEFAULT: "default",
    TriggerKind.AVAILABLE_NOW: "{available_now: true}",
    TriggerKind.ONCE: "{once: true}",
}
IN_EACH_TEST_RUN = ("events_dedup",)
"""The rest is for `make test-all`: what differs from job to job is in its trial."""
OWN_TRIGGER = ("low_latency_relay_continuous", "low_latency_relay_real_time")
"""Declared with one that is none of batches."""
ASYNC_STREAM = "async_progress_relay"
NO_RECORD = b"\xff"
"""No text, so that no job can parse it.

It takes the place of the batch without data that comes after each wave under the other triggers, which closes what lies behind
the watermark. A run of `once` begins with none; and a batch takes for late what lay behind the watermark of the one before it
(SPARK-40925, 3.4), which would be that of two waves ago.
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("job-triggers")) as cluster:
        yield cluster


@pytest.fixture
def declared(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str, TriggerKind], StreamSpec]]:
    """A stream of the catalogue under another trigger, with the servers and the empty topics that it needs."""
    with ExitStack() as servers:

        def declare(stream: str, trigger: TriggerKind) -> StreamSpec:
            further: dict[str, str] = {}
            if stream == "orders_to_postgres":
                further |= servers.enter_context(a_database(tmp_path / "postgres")).environment
            if stream in ("events_fanout", "fraud_alerts"):
                further |= servers.enter_context(an_endpoint(tmp_path / "rest")).environment
            path = catalogue_with_trigger(TRIGGERS[trigger], tmp_path / "project")
            spec = declared_stream(stream, catalogue_environment(tmp_path, cluster.bootstrap, further), path)
            assert spec.trigger.kind is trigger
            for topic in (*topics_read(spec), *([spec.sink.kafka.topic] if spec.sink.kafka else [])):
                make_anew(cluster.bootstrap, topic, partitions=PARTITIONS)
            return spec

        yield declare


def rows() -> Iterator[Any]:
    for case in CASES:
        if case.stream in OWN_TRIGGER:
            continue
        for trigger in TRIGGERS:
            if case.stream == ASYNC_STREAM and trigger is not TriggerKind.DEFAULT:
                continue
            marks = () if case.stream in IN_EACH_TEST_RUN else (pytest.mark.catalogue,)
            yield pytest.param(case, trigger, id=f"{case.job}-{case.stream}-{trigger}", marks=marks)


@pytest.mark.parametrize(("case", "trigger"), list(rows()))
def test_a_job_gives_what_it_has_to(
    case: Case, trigger: TriggerKind, spark: Any, cluster: Cluster, declared: Callable[[str, TriggerKind], StreamSpec]
) -> None:
    spec = declared(case.stream, trigger)
    place, sent = Place(spec=spec, bootstrap=cluster.bootstrap), case.sent(seed=3, count=RECORDS)
    if case.prepare:
        case.prepare(place, sent)
    feed = Waves(case, place, sent)

    match trigger:
        case TriggerKind.DEFAULT:
            assert not run_in_session(spark, spec, is_stop_wanted=feed.is_done), "it ended by itself"
        case TriggerKind.AVAILABLE_NOW:
            while feed.send():
                assert run_in_session(spark, spec, is_stop_wanted=lambda: False)
                assert feed.has_settled()
        case TriggerKind.ONCE:
            while feed.send():
                assert run_in_session(spark, spec, is_stop_wanted=lambda: False)
                if spec.reads_kafka:
                    feed.send_one(NO_RECORD)
                    assert run_in_session(spark, spec, is_stop_wanted=lambda: False)

    letters = [(record.topic, record.key, record.value) for record in (*case.malformed(sent), *feed.further)]
    assert Counter([*case.came(place).rows, *case.letters(place)]) == Counter([*case.expected(sent), *letters])


class Waves:
    """The input of a stream, which is sent on when the stream has come to rest."""

    def __init__(self, case: Case, place: Place, sent: Sent) -> None:
        self.further: list[InputRecord] = []
        """What was sent besides."""
        self._case, self._place = case, place
        self._delivery = Delivery(bootstrap=place.bootstrap, folders=made_landing_folders({case: place.spec}))
        self._waves = list(waves(record for records in sent.values() for record in records))
        self._sent: list[InputRecord] = []
        self._ends: Ends = {}

    def send(self) -> bool:
        """Send the next wave; False when there is none."""
        if not self._waves:
            return False
        self._send(self._waves.pop(0))
        return True

    def send_one(self, value: bytes) -> None:
        """A record that no job can parse, at the end of the first topic."""
        record = InputRecord(topic=self._place.spec.kafka.topics[0], key=None, value=value, wave=0)
        self.further.append(record)
        self._send([record])

    def has_settled(self) -> bool:
        """Whether all that was sent has gone through the stream."""
        if self._place.spec.tracks_progress_async:
            # The logs of such a query end before its batches do.
            return self._has_come()
        return has_settled(LocalStorage(), self._place.spec, self._ends)

    def is_done(self) -> bool:
        """Whether all waves have gone through; where one has, the next is sent."""
        return (not self._sent or self.has_settled()) and not self.send()

    def _has_come(self) -> bool:
        case, place, sent = self._case, self._place, {}
        for feed in case.feeds:
            sent[feed.topic] = tuple(record for record in self._sent if record.topic == feed.topic)
        letters, rows = len(case.letters(place)), len(case.came(place).rows)
        return letters >= len(case.malformed(sent)) and rows >= len(list(case.expected(sent)))

    def _send(self, records: Sequence[InputRecord]) -> None:
        self._delivery.deliver(records)
        self._sent.extend(records)
        self._ends = ends(self._place.bootstrap, *topics_read(self._place.spec))


@pytest.mark.catalogue
@pytest.mark.parametrize("trigger", list(TRIGGERS))
def test_the_rate_demo_runs_and_goes_on(
    trigger: TriggerKind, spark: Any, declared: Callable[[str, TriggerKind], StreamSpec]
) -> None:
    """J18 keeps nothing that could be compared: its batches follow one another, over two starts."""
    spec = declared("rate_demo", trigger)
    commits = Path(local_path(spec.checkpoint) or "") / "commits"

    def committed() -> int:
        return max((int(entry.name) for entry in commits.glob("[0-9]*")), default=-1)

    has_no_end = trigger is TriggerKind.DEFAULT
    for _ in range(2):
        before = committed()
        ended = run_in_session(spark, spec, is_stop_wanted=lambda before=before: has_no_end and committed() > before)
        assert ended is not has_no_end
        assert committed() > before
