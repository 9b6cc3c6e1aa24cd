"""The broker listens on loopback, keeps one copy, and creates no topic by accident."""

from pathlib import Path

import pytest

from streamops_sandbox.kafka import server_properties


@pytest.fixture
def properties() -> dict[str, str]:
    text = server_properties(port=20001, controller_port=20002, data=Path("/s/kafka/data"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_every_address_is_on_loopback(properties: dict[str, str]) -> None:
    for name in ("listeners", "advertised.listeners"):
        for listener in properties[name].split(","):
            assert listener.partition("://")[2].startswith("127.0.0.1:"), name
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:20002"


def test_clients_are_sent_to_the_client_port(properties: dict[str, str]) -> None:
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20001"


def test_internal_topics_need_no_second_broker(properties: dict[str, str]) -> None:
    copies = {name: value for name, value in properties.items() if name.endswith(("replication.factor", "min.isr"))}

    assert set(copies.values()) == {"1"}


def test_a_misspelt_topic_is_not_created(properties: dict[str, str]) -> None:
    assert properties["auto.create.topics.enable"] == "false"
