"""What an HTTP status that is not success amounts to, for providers of every kind; ADR 0036 says why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast
from urllib.parse import urlsplit

from kg_api.errors import ConfigurationError
from kg_api.provider.redaction import detail
from kg_api.provider.retrying import RetryableError
from kg_api.provider.service import Provider, RejectedText

_RETRYABLE = {408, 409, 425, 429, 499}
"""Time-out, busy, too early, limit, cancelled."""
_SERVERS_OWN = 500
_NEVER_WORKS = {501, 505}
_REJECTED = {400, 413, 422, 424}
"""424 is TEI's failed inference of what it was sent: a job finds the text by halving, and asks whether the
model works at all before it sets that text aside."""
_REASONS = {429: "limit", **dict.fromkeys((401, 403, 498), "key"), 402: "account", 404: "not_found"}
_SETTINGS = {"model", "dimensions", "encoding_format"}
"""Parameters of a request that settings decide, not texts."""
_WITHOUT_PATH = " ({address} has no path: many servers need one, such as /v1)"
_CODE = re.compile(r"[a-z_]{1,40}")
_A_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An HTTP status that is not success, and what came with it."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    message: str = ""
    """The provider's own words; they may repeat a key or a text."""
    code: str = ""
    parameter: str = ""
    """Which part of the request was wrong, if it says so."""

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: object) -> ErrorReply:
        """Find a provider's words in a parsed body: in `error`, as OpenAI and Jina say it, or beside it."""
        error = fields_of(body).get("error")
        fields = fields_of(error) or fields_of(body)
        said = error if isinstance(error, str) else fields.get("message") or fields.get("detail") or ""
        codes = (fields.get("code"), fields.get("type"))
        return cls(
            status,
            {name.lower(): value for name, value in headers.items()},
            str(said),
            next((code for code in codes if isinstance(code, str)), ""),
            str(fields.get("param") or ""),
        )


def classify(
    reply: ErrorReply, provider: Provider, sent: Sequence[str]
) -> RetryableError | RejectedText | ConfigurationError:
    """Give the error that a reply amounts to; a final one says what to do.

    - 408, 409, 425, 429, 499, 5xx: it may work later.
    - 401, 403, 498: the key; never repeated, and neither are the provider's words, which may hold it.
    - 402: the account; 404: the model or the address.
    - 400, 413, 422, 424: the texts, unless the reply blames the model or its dimensions.
    - Anything else: that is no such service.
    """
    code = f" {reply.code}" if _CODE.fullmatch(reply.code) else ""
    said = f"{provider.address} answered {reply.status}{code}"
    more = detail(reply.message, sent=sent, key=provider.key)
    if is_retryable(reply.status):
        is_limit = reply.status < _SERVERS_OWN
        return RetryableError(f"{said}{more}", retry_after(reply.headers), is_limit=is_limit)
    if reply.status in {401, 403, 498}:
        return ConfigurationError(
            f"{said}: it does not take the key; set {provider.variables.key} to a valid one"
        )
    if reply.status in _REJECTED and reply.parameter not in _SETTINGS:
        return RejectedText(f"{said}: {provider.service.rejection.format(model=_named(provider))}{more}")
    return ConfigurationError(f"{said}: {_what_to_correct(reply, provider)}{more}")


def _what_to_correct(reply: ErrorReply, provider: Provider) -> str:
    model, address, key = provider.variables
    match reply.status:
        case 402:
            return f"its account has no credit left; add some there, or set {key} to the key of another"
        case 404:
            hint = "" if urlsplit(provider.address).path.strip("/") else _WITHOUT_PATH.format(address=address)
            return f"there is no such model{_named(provider)} or address; correct {model} or {address}{hint}"
        case _ if reply.parameter in _SETTINGS:
            return f"it does not take this {reply.parameter}; correct {model} and what belongs to it"
        case _:
            return f"that is not {provider.service.name}; correct {address}"


def read_error_body(headers: Mapping[str, str], body: object) -> ErrorReply | None:
    """Read a reply of status 200 whose body is an error; None if the body is an answer.

    Proxies keep the status of their own success: the error's code counts, and without one the server failed.
    """
    fields = fields_of(body)
    error = fields.get("error")
    if not error or any(isinstance(each, list) for each in fields.values()):
        return None
    of_error = fields_of(error)
    codes = (str(each.get(name)) for each in (of_error, fields) for name in ("code", "status"))
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), None)
    if status is None:
        status = 400 if "invalid" in str(of_error.get("type")) else _SERVERS_OWN
    return ErrorReply.read(status, headers, body)


def fields_of(body: object) -> dict[str, object]:
    """The fields of parsed JSON; none where it is no object."""
    return cast("dict[str, object]", body) if isinstance(body, dict) else {}


def reason_of(status: int) -> str:
    """Why a request failed, in one of a few words for /metrics."""
    if status in _REJECTED:
        return "rejected"
    return _REASONS.get(status) or ("server" if is_retryable(status) else "other")


def is_retryable(status: int) -> bool:
    """Whether an HTTP status tells of a failure that may pass by itself."""
    return status in _RETRYABLE or (status >= _SERVERS_OWN and status not in _NEVER_WORKS)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a reply's Retry-After asks for, as a number or as an HTTP date; at most a day.

    Returns:
        None without the header, or when it is neither.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", value):
        return min(float(value), _A_DAY)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0), _A_DAY)


def _named(provider: Provider) -> str:
    return f" ({provider.model})" if provider.model else ""
