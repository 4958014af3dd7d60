"""Limits of request bodies, JSON, host names, and origins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from anyio.to_thread import run_sync
from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from kg_api.errors import ConfigurationError, TooBusy, TooLarge
from kg_api.schemas.problems import explain_unknown_fields
from kg_api.settings import ApiSettings
from kg_api.web.shared.forwarded import FORWARDED_HOST
from kg_api.web.shared.scopes import is_page
from kg_api.wording import is_loopback

SMALL_BYTES = 1024 * 1024


class BodyLimit:
    """Limit for request bodies. It can be used when there is no Content-Length."""

    def __init__(self, get_limit: Callable[[str], int], together: int) -> None:
        self._get_limit = get_limit
        self._together = together
        self._held = 0

    def check_announced(self, scope: Scope) -> None:
        """Check the Content-Length of a request."""
        limit = self._get_limit(scope["path"])
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > limit:
            raise _build_too_large(limit)

    @contextmanager
    def limited(self, scope: Scope, receive: Receive) -> Generator[Receive]:
        """Yield a `receive` that raises TooLarge, or TooBusy if all bodies together are too large."""
        limit = self._get_limit(scope["path"])
        seen = held = 0

        async def counted() -> Message:
            nonlocal seen, held
            message = await receive()
            size = len(message.get("body", b""))
            seen += size
            if seen > limit:
                raise _build_too_large(limit)
            if seen > SMALL_BYTES:
                if self._held + size > self._together:
                    raise TooBusy("too many large requests are in progress. Try again in a few seconds")
                held += size
                self._held += size
            return message

        try:
            yield counted
        finally:
            self._held -= held


def _build_too_large(limit: int) -> TooLarge:
    return TooLarge(f"the request is larger than {limit:,} bytes, which is the most that is taken here")


# Limits of JSON, checked on the bytes before parsing. `[[],[],...]` of 60 MB would become twenty million
# lists, a minute, and 2 GB.

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Maximum number of values in a body. The longest conversation has 40,000."""
_SIGN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
"""A string, which is not counted, or a sign that begins a value or ends a container."""


def check_bounds(content: bytes) -> bytes:
    """Check depth and number of values, and return the content. The parser checks the syntax."""
    if len(content) <= MAX_VALUES and content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return content  # all usual requests
    depth, values = 0, 1
    for found in _SIGN.finditer(content):
        sign = content[found.start()]
        values += sign in b",[{"
        depth += (sign in b"[{") - (sign in b"]}")
        if values > MAX_VALUES:
            raise HTTPException(413, f"the body has more than {MAX_VALUES:,} values. Send them in parts")
        if depth > MAX_DEPTH:
            raise HTTPException(400, f"the body is nested too deeply: more than {MAX_DEPTH} levels")
    return content


# Protection against requests of foreign web pages. Without required keys, every client can read and write.
# The service answers only under known host names (against DNS rebinding) and only to its own pages and
# allowed origins.

LINKED = frozenset({"/", "/docs"})
"""Pages to which other sites can link, in addition to /ui."""
OURS = frozenset({"same-origin", "none"})
"""Values that can be used in Sec-Fetch-Site. `none`: typed URL or bookmark."""
MAX_SHOWN_NAME = 100
_PORTS = {"http": 80, "https": 443}


def list_allowed_hosts(settings: ApiSettings) -> frozenset[str]:
    """List the host names that can be used, in addition to loopback names."""
    named = settings.allowed_host_names
    if is_loopback(settings.host):
        return frozenset(named)
    if not named:
        raise ConfigurationError(
            f"KG_API__HOST={settings.host} is a public address. Set KG_API__ALLOWED_HOSTS to the "
            "names and addresses that clients use for this service, such as kg.example.org,192.0.2.7"
        )
    return frozenset({*named, settings.host} - {"0.0.0.0", "::"})  # noqa: S104 - not a name of a host


class OriginCheck:
    """Check of the Host and Origin headers."""

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    def check(self, scope: Scope, headers: Headers) -> tuple[int, str, str, str] | None:
        """Check if a request is allowed. If not, get the arguments for the problem response."""
        host = headers.get("host", "")
        name = _split_authority(f"http://{host}")[0]
        if not self._is_known(name):
            told = (
                f"unknown name {name[:MAX_SHOWN_NAME]!r} in the Host header. If this is a name of the "
                "service, add it to KG_API__ALLOWED_HOSTS and restart the service"
            )
            return 421, "http", "Misdirected", told
        origin = headers.get("origin")
        if origin in self._origins:
            return None
        foreign = origin is not None and not any(_is_same(origin, each) for each in self._own(scope, host))
        if foreign or (headers.get("sec-fetch-site", "none") not in OURS and not _is_visit(scope, headers)):
            told = (
                "requests from other web pages are denied. To allow an origin, add it to "
                "KG_API__ALLOWED_ORIGINS"
            )
            return 403, "http", "Forbidden", told
        return None

    def _is_known(self, name: str) -> bool:
        return is_loopback(name) or name in self._hosts

    def _own(self, scope: Scope, host: str) -> list[str]:
        """List the hosts for own pages: the Host header, and the host that was used to call a proxy."""
        forwarded: str = scope.get(FORWARDED_HOST, "").partition(",")[0].strip()
        return [host, *([forwarded] if self._is_known(_split_authority(f"http://{forwarded}")[0]) else [])]


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Check if the request follows a link to a page."""
    return (
        scope["method"] == "GET"
        and (scope["path"] in LINKED or is_page(scope["path"]))
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _is_same(origin: str, host: str) -> bool:
    scheme = origin.partition("://")[0]
    return scheme in _PORTS and _split_authority(origin) == _split_authority(f"{scheme}://{host}")


@lru_cache(1000)
def _split_authority(address: str) -> tuple[str, int | None]:
    """Split a URL to get host name and port. If it is invalid, the name is empty."""
    try:
        parts = urlsplit(address)
        return parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", None


# Strict JSON. Python's parser accepts NaN and duplicate keys

LARGE_BYTES = 64 * 1024
"""Maximum size to parse a body in the event loop. For a small body, a thread costs more than this."""
LARGE_AT_ONCE = 2
MAX_KEYS = 1000

ModelT = TypeVar("ModelT", bound=BaseModel)
ReadT = TypeVar("ReadT")


def parse(content: bytes) -> Any:
    """Parse JSON."""
    try:
        text = check_bounds(content).decode("utf-8")
        return json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_require_unique_keys)
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None


def parse_text(text: str) -> Any:
    """Parse JSON of a form field, as `parse` does."""
    return parse(text.encode("utf-8", "surrogatepass"))


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise HTTPException(400, f"the body has an object with more than {MAX_KEYS:,} keys")
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has a duplicate key")
    return result


def validate(model: type[ModelT], given: Any) -> ModelT:
    """Validate a manually parsed body."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        errors = error.errors()
        explain_unknown_fields(errors, model)
        raise RequestValidationError(errors) from None


async def read_model(request: Request, model: type[ModelT]) -> ModelT:
    """Parse the body from a request, using a model."""
    return await read_body(request, lambda body: validate(model, parse(body)))


async def read_bounded(request: Request) -> bytes:
    """Read the body from a request, and check the limits for JSON."""
    return await read_body(request, check_bounds)


async def read_body(request: Request, reading: Callable[[bytes], ReadT]) -> ReadT:
    """Parse the body from a request.

    Large bodies use a few threads, and you can wait for them without a thread.
    """
    body = await request.body()
    if len(body) <= LARGE_BYTES:
        return reading(body)
    return await run_sync(reading, body, limiter=request.app.state.large_bodies)


def get_media_type(request: Request) -> str:
    """Get the media type of a body, or an empty text. Parameters are omitted."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_type(request: Request, kind: str) -> None:
    """Check the media type of a body."""
    if get_media_type(request) != kind:
        raise HTTPException(415, f"send the body as {kind}")
