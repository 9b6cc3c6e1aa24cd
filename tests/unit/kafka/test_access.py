"""How a cluster is reached, and that no secret shows."""

import pytest

from streamops.errors import SettingsError
from streamops.kafka.broker import KafkaAccess, access_of, without_secrets

SECRET = (("sasl.password", "hunter2"), ("sasl.username", "ops"), ("security.protocol", "SASL_SSL"))


def test_options_that_mean_the_same_to_both_clients_are_taken_over():
    options = [
        ("kafka.security.protocol", "SASL_SSL"),
        ("Kafka.SASL.mechanism", "PLAIN"),
        ("kafka.sasl.jaas.config", "org.apache… password='hunter2';"),
        ("maxOffsetsPerTrigger", "100"),
    ]

    access = access_of("broker:9092", options, environment={})

    assert access.properties == (("sasl.mechanism", "PLAIN"), ("security.protocol", "SASL_SSL"))


def test_a_file_brings_credentials_and_leaves_the_servers_alone(tmp_path):
    file = tmp_path / "kafka.properties"
    file.write_text("# ours\n\nbootstrap.servers=elsewhere:1\nsasl.password = a=b \nsecurity.protocol=SASL_PLAINTEXT\n")

    access = access_of(
        "broker:9092",
        [("kafka.security.protocol", "SASL_SSL")],
        environment={"STREAMOPS_KAFKA_PROPERTIES": str(file)},
    )

    assert access.bootstrap == "broker:9092"
    assert access.properties == (("sasl.password", "a=b"), ("security.protocol", "SASL_PLAINTEXT"))


@pytest.mark.parametrize("line", ["hunter2", "=hunter2"])
def test_a_line_that_is_none_is_named_by_its_number_alone(tmp_path, line):
    file = tmp_path / "kafka.properties"
    file.write_text(f"a=b\n{line}\n")

    with pytest.raises(SettingsError, match="line 2: `name=value` is expected") as caught:
        access_of("broker:9092", environment={"STREAMOPS_KAFKA_PROPERTIES": str(file)})

    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_missing_is_told(tmp_path):
    with pytest.raises(SettingsError, match="settings for Kafka can't be read"):
        access_of("broker:9092", environment={"STREAMOPS_KAFKA_PROPERTIES": str(tmp_path / "none")})


def test_nothing_that_is_printed_holds_a_secret():
    assert "hunter2" not in repr(KafkaAccess(bootstrap="broker:9092", properties=SECRET))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("SASL login of ops with hunter2 failed", "SASL login of *** with *** failed", id="both halves"),
        pytest.param("security.protocol SASL_SSL", "security.protocol SASL_SSL", id="what is no secret stays"),
    ],
)
def test_errors_of_the_client_are_blotted(text, shown):
    assert without_secrets(text, SECRET) == shown
