"""A broker for all trials of a session, and a trial for each test."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from support.cluster import Cluster, a_cluster
from support.job_trial import JobTrial, on_trial


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("jobs")) as cluster:
        yield cluster


@pytest.fixture
def trial(
    cluster: Cluster, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Iterator[Callable[..., JobTrial]]:
    """Begins the trial of a stream of the catalogue, with the topics that it writes to and variables of its environment."""
    with ExitStack() as running:

        def begin(stream: str, *topics: str, **environment: str) -> JobTrial:
            root = tmp_path / stream
            root.mkdir()
            begun: AbstractContextManager[JobTrial] = on_trial(
                stream, *topics, root=root, cluster=cluster, tell=record_property, environment=environment
            )
            return running.enter_context(begun)

        yield begin
