"""HTTP client for providers, with limits of time and size, and the meaning of statuses.

The timeout of httpx starts again with each piece of a reply, so a slow server could block a search forever.
Errors contain the status and the provider's code, but not its message, because providers quote keys and
texts.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, InvalidInput, KgError, ModelUnavailable
from kg_api.metrics import get_meters
from kg_api.providers.retrying import RejectedText, RetryableError
from kg_api.tracing import SpanKind, annotate, carry_trace, span

MIB = 1024 * 1024
MAX_REPLY_BYTES = 16 * MIB  # default limit of a reply
T = TypeVar("T")

# Providers and their errors


@dataclass(frozen=True, slots=True)
class Service:
    """Kind of service: embedding, images, language model, or reranker."""

    kind: str  # label in metrics and traces: `embed`, `image`, `llm` or `rerank`
    name: str  # name with an article: `an embedding service`
    subject: str  # subject of messages: `the language model`
    rejection: str  # cause and fix of a rejection, with `{model}` for the model's name in brackets
    unavailable: type[ModelUnavailable]  # error after the last retry
    unusable: type[KgError]  # error for a reply in another protocol
    rejected: type[KgError] = InvalidInput
    misconfigured: type[KgError] = ConfigurationError  # error for a wrong key, model or address

    def give_up(self, reason: str, retry_after: float | None) -> ModelUnavailable:
        """Build the error to raise after the last retry."""
        rest = f". Retry after {retry_after:.0f} s" if retry_after else ""
        return self.unavailable(f"{self.subject} fails: {reason}{rest}", retry_after_seconds=retry_after)


class Variables(NamedTuple):
    model: str
    address: str
    key: str


@dataclass(frozen=True, slots=True)
class Provider:
    service: Service
    variables: Variables
    model: str  # empty for the server's default
    address: str
    key: SecretStr | None

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or "unknown"

    @property
    def secret(self) -> str:
        return self.key.get_secret_value() if self.key else ""

    def report_wrong_service(self) -> KgError:
        """Build the error for a reply that uses another protocol."""
        return self.service.unusable(
            f"{self.address} does not respond like {self.service.name}. Check {self.variables.address}"
        )


# Meaning of HTTP statuses (ADR 108)

_RETRYABLE = {408, 409, 425, 429, 499}
_NEVER_WORKS = {501, 505}
_REJECTED = {400, 413, 422, 424}  # 424: failed inference in TEI
_REASONS = {429: "limit", **dict.fromkeys((401, 403, 498), "key"), 402: "account", 404: "not_found"}
_SETTINGS = {"model", "dimensions", "encoding_format"}  # request parameters from settings, not from texts
_CODE = re.compile(r"[a-z_]{1,40}")
_A_DAY = 86_400.0


def is_retryable(status: int) -> bool:
    return status in _RETRYABLE or (status >= 500 and status not in _NEVER_WORKS)  # noqa: PLR2004


def classify(
    status: int, headers: Mapping[str, str], body: object, provider: Provider
) -> RetryableError | RejectedText | ConfigurationError:
    """Return the error for a status. A permanent error contains the fix.

    - 408, 409, 425, 429, 499, 5xx: retry.
    - 401, 403, 498: key. 402: account. 404: model or address.
    - 400, 413, 422, 424: texts, unless the reply names the model or its dimensions.
    - Others: not a service of this kind.
    """
    error = get_fields(get_fields(body).get("error")) or get_fields(body)
    codes = (error.get("code"), error.get("type"))
    code = next((f" {each}" for each in codes if isinstance(each, str) and _CODE.fullmatch(each)), "")
    parameter = error.get("param")
    problem, model = (
        f"{provider.address} returned {status}{code}",
        f" ({provider.model})" * bool(provider.model),
    )
    variables = provider.variables
    if is_retryable(status):
        return RetryableError(problem, retry_after(headers), is_limit=status < 500)  # noqa: PLR2004
    if status in {401, 403, 498}:
        return ConfigurationError(f"{problem}: the API key was rejected. Set {variables.key} to a valid key")
    if status in _REJECTED and parameter not in _SETTINGS:
        return RejectedText(f"{problem}: {provider.service.rejection.format(model=model)}")
    if parameter in _SETTINGS:
        fix = f"the model rejects this {parameter}. Correct {variables.model} and its options"
    elif status == 402:  # noqa: PLR2004
        fix = (
            f"the account has no credit left. Add some, or set {variables.key} to the key of another account"
        )
    elif status == 404:  # noqa: PLR2004
        has_path = urlsplit(provider.address).path.strip("/")
        hint = "" if has_path else f" ({variables.address} has no path: many servers need one, such as /v1)"
        names = f"{variables.model} or {variables.address}"
        fix = f"unknown model{model} or address. Correct {names}{hint}"
    else:
        fix = f"the server is not {provider.service.name}. Correct {variables.address}"
    return ConfigurationError(f"{problem}: {fix}")


def read_error_status(body: object) -> int | None:
    """Get the status from an error in a reply that was successful, or None.

    Proxies send errors with status 200. The error's code counts. Without a code, the result is 400 or 500.
    """
    fields = get_fields(body)
    error = fields.get("error")
    if not error or any(isinstance(each, list) for each in fields.values()):
        return None
    of_error = get_fields(error)
    for each in (of_error, fields):
        for name in ("code", "status"):
            if re.fullmatch(r"[45]\d\d", str(each.get(name))):
                return int(str(each[name]))
    return 400 if "invalid" in str(of_error.get("type")) else 500


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Get the seconds from a Retry-After header (number or HTTP date, up to a day), or None."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", value):
        return min(float(value), _A_DAY)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0), _A_DAY)


def get_fields(body: object) -> dict[str, object]:
    """Get the fields from parsed JSON, or an empty dict."""
    return cast("dict[str, object]", body) if isinstance(body, dict) else {}


def get_reply_items(body: object, name: str) -> list[object] | None:
    found = get_fields(body).get(name)
    return cast("list[object]", found) if isinstance(found, list) else None


# Client


class ReplyTooLarge(httpx.TransportError):
    """Error for a reply above its size limit."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: object  # parsed JSON, or None if invalid

    @property
    def failed_as(self) -> int | None:
        """Status if the request failed. This is possible when the HTTP status is 200."""
        return read_error_status(self.body) if 200 <= self.status < 300 else self.status  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class ReplyStream:
    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]  # raises httpx.HTTPError if the reply is interrupted or takes too long
    close: Callable[[], None]

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004


class JsonClient:
    """Client to send requests to a path at a provider. Thread-safe.

    All methods raise RetryableError for temporary failures, RateExceeded if the caller's budget is used up,
    and the errors of the provider's service. No error is chained to httpx's, which contain the request and
    the key.
    """

    def __init__(self, provider: Provider, path: str) -> None:
        self.provider = provider
        self._url = f"{provider.address.rstrip('/')}{path}"
        headers = {"accept-encoding": "identity"}  # a compressed reply could expand a thousand times
        if provider.secret:
            headers["authorization"] = f"Bearer {provider.secret}"
        # Use an own transport, because proxies of the environment are for other traffic.
        self._client = httpx.Client(transport=httpx.HTTPTransport(), follow_redirects=False, headers=headers)

    def post(self, body: Mapping[str, object], seconds: float, max_bytes: int = MAX_REPLY_BYTES) -> Reply:
        """Send JSON to get the reply. This does not raise an error for an error status."""
        return self._send(lambda: _read(self._open(seconds, max_bytes, json=body)))

    def post_form(
        self,
        fields: Mapping[str, str],
        files: Sequence[tuple[str, tuple[str, bytes, str]]],
        seconds: float,
        max_bytes: int,
    ) -> Reply:
        """Send a form with files (field, (name, content, type)), like `post`."""
        return self._send(lambda: _read(self._open(seconds, max_bytes, data=fields, files=list(files))))

    def post_stream(self, body: Mapping[str, object], seconds: float) -> ReplyStream:
        """Send JSON, and return when the reply begins. `seconds` is the limit for the whole reply."""
        return self._send(lambda: self._open(seconds, MAX_REPLY_BYTES, json=body))

    def receive(self, stream: ReplyStream) -> Reply:
        return self._send(lambda: _read(stream))

    def read(self, reply: Reply) -> object:
        if (status := reply.failed_as) is None:
            return reply.body
        raise self.build_error(status, reply.headers, reply.body)

    def build_error(self, status: int, headers: Mapping[str, str], body: object) -> Exception:
        reason = "rejected" if status in _REJECTED else _REASONS.get(status)
        self._count(reason or ("server" if is_retryable(status) else "other"))
        failure, service = classify(status, headers, body, self.provider), self.provider.service
        if isinstance(failure, RejectedText):
            return service.rejected(str(failure))
        return service.misconfigured(str(failure)) if isinstance(failure, ConfigurationError) else failure

    def close(self) -> None:
        self._client.close()

    def _open(self, seconds: float, max_bytes: int, **content: object) -> ReplyStream:
        until, headers = time.monotonic() + seconds, dict[str, str]()
        carry_trace(headers)
        request = self._client.build_request(
            "POST",
            self._url,
            timeout=seconds,
            headers=headers,
            **content,  # pyright: ignore[reportArgumentType]
        )
        response = self._client.send(request, stream=True)
        annotate(response.status_code)
        pieces = _read_bounded(response, until, max_bytes)
        return ReplyStream(response.status_code, response.headers, pieces, response.close)

    def _send(self, receive: Callable[[], T]) -> T:
        to, kind = self.provider, self.provider.service.kind
        about = {"server__address": to.host, "gen_ai__request__model": to.model}
        try:
            with (
                get_meters().timing("provider_request_seconds", kind, to.host),
                span(f"{kind} {to.host}", SpanKind.CLIENT, **about),
            ):
                return receive()
        except ReplyTooLarge:
            self._count("too_large")
            failure: Exception = to.service.unusable(
                f"{to.address} sends far more data than {to.service.name} would. Check {to.variables.address}"
            )
        except httpx.TimeoutException:
            self._count("timeout")
            failure = RetryableError(f"{to.address} did not respond in time")
        except httpx.HTTPError as error:
            self._count("unreachable")
            kind = type(error).__name__
            failure = RetryableError(f"{to.address} cannot be reached or broke off ({kind})")
        raise failure

    def _count(self, reason: str) -> None:
        get_meters().count("provider_failures", self.provider.service.kind, self.provider.host, reason)


def _read(stream: ReplyStream) -> Reply:
    with closing(stream):
        return Reply(stream.status, stream.headers, _parse(b"".join(stream.pieces)))


def _parse(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: deeply nested brackets
        return None


def _read_bounded(response: httpx.Response, until: float, max_bytes: int) -> Iterator[bytes]:
    """Yield content from a reply, within the limits for size and time."""
    if response.headers.get("content-encoding", "identity").lower() not in {"identity", ""}:
        raise httpx.RemoteProtocolError("the reply has an unexpected encoding")
    read = 0
    for piece in response.iter_raw():
        read += len(piece)
        if read > max_bytes:
            raise ReplyTooLarge(f"the reply is longer than {max_bytes:,} bytes")
        yield piece
        if time.monotonic() > until:
            raise httpx.ReadTimeout("the reply took too long")
