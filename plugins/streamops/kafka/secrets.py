"""Texts of the client library without the secrets that they may repeat."""

import re
from collections.abc import Iterable

_SECRET = re.compile(r"password|secret|token|jaas|\.key\b|\.key\.|pem|oauthbearer\.config|username", re.IGNORECASE)
"""Names of librdkafka's settings that hold a secret or half of one (CONFIGURATION.md, 2.x)."""


def without_secrets(text: str, properties: Iterable[tuple[str, str]]) -> str:
    """The text with the values of secret settings blotted out."""
    secrets = sorted((value for name, value in properties if value and _SECRET.search(name)), key=len, reverse=True)
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
