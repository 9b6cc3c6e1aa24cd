"""How to reach a cluster: servers and settings of librdkafka, with secrets that show nowhere.

Spark's options name Java's settings (`kafka.security.protocol`), this client librdkafka's. Those without a secret are the same
in both; what holds one (`sasl.jaas.config`, keystores) has another form, so it comes from a properties file.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamops.errors import SettingsError

PROPERTIES_FILE = "STREAMOPS_KAFKA_PROPERTIES"
"""Environment variable: path of a file with settings of librdkafka."""

_SHARED = frozenset(
    {"security.protocol", "sasl.mechanism", "sasl.kerberos.service.name", "ssl.endpoint.identification.algorithm"}
)
"""Settings that mean the same to Java's client and to librdkafka (CONFIGURATION.md, 2.x)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaAccess:
    """Where and how to connect."""

    bootstrap: str
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Settings of librdkafka, sorted. Never printed: some are secrets."""

    def with_properties(self, more: Mapping[str, str]) -> "KafkaAccess":
        """The same with further settings, which win over those that are there."""
        merged = {**dict(self.properties), **more}
        return KafkaAccess(
            bootstrap=merged.pop("bootstrap.servers", self.bootstrap), properties=tuple(sorted(merged.items()))
        )


def access_of(
    bootstrap: str, options: Iterable[tuple[str, str]] = (), *, environment: Mapping[str, str] = os.environ
) -> KafkaAccess:
    """What a source's options and the properties file of this place give. SettingsError for a file that can't be used."""
    # Spark folds the case of its options.
    named = {name.lower(): value for name, value in options}
    shared = {name.removeprefix("kafka."): value for name, value in named.items() if name.startswith("kafka.")}
    access = KafkaAccess(bootstrap=bootstrap).with_properties({k: v for k, v in shared.items() if k in _SHARED})
    path = environment.get(PROPERTIES_FILE, "")
    if not path:
        return access
    settings = read_properties(Path(path))
    # The servers are the stream's own: one file of credentials may serve several clusters.
    settings.pop("bootstrap.servers", None)
    return access.with_properties(settings)


def read_properties(path: Path) -> dict[str, str]:
    """Lines of `name=value`, blank ones and those that begin with # left out. SettingsError names the line, not its text."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: settings for Kafka can't be read: {error}") from error
    settings = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f"{path} line {number}: `name=value` is expected")
        settings[name.strip()] = value.strip()
    return settings
