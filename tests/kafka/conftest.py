"""A real broker for the tests of this folder."""

from collections.abc import Iterator

import pytest

from support.cluster import Cluster
from support.provoke.broker import Broker


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    broker = Broker(tmp_path_factory.mktemp("kafka") / "broker")
    try:
        yield Cluster(broker.bootstrap(), broker)
    finally:
        broker.stop()
