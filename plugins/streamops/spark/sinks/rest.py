"""Posting the rows of a batch to an endpoint, at least once, each with a key by which the endpoint may know it again."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from streamops.control.outputs import RestOutput
from streamops.errors import StreamOpsError
from streamops.spark.sinks.secret_file import read_secret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

KEY_HEADER = "Idempotency-Key"
"""By the draft of the IETF (draft-ietf-httpapi-idempotency-key-header), as several payment services read it."""
ABOUT_THE_ROW = frozenset({400, 409, 413, 415, 422})
"""Answers by which an endpoint refuses what one row says; no other attempt can end otherwise."""
ABOUT_THE_MOMENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may well be taken."""


class EndpointError(StreamOpsError):
    """An endpoint that does not take rows: away, too slow, or not for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one row is tried."""

    attempts: int = 6
    first_wait: float = 0.5
    """Seconds, doubled with each further attempt, and shortened by chance so that tasks do not come together."""
    longest_wait: float = 30.0
    """Seconds; an endpoint that asks for more by `Retry-After` gets this much."""
    timeout: float = 10.0
    """Seconds for an answer."""


def post_rows(
    rows: "DataFrame", to: RestOutput, *, key: str = "key", body: str = "body", patience: Patience = Patience()
) -> "list[Row]":
    """Post the column `body` of each row, with the column `key` as its idempotency key; the rows that the endpoint refuses.

    Those come back with all their columns and with `reason`: they are for the dead letters, a further attempt is in vain. What
    has to do with the moment is tried again; EndpointError from the task where that is in vain or where the answer concerns
    all rows (401, 404): the batch fails, and its next run posts all of them again.
    """
    token = read_secret(to.token_file, "sink.rest.token_file") if to.token_file else ""
    columns = rows.columns

    def post_partition(partition: "Iterable[Row]") -> "Iterator[Row]":
        return refused(partition, columns, _Poster(to.url, token, patience), key=key, body=body)

    return rows.rdd.mapPartitions(post_partition).collect()


def refused(
    rows: "Iterable[Row]", columns: Sequence[str], post: "Callable[[str, str], str]", *, key: str, body: str
) -> "Iterator[Row]":
    """Post each; those that `post` gives a reason for."""
    from pyspark.sql import Row

    with_reason = Row(*columns, "reason")
    for row in rows:
        if reason := post(row[key], row[body]):
            yield with_reason(*row, reason)


class _Poster:
    """Posts single bodies."""

    def __init__(self, url: str, token: str, patience: Patience) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._patience = patience

    def __call__(self, key: str, body: str) -> str:
        """Empty when it was taken, the endpoint's reason where it refuses this body. EndpointError."""
        request = Request(self._url, data=body.encode(), headers={**self._headers, KEY_HEADER: key}, method="POST")
        last = ""
        for attempt in range(self._patience.attempts):
            try:
                with urlopen(request, timeout=self._patience.timeout):
                    return ""
            except HTTPError as error:
                with error:
                    told = f"{error.code} {error.reason}: {error.read(200).decode(errors='replace')}".strip(": ")
                if error.code in ABOUT_THE_ROW:
                    return told
                if error.code not in ABOUT_THE_MOMENT:
                    raise EndpointError(f"{self._url} answers {told}, which concerns every row") from None
                last, wait = told, _asked_wait(error.headers.get("Retry-After"))
            except (URLError, HTTPException, OSError) as error:
                last, wait = str(getattr(error, "reason", error)) or type(error).__name__, 0.0
            if attempt + 1 < self._patience.attempts:
                time.sleep(self._wait(attempt, wait))
        raise EndpointError(
            f"{self._url} took no row in {self._patience.attempts} attempts, the last answer was: {last}"
        )

    def _wait(self, attempt: int, asked: float) -> float:
        by_ourselves = self._patience.first_wait * float(2**attempt) * random.uniform(0.5, 1)
        return min(max(by_ourselves, asked), self._patience.longest_wait)


def _asked_wait(retry_after: str | None) -> float:
    """Seconds; the header may hold a date as well, which is passed over: two clocks are not compared."""
    return float(retry_after) if retry_after and retry_after.isdigit() else 0.0
