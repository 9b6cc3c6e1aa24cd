"""Posting the rows of a batch to an endpoint, at least once, each with a key by which the endpoint may know it again."""

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from streamops.control.assignment import RestOutput
from streamops.errors import SettingsError, StreamOpsError
from streamops.spark.sinks.batch import read_secret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

KEY_HEADER = "Idempotency-Key"
"""By the draft of the IETF (draft-ietf-httpapi-idempotency-key-header), as several payment services read it."""
ABOUT_THE_ROW = frozenset({400, 413, 415, 422, 431})
"""Answers by which an endpoint refuses what one row says; no other attempt can end otherwise."""
IN_WORK = 409
"""By the draft: an earlier request with this key is not done yet, as after a time-out. In the end it concerns one row too."""
ABOUT_THE_MOMENT = frozenset({408, IN_WORK, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may well be taken."""

_PRINTABLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")
"""What a key keeps in its header; the rest is percent-encoded, so that no row's key can break a request."""

_SHORTEST_SECRET = 6
"""Letters; shorter parts of an address are words as a rule, such as the name of a version."""

MOST_REFUSED = 1000
"""Refused rows of one task; more are no rows gone wrong, but an endpoint that has changed, and the driver collects them."""


class EndpointError(StreamOpsError):
    """An endpoint that does not take rows: away, too slow, or not for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one row is tried."""

    attempts: int = 6
    """At least 1."""
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
    all rows (401, 404, a redirection): the batch fails, and its next run posts all of them again. A row without key or body
    is refused unasked. A key of other characters than printable ASCII is percent-encoded; ValueError where
    key or body is no text.
    """
    token = read_secret(to.token_file, "sink.rest.token_file") if to.token_file else ""
    url = _secret_url(to.url_file) if to.url_file else to.url
    for name in (key, body):
        if rows.schema[name].dataType.simpleString() != "string":
            raise ValueError(f"column {name} is a {rows.schema[name].dataType.simpleString()}, and is to be a string")
    columns = rows.columns

    def post_partition(partition: "Iterable[Row]") -> "Iterator[Row]":
        return refused(
            partition, columns, Poster(url, token, patience, is_secret=bool(to.url_file)), key=key, body=body
        )

    return rows.rdd.mapPartitions(post_partition).collect()


def refused(
    rows: "Iterable[Row]", columns: Sequence[str], post: Callable[[str, str], str], *, key: str, body: str
) -> "Iterator[Row]":
    """Post each; those that `post` gives a reason for."""
    from pyspark.sql import Row

    with_reason, found = Row(*columns, "reason"), 0
    for row in rows:
        absent = [name for name in (key, body) if row[name] is None]
        reason = f"the row has no {' and no '.join(absent)}" if absent else post(row[key], row[body])
        if reason:
            found += 1
            if found > MOST_REFUSED:
                raise EndpointError(
                    f"more than {MOST_REFUSED} rows of one task were refused, the last one for: {reason}"
                )
            yield with_reason(*row, reason)


class _RefusedRedirect(HTTPRedirectHandler):
    """urllib follows a redirection of a POST by a GET without a body, and sends the token there too (Python 3.11)."""

    def redirect_request(self, *_: Any) -> None:
        """No further request: the redirection is the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What became of one attempt."""

    status: int = 0
    """0 where no answer came."""
    told: str = ""
    asked_wait: float = 0.0
    """Seconds."""

    @property
    def is_taken(self) -> bool:
        return 200 <= self.status < 300


class Poster:
    """Posts single bodies to one address."""

    def __init__(self, url: str, token: str, patience: Patience, *, is_secret: bool = False) -> None:
        self._url = url
        self._name = f"{urlsplit(url).hostname} (sink.rest.url_file)" if is_secret else url.partition("?")[0]
        """As errors give it: what stands behind a question mark may be meant for the endpoint alone."""
        self._hidden = _parts(url) if is_secret else ()
        """What no error and no reason of a row may hold, the longest first."""
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._patience = patience
        self._opener = build_opener(_RefusedRedirect)

    def __call__(self, key: str, body: str) -> str:
        """Empty when it was taken, the endpoint's reason where it refuses this body. EndpointError."""
        headers = {**self._headers, KEY_HEADER: quote(key, safe=_PRINTABLE)}
        request = Request(self._url, data=body.encode(), headers=headers, method="POST")
        for attempt in range(self._patience.attempts):
            answer = self._ask(request)
            if answer.is_taken:
                return ""
            if answer.status in ABOUT_THE_ROW:
                return answer.told
            if answer.status and answer.status not in ABOUT_THE_MOMENT:
                raise EndpointError(f"{self._name} answers {answer.told}, which concerns every row")
            if attempt + 1 < self._patience.attempts:
                time.sleep(self._wait(attempt, answer.asked_wait))
        if answer.status == IN_WORK:
            return answer.told
        raise EndpointError(
            f"{self._name} took no row in {self._patience.attempts} attempts, the last answer was: {answer.told}"
        )

    def _ask(self, request: Request) -> _Answer:
        try:
            with self._opener.open(request, timeout=self._patience.timeout) as answer:
                return _Answer(status=answer.status)
        except HTTPError as error:
            with error:
                return _Answer(
                    status=error.code,
                    told=self._told(f"{error.code} {error.reason}: {_beginning(error)}".strip(": ")),
                    asked_wait=_asked_wait(error.headers.get("Retry-After")),
                )
        except (HTTPException, OSError) as error:
            return _Answer(told=self._told(str(getattr(error, "reason", error)) or type(error).__name__))

    def _told(self, text: str) -> str:
        """An endpoint that does not know a path gives it back in its answer, as a rule."""
        for part in self._hidden:
            text = text.replace(part, "***")
        return text

    def _wait(self, attempt: int, asked: float) -> float:
        by_ourselves = self._patience.first_wait * float(2**attempt) * random.uniform(0.5, 1)
        return min(max(by_ourselves, asked), self._patience.longest_wait)


def _secret_url(path: str) -> str:
    """The address in a file; SettingsError, without the address, where it is none that can be posted to."""
    url = read_secret(path, "sink.rest.url_file")
    if not _can_be_posted_to(url):
        raise SettingsError(
            f"sink.rest.url_file: {path} holds no address in its first line that can be posted to: http:// or https://,"
            " without user, password or spaces"
        )
    return url


def _can_be_posted_to(url: str) -> bool:
    """What passes here makes urllib raise nothing that has the address in its text."""
    try:
        address = urlsplit(url)
        has_host = bool(address.hostname) and "@" not in address.netloc and address.port != 0
    except ValueError:
        return False
    return has_host and address.scheme in ("http", "https") and url.isascii() and url.isprintable() and " " not in url


def _parts(url: str) -> tuple[str, ...]:
    """All of an address behind its host, as a whole and in pieces that are long enough to mean something."""
    address = urlsplit(url)
    behind = url.partition("://")[2].partition("/")[2]
    pieces = [piece for piece in re.split(r"[/?&=;#]", behind) if len(piece) >= _SHORTEST_SECRET]
    return tuple(sorted({behind, address.path, address.query, *pieces} - {"", "/"}, key=len, reverse=True))


def _asked_wait(retry_after: str | None) -> float:
    """Seconds; the header may hold a date as well, which is passed over: two clocks are not compared."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdecimal() else 0.0


def _beginning(answer: HTTPError) -> str:
    """Of the answer's text, as far as it comes."""
    try:
        return answer.read(200).decode(errors="replace")
    except (HTTPException, OSError):
        return ""
