"""The HTTP endpoint with a real server: keys count once, failures come as they were told, the ledger outlives a crash."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from streamops.clock import SystemClock
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import free_port
from streamops_sandbox.rest_endpoint import RestEndpoint
from streamops_sandbox.rest_ledger import Entry
from streamops_sandbox.rest_script import Behaviour
from streamops_sandbox.waiting import SilentNarrator


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> SandboxLayout:
    layout = SandboxLayout.of_project(tmp_path_factory.mktemp("rest"))
    layout.create_folders()
    return layout


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def running(layout: SandboxLayout, port: int) -> Iterator[RestEndpoint]:
    endpoint = RestEndpoint(layout, Daemons(layout, clock=SystemClock(), narrator=SilentNarrator()), port=port)
    endpoint.start({})
    yield endpoint
    endpoint.stop()


@pytest.fixture
def endpoint(running: RestEndpoint) -> RestEndpoint:
    running.start({})
    running.behave_well()
    return running


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    """A path of the test's own: the ledger is shared."""
    return f"/{request.node.name}"


class Client:
    """One connection, as a job has it; to be closed."""

    def __init__(self, layout: SandboxLayout, port: int, *, timeout: float = 10) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._token = layout.rest_token.read_text()

    def close(self) -> None:
        self._connection.close()

    def post(self, path: str, key: str, body: Any, *, token: str = "") -> http.client.HTTPResponse:
        return self.send(
            path, json.dumps(body), {"Idempotency-Key": key, "Authorization": f"Bearer {token or self._token}"}
        )

    def send(self, path: str, body: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        self._connection.request("POST", path, body, {"Authorization": f"Bearer {self._token}"} | headers)
        answer = self._connection.getresponse()
        self.text = answer.read().decode()
        return answer


@pytest.fixture
def client(endpoint: RestEndpoint, layout: SandboxLayout, port: int) -> Iterator[Client]:
    with closing(Client(layout, port)) as client:
        yield client


def test_a_repeated_key_is_answered_and_counts_once(endpoint: RestEndpoint, client: Client, path: str) -> None:
    answers = [client.post(path, "k-1", {"alert": 1}).status for _ in range(3)]

    assert answers == [201, 200, 200]
    assert endpoint.ledger(path) == (Entry(path=path, key="k-1", body={"alert": 1}, accepted=True, requests=3),)


def test_another_body_under_a_known_key_is_refused_and_changes_nothing(
    endpoint: RestEndpoint, client: Client, path: str
) -> None:
    client.post(path, "k-1", {"alert": 1})

    assert client.post(path, "k-1", {"alert": 2}).status == 422

    assert endpoint.ledger(path) == (Entry(path=path, key="k-1", body={"alert": 1}, accepted=True, requests=2),)


def test_the_same_key_on_another_path_is_another_one(endpoint: RestEndpoint, client: Client, path: str) -> None:
    assert client.post(f"{path}/a", "k-1", 1).status == 201
    assert client.post(f"{path}/b", "k-1", 2).status == 201


def test_fails_as_often_as_it_was_told_and_then_no_more(endpoint: RestEndpoint, client: Client, path: str) -> None:
    endpoint.behave(Behaviour(next=2, status=500), Behaviour(next=1, status=429, retry_after=3))

    answers = [client.post(path, "k-1", {}) for _ in range(4)]

    assert [answer.status for answer in answers] == [500, 500, 429, 201]
    assert [answer.headers["Retry-After"] for answer in answers] == [None, None, "3", None]
    assert endpoint.ledger(path) == (Entry(path=path, key="k-1", body={}, accepted=True, requests=4),)


def test_a_failed_request_is_counted_and_not_accepted(endpoint: RestEndpoint, client: Client, path: str) -> None:
    endpoint.behave(Behaviour(next=1, status=503))

    client.post(path, "k-1", {"alert": 1})

    assert endpoint.ledger(path) == (Entry(path=path, key="k-1", body=None, accepted=False, requests=1),)


def test_a_request_can_be_accepted_although_its_answer_fails(endpoint: RestEndpoint, client: Client, path: str) -> None:
    endpoint.behave(Behaviour(next=1, status=500, accept=True))

    assert [client.post(path, "k-1", {}).status for _ in range(2)] == [500, 200]


def test_drop_closes_the_connection_without_an_answer(endpoint: RestEndpoint, client: Client, path: str) -> None:
    endpoint.behave(Behaviour(next=1, status="drop"))

    with pytest.raises(http.client.RemoteDisconnected):
        client.post(path, "k-1", {})

    assert client.post(path, "k-1", {}).status == 201


def test_timeout_gives_no_answer_to_that_client_while_others_get_theirs(
    endpoint: RestEndpoint, client: Client, layout: SandboxLayout, port: int, path: str
) -> None:
    endpoint.behave(Behaviour(next=1, status="timeout"))

    with closing(Client(layout, port, timeout=0.2)) as impatient, pytest.raises(TimeoutError):
        impatient.post(path, "k-1", {})

    assert client.post(path, "k-2", {}).status == 201


def test_many_clients_at_once_lose_nothing_and_count_nothing_twice(
    endpoint: RestEndpoint, layout: SandboxLayout, port: int, path: str
) -> None:
    def send_all(_: int) -> None:
        with closing(Client(layout, port)) as client:
            for number in range(50):
                client.post(path, f"k-{number}", number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send_all, range(4)))

    entries = endpoint.ledger(path)
    assert sorted(entry.body for entry in entries) == list(range(50))
    assert {entry.requests for entry in entries} == {4}


def test_the_ledger_outlives_a_crash_and_a_line_that_was_cut_off(
    endpoint: RestEndpoint, client: Client, layout: SandboxLayout, port: int, path: str
) -> None:
    client.post(path, "k-1", {"alert": 1})
    endpoint.kill()
    with open(layout.rest_ledger, "a") as file:
        file.write(f'{{"path": "{path}", "key": "k-2", "outc')

    endpoint.start({})

    with closing(Client(layout, port)) as again:
        assert again.post(path, "k-1", {"alert": 1}).status == 200
        assert again.post(path, "k-2", {"alert": 2}).status == 201
    assert [entry.requests for entry in endpoint.ledger(path)] == [2, 1]


def test_stop_does_not_wait_for_a_request_that_is_held(
    endpoint: RestEndpoint, layout: SandboxLayout, port: int, path: str
) -> None:
    endpoint.behave(Behaviour(next=1, status="timeout"))
    with closing(Client(layout, port, timeout=0.2)) as impatient, pytest.raises(TimeoutError):
        impatient.post(path, "k-1", {})

    endpoint.stop()

    assert not endpoint.is_answering()


@pytest.mark.parametrize(
    ("body", "headers", "status", "reason"),
    [
        pytest.param("{}", {}, 400, "Idempotency-Key is missing", id="without a key"),
        pytest.param("{", {"Idempotency-Key": "k"}, 400, "not JSON", id="a body that is no JSON"),
        pytest.param("{}", {"Authorization": "Bearer guessed"}, 401, "bearer token", id="a wrong token"),
        pytest.param("", {"Content-Length": "1000001"}, 413, "at most 1000000", id="a body that is to be too long"),
    ],
)
def test_refuses(
    endpoint: RestEndpoint, client: Client, path: str, body: str, headers: dict[str, str], status: int, reason: str
) -> None:
    assert client.send("/refused", body, headers).status == status
    assert reason in client.text
    assert endpoint.ledger("/refused") == ()


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ([], "expected an object"),
        ({"next": 1}, "expected an object"),
        ({"next": 0, "status": 500}, "next is 0"),
        ({"next": True, "status": 500}, "next is True"),
        ({"next": 1, "status": 200}, "status is 200"),
        ({"next": 1, "status": "sleep"}, "status is 'sleep'"),
        ({"next": 1, "status": "drop", "retry_after": 1}, "retry_after"),
        ({"next": 1, "status": 500, "accept": 1}, "accept is 1"),
        ({"next": 1, "status": 500, "colour": "red"}, "unknown: colour"),
    ],
)
def test_refuses_a_behaviour_it_does_not_know(
    endpoint: RestEndpoint, client: Client, behaviour: Any, reason: str
) -> None:
    assert client.send("/behaviour", json.dumps(behaviour), {}).status == 400
    assert reason in client.text
    assert client.post("/still", json.dumps(behaviour), 1).status in (200, 201)


def test_only_the_owner_reads_the_token(endpoint: RestEndpoint, layout: SandboxLayout) -> None:
    assert layout.rest_token.stat().st_mode & 0o777 == 0o600


def test_an_endpoint_that_does_not_run_says_which_address_does_not_answer(tmp_path: Path) -> None:
    layout = SandboxLayout.of_project(tmp_path)
    layout.create_folders()
    layout.rest_token.write_text("t")
    daemons = Daemons(layout, clock=SystemClock(), narrator=SilentNarrator())
    port = free_port()

    with pytest.raises(SandboxError, match=rf"GET http://127\.0\.0\.1:{port}/ledger"):
        RestEndpoint(layout, daemons, port=port).ledger()
