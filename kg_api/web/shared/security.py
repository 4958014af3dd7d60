"""Authentication, authorization, rate limits, sessions, and the audit log."""

from __future__ import annotations

import ipaddress
import json
import math
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request
from fastapi import Response as FastapiResponse
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.access.audit import AuditWriter
from kg_api.access.keys import (
    ANYONE,
    LOCAL,
    SESSION_SECONDS,
    STRANGER,
    Access,
    KeyCheck,
    SessionToken,
    Token,
    parse_session_token,
    parse_token,
)
from kg_api.access.proofs import is_proof, verify_proof
from kg_api.errors import ConfigurationError, Forbidden, KgError, RateExceeded, Unauthorized, Unavailable
from kg_api.graph.keys import AuditRecord
from kg_api.graph.reach import limit_visible_ontologies, require_visible
from kg_api.schemas.operations import redact_keys
from kg_api.schemas.vocabulary import KeyScope
from kg_api.settings import ApiSettings
from kg_api.web.shared.forwarded import get_path_prefix
from kg_api.web.shared.limits import BodyLimit
from kg_api.web.shared.problems import build_error_problem
from kg_api.web.shared.scopes import PublicPaths, Rule, is_page
from kg_api.wording import is_loopback

OWN: Final = "private, no-cache"
"""Cache-Control for private responses. A proxy must not store them, and a browser has to check them again."""


def _mark_private(send: Send) -> Send:
    """Mark responses as private. To do this, a cookie is not enough for shared caches."""

    async def send_own(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", OWN)
        await send(message)

    return send_own


# Rate limits

MAX_FAILED_SIGN_INS: Final = 10
"""Number of sign-ins that can fail in a minute from the same address."""
MAX_WRONG_KEYS: Final = 100
"""Number of wrong REST and MCP keys that you can send in a minute from the same address."""
_NETWORK_BITS: Final = 64
"""Bits to use from an IPv6 address, since the owner has the whole network."""


class MinuteLimit:
    """Limit per minute in this process. `refusal` can contain `{who}`, `{most}`, and `{wait}` (seconds)."""

    def __init__(self, most: int | None, refusal: str) -> None:
        self._most = None if most is None else RateLimitItemPerMinute(most)
        self._refusal = refusal
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def hit(self, who: str) -> None:
        """Count a use."""
        self._check_limit(self._limiter.hit, _get_network(who))

    def check(self, who: str) -> None:
        """Raise RateExceeded if the limit is reached. This is not counted."""
        self._check_limit(self._limiter.test, _get_network(who))

    def forget(self, who: str) -> None:
        if self._most:
            self._limiter.clear(self._most, _get_network(who))

    def _check_limit(self, may: Callable[[RateLimitItemPerMinute, str], bool], who: str) -> None:
        if self._most is None or may(self._most, who):
            return
        reset_at, _ = self._limiter.get_window_stats(self._most, who)
        wait = max(1, math.ceil(reset_at - time.time()))
        told = self._refusal.format(who=who, most=self._most.amount, wait=wait)
        raise RateExceeded(told, retry_after_seconds=wait)


def request_limit(most: int | None) -> MinuteLimit:
    return MinuteLimit(most, "the key {who} may send {most} requests a minute: try again in {wait} s")


def sign_in_limit() -> MinuteLimit:
    """Build the limit for sign-ins. An attempt is counted before the key is checked."""
    return MinuteLimit(MAX_FAILED_SIGN_INS, "too many keys were tried that are none: try again in {wait} s")


def build_wrong_key_limit() -> MinuteLimit:
    """Build the limit for wrong keys.

    Above the limit, kg looks up only keys that were valid in this process, so guesses cost the database
    nothing.
    """
    return MinuteLimit(MAX_WRONG_KEYS, "too many wrong keys came from this address: try again in {wait} s")


def get_client_address(scope: Scope) -> str:
    """Get the address of the client. If uvicorn trusts the proxy, this is the address from the proxy."""
    client = scope.get("client")
    return client[0] if client else ""


def _get_network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))  # noqa: PLR2004 - IP version


# Requirement of keys

log = structlog.get_logger()


def requires_keys(settings: ApiSettings) -> bool:
    """Check if you need a key. By default, this is not the case on a loopback address only."""
    if is_loopback(settings.host):
        return bool(settings.require_keys)
    if settings.require_keys is False:
        raise ConfigurationError(
            f"KG_API__HOST={settings.host} is a public address, where every request needs an API key. "
            "Unset KG_API__REQUIRE_KEYS, or listen on 127.0.0.1"
        )
    return True


def warn_if_open(settings: ApiSettings) -> None:
    """Log a warning if other machines seem to use a service that has no keys, such as through a proxy."""
    names = [each for each in settings.allowed_host_names if not is_loopback(each)]
    if names and settings.require_keys is None and is_loopback(settings.host):
        log.warning(
            "clients use this service by a public name, but it requires no API key. Set "
            "KG_API__REQUIRE_KEYS=true, or false if a proxy authenticates its users",
            names=names,
        )


# Sessions of the web UI: cookies and CSRF tokens

COOKIE: Final = "kg_session"
"""Prefix for the cookie's name. The port follows, because browsers share cookies between ports."""
HTTPS: Final = "__Host-"
"""Name prefix to use for cookies that browsers accept from the service over HTTPS only."""
BELOW_PATH: Final = "__Secure-"
"""Prefix to use if a cookie has a path, since `__Host-` does not allow this."""
_PORT: Final = re.compile(r":(\d{1,5})$")
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_FIELD: Final = "csrf_token"
MAX_FILES, MAX_FIELDS, MAX_FIELD_BYTES = 2, 20, 64 * 1024
"""Limits for forms that are sent without a script. A script sends the CSRF token as a header."""
READING: Final = frozenset({"GET", "HEAD"})


@dataclass(slots=True)
class Caller:
    """Sender of a request, and notes to use in the logs."""

    known: Access | None = None
    """Access of the sender. None: not yet known, or rejected."""
    session: SessionToken | None = None
    """Valid session of a browser."""
    claimed_key: str = ""
    outcome: dict[str, str | int | bool] | None = None
    """Changes of a page request for the audit log."""

    @property
    def access(self) -> Access:
        if self.known is None:
            raise RuntimeError("the route guard rejects unknown users")
        return self.known

    @property
    def key_id(self) -> str:
        return self.access.key_id

    @property
    def name(self) -> str:
        return self.access.name

    @property
    def csrf_token(self) -> str:
        return self.session.csrf_token if self.session else ""


_STATE: Final = "kg_caller"
_VIEWER: Final[ContextVar[Caller | None]] = ContextVar("viewer", default=None)


def read_caller(scope: Scope) -> Caller:
    """Read the sender of a request as far as known."""
    return scope.setdefault("state", {}).setdefault(_STATE, Caller())


def viewer() -> Caller | None:
    """Get the user who is signed in to the current page. None: anonymous."""
    return _VIEWER.get()


def may(scope: KeyScope, ontology: str | None = None) -> bool:
    """Check if the user has a scope. For `admin` without an ontology, the key must be for all ontologies."""
    who = viewer()
    if who is None:
        return True
    own = who.access.ontologies
    return who.access.allows(scope) and (scope != "admin" or own is None or ontology in own)


@contextmanager
def set_viewer(caller: Caller) -> Generator[None]:
    """Set the user who is signed in, to use this for pages in the block."""
    token = _VIEWER.set(caller if caller.session and caller.known else None)
    try:
        yield
    finally:
        _VIEWER.reset(token)


def get_sent_session(scope: Scope) -> SessionToken | None:
    """Get the session from a request, if you can trust the cookie. This does not check it."""
    connection = HTTPConnection(scope)
    cookies, name = connection.cookies, _get_cookie_name(connection)
    plain = "" if scope["scheme"] == "https" else cookies.get(name, "")
    return parse_session_token(cookies.get(_get_cookie_prefix() + name) or plain)


def get_usable_session(scope: Scope) -> SessionToken | None:
    """Get the session from a request.

    To change something, you need a page, since its forms have a CSRF token.
    """
    counts = scope["method"] in READING or is_page(scope["path"])
    return get_sent_session(scope) if counts else None


async def check_csrf(request: Request) -> None:
    """Reject a change that has only a session cookie, since a foreign page can make a browser send this."""
    token = read_caller(request.scope).session
    if token is None or request.method in READING:
        return
    sent = request.headers.get(CSRF_HEADER) or await _is_sent_by_form(request)
    if not (isinstance(sent, str) and token.has_csrf_token(sent)):
        raise Forbidden(
            "the page that sent this request was loaded before a sign-in. Go back to the page, "
            "reload it, and send the request again"
        )


async def _is_sent_by_form(request: Request) -> object:
    bounds = {"max_files": MAX_FILES, "max_fields": MAX_FIELDS, "max_part_size": MAX_FIELD_BYTES}
    return (await request.form(**bounds)).get(CSRF_FIELD)


def keep_cookie(request: Request, response: FastapiResponse, token: SessionToken) -> None:
    secure = _is_https(request)
    response.set_cookie(
        f"{_get_cookie_prefix() if secure else ''}{_get_cookie_name(request)}",
        token.text,
        max_age=SESSION_SECONDS,
        path=get_path_prefix() or "/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def drop_cookies(request: Request, response: FastapiResponse) -> None:
    for name in (_get_cookie_name(request), _get_cookie_prefix() + _get_cookie_name(request)):
        if name in request.cookies:
            secure = name.startswith(_get_cookie_prefix())
            path = get_path_prefix() or "/"
            response.delete_cookie(name, path=path, secure=secure, httponly=True, samesite="strict")


def _get_cookie_prefix() -> str:
    """Get the name prefix for a cookie over HTTPS.

    If there is a path, other services must not get the cookie.
    """
    return BELOW_PATH if get_path_prefix() else HTTPS


def _get_cookie_name(connection: HTTPConnection) -> str:
    """Get the name for the cookie over plain HTTP, with the port that is used by the browser."""
    port = _PORT.search(connection.headers.get("host", ""))
    return f"{COOKIE}_{port[1]}" if port else COOKIE


def _is_https(request: Request) -> bool:
    """Check if the browser uses HTTPS, also through an unknown proxy."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


# Authentication of requests

ONTOLOGY_PARAMETERS = frozenset({"ontology", "ontologies"})
LOOKUPS_AT_ONCE = 4
"""Threads to look up keys. Wrong keys do not block other requests."""
NO_KEY: Final = (
    "this service needs an API key. Set KG_API_KEY, or send `Authorization: Bearer kg_...`. An "
    "administrator creates keys with `kg admin keys create`. On the machine of the service, `kg` "
    "needs no key if it uses the KG_HOME and the address of the service"
)
NOT_A_KEY: Final = (
    "the credentials are not an API key of kg. Send one header `Authorization: Bearer kg_...`, or "
    "check KG_API_KEY"
)
NO_GOOD: Final = (
    "the API key is wrong, expired, or revoked. An administrator creates another with `kg admin keys "
    "create`. On the machine of the service, with its KG_HOME, unset KG_API_KEY: `kg` needs no key "
    "there"
)
NOT_NOW: Final = "no key can be looked up at the moment, for the database does not answer: try again"


class Authenticator:
    """Identification of the sender of a request."""

    def __init__(self, check: KeyCheck, home_key: Callable[[], str | None]) -> None:
        self._check = check
        self._home_key = home_key
        self._wrong = build_wrong_key_limit()
        self._threads = CapacityLimiter(LOOKUPS_AT_ONCE)

    async def identify(self, scope: Scope) -> Access | None:
        """Return the access of the sender, or None for an anonymous request."""
        sent = _read_sent_key(Headers(scope=scope))
        if sent is None:
            return await self._read_session(scope)
        if is_proof(sent):
            # Ignore a proof of another home. The client sends it automatically
            path = scope["raw_path"].decode("latin-1")
            return LOCAL if verify_proof(sent, self._home_key(), time.time(), scope["method"], path) else None
        token = parse_token(sent)
        if token is None or self._check.get_cached(token) or self._check.was_accepted(token):
            access = await self.find_key_owner(scope, sent)
        else:  # count only wrong keys that require a lookup
            address = get_client_address(scope)
            self._wrong.check(address)
            if (access := await self.find_key_owner(scope, sent)) is None:
                self._wrong.hit(address)
        if access is None:
            raise Unauthorized(NO_GOOD)
        return access

    async def find_key_owner(self, scope: Scope, key: str) -> Access | None:
        """Return the access of a key, or None if the key is invalid."""
        if (token := parse_token(key)) is None:
            return None
        read_caller(scope).claimed_key = token.key_id
        return await self._find_owner(token)

    def forget(self, session: SessionToken) -> None:
        self._check.forget(session)

    async def _read_session(self, scope: Scope) -> Access | None:
        """Get the access from the session. If it has expired, the user is anonymous."""
        if (token := get_usable_session(scope)) is None:
            return None
        if access := await self._find_owner(token):
            read_caller(scope).session = token
        return access

    async def _find_owner(self, token: Token) -> Access | None:
        if known := self._check.get_cached(token):
            return known.access
        try:
            return await run_sync(self._check.look_up, token, limiter=self._threads)
        except Unavailable:
            raise Unavailable(NOT_NOW) from None


class Guard:
    """Middleware to check key, rate, and size for each request.

    If keys are required, a request without a key gets 401 even if no such route exists.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        door: Authenticator,
        rate: MinuteLimit,
        bodies: BodyLimit,
        public: PublicPaths,
        required: bool,
    ) -> None:
        self.app = app
        self._door, self._rate = door, rate
        self._bodies, self._public, self._required = bodies, public, required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self._public or path in self._public.identified:
            send = _mark_private(send)
        caller = read_caller(scope)
        try:
            access = caller.known = await self._get_access(scope)
            self._bodies.check_announced(scope)
        except KgError as error:
            response = build_error_problem(error)
            if isinstance(error, Unauthorized):
                response.headers["WWW-Authenticate"] = 'Bearer realm="kg"'
            await response(scope, receive, send)
            return
        with (
            self._bodies.limited(scope, receive) as limited,
            structlog.contextvars.bound_contextvars(key=access.key_id),
            limit_visible_ontologies(access.ontologies),
            set_viewer(caller),
        ):
            await self.app(scope, limited, send)

    async def _get_access(self, scope: Scope) -> Access:
        path = scope["path"]
        if path in self._public.identified:  # health probes need a response even during failures
            with suppress(KgError):
                if access := await self._door.identify(scope):
                    return access
            return STRANGER if self._required else ANYONE
        if path in self._public:
            return ANYONE  # no lookup, because these paths explain failures of the database
        access = await self._door.identify(scope)
        if access is None and self._required:
            raise Unauthorized(NOT_A_KEY if "authorization" in Headers(scope=scope) else NO_KEY)
        if access is not None and access.is_key:
            self._rate.hit(access.key_id)
        return access or ANYONE


def get_current_access(request: Request) -> Access:
    """Get the access for a request that was routed."""
    return read_caller(request.scope).access


def get_sender_fields(scope: Scope) -> dict[str, str]:
    """Get log fields for the sender: the key id, or if it was rejected, the key id that it claims."""
    caller = read_caller(scope)
    if caller.claimed_key and not (caller.known and caller.known.is_key):
        return {"claimed_key": caller.claimed_key}
    return {"key": caller.known.key_id} if caller.known else {}


def check_access(request: Request, rule: Rule, path_format: str) -> None:
    """Check if a request is allowed, before its content is read.

    The error does not reveal whether an invisible ontology exists.
    """
    if rule.scope is None:
        return
    access = get_current_access(request)
    if not access.allows(rule.scope):
        raise Forbidden(
            f"{request.method} {path_format} needs a key of the scope {rule.scope!r}, and {access.key_id} "
            f"is of {access.scope!r}: ask an administrator for another"
        )
    if access.ontologies is None:
        return
    if not rule.admits_some(path_format):
        told = ", ".join(map(repr, sorted(access.ontologies)))
        raise Forbidden(
            f"{request.method} {path_format} concerns all of kg, but this key is limited to {told}. "
            "Ask an administrator for another key"
        )
    named = [value for name, value in request.query_params.multi_items() if name in ONTOLOGY_PARAMETERS]
    require_visible(*filter(None, [request.path_params.get("ontology"), *named]))


def _read_sent_key(headers: Headers) -> str | None:
    """Get the key from the request. If the credentials are for something else, such as a proxy, use None."""
    sent = [each.partition(" ") for each in headers.getlist("authorization")]
    keys = [key.strip() for kind, _, key in sent if kind.lower() == "bearer"]
    ours = [each for each in keys if each.startswith("kg_")]
    return ours[0] if len(ours) == 1 and len(sent) == 1 else None


# Audit log

MAX_READ = 1_000_000
"""Maximum number of bytes to parse from a response, to find the changes."""
MAX_VALUE = 200
SEE_OTHER = 303
"""Status to use for a page after a completed form."""
OUTCOMES: Final = frozenset(
    {
        *("ontology", "document", "document_id", "change", "job_id", "documents", "sources", "concepts"),
        *("relations", "rejected", "matched", "dry_run", "applied", "key_id", "name", "scope", "slug"),
        *("folder_id", "proposal_id", "state", "merge_id", "community_id", "type"),
        *("stored", "replaced", "unchanged", "vectors", "relevance", "judgements", "judgement_id"),
    }
)


def note_outcome(request: Request, answer: BaseModel | Mapping[str, Any]) -> None:
    """Record what a request has changed, if the response is a page."""
    told = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
    read_caller(request.scope).outcome = present_outcome(told)


def present_outcome(answer: Mapping[str, Any]) -> dict[str, str | int | bool]:
    """Get the names, ids, and counts from a response, or count the stored documents in a batch."""
    told = {name: value for name, value in answer.items() if name in OUTCOMES and _is_short(value)}
    if isinstance(kept := answer.get("kept"), list):
        told["kept"] = len(cast("list[Any]", kept))
    if isinstance(outcomes := answer.get("outcomes"), list):
        stored = [each["ingested"] for each in cast("list[Any]", outcomes) if each.get("ingested")]
        told["documents"] = len(stored)
        if len(of := {each["ontology"] for each in stored}) == 1:
            told["ontology"] = of.pop()
    return told


def _is_short(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= MAX_VALUE)


def audit(request: Request, status: int, body: bytes = b"") -> None:
    """Add a request to the audit log if it has changed data, or if this is possible."""
    if not (200 <= status < 300 or status == SEE_OTHER or status >= 500):  # noqa: PLR2004 - HTTP ranges
        return
    caller = read_caller(request.scope)
    if caller.outcome is None and len(body) <= MAX_READ:
        with suppress(ValueError):
            said: Any = json.loads(body)
            caller.outcome = present_outcome(cast("dict[str, Any]", said)) if isinstance(said, dict) else None
    writer: AuditWriter = request.app.state.audit
    writer.add(
        AuditRecord(
            key_id=caller.key_id,
            method=request.method,
            path=redact_keys(request.scope["path"][:500]),
            status=status,
            request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
            outcome=caller.outcome or {},
        )
    )
