"""What a stream has posted is read by the address and the token of its declaration."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from streamops.spec import RestSink
from streamops_sandbox.catalogue.endpoint import Accepted, accepted
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.rest_script import Behaviour
from support.sink_servers import Endpoint, an_endpoint


@pytest.fixture
def endpoint(tmp_path: Path):
    with an_endpoint(tmp_path / "sandbox") as endpoint:
        yield endpoint


def post(endpoint: Endpoint, path: str, key: str, body: object) -> None:
    request = urllib.request.Request(
        endpoint.server.url + path,
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {endpoint.token_file.read_text()}", "Idempotency-Key": key},
    )
    with urllib.request.urlopen(request, timeout=10):
        pass


def a_sink(endpoint: Endpoint, path: str) -> RestSink:
    return RestSink(url=endpoint.server.url + path, token_file=str(endpoint.token_file))


def test_the_bodies_of_its_own_path_are_told_and_how_many_came_again(endpoint: Endpoint) -> None:
    post(endpoint, "/refunds", "e-1", {"amount": "1.00"})
    post(endpoint, "/refunds", "e-1", {"amount": "1.00"})
    post(endpoint, "/refunds", "e-2", {"amount": "2.00"})
    post(endpoint, "/alerts", "a-1", {"rule": "many"})

    assert accepted(a_sink(endpoint, "/refunds")) == Accepted(
        bodies={"e-1": {"amount": "1.00"}, "e-2": {"amount": "2.00"}}, repeats=1
    )
    assert accepted(a_sink(endpoint, "/alerts")) == Accepted(bodies={"a-1": {"rule": "many"}}, repeats=0)
    assert accepted(a_sink(endpoint, "/nobody")) == Accepted(bodies={}, repeats=0)


def test_an_endpoint_that_does_not_answer_is_an_error(endpoint: Endpoint) -> None:
    sink = a_sink(endpoint, "/refunds")
    endpoint.server.stop()

    with pytest.raises(SandboxError, match="the endpoint does not tell what it has accepted, at http://"):
        accepted(sink)


def test_what_it_failed_to_do_is_not_accepted(endpoint: Endpoint) -> None:
    endpoint.server.behave(Behaviour(next=1, status=500))
    with pytest.raises(urllib.error.HTTPError):
        post(endpoint, "/refunds", "e-1", {})

    assert accepted(a_sink(endpoint, "/refunds")) == Accepted(bodies={}, repeats=0)
