"""A real broker for the tests of this folder."""

from collections.abc import Iterator

import pytest

from support.cluster import Cluster, a_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster
