"""What others than whoever asks may keep of answers: nothing, unless an answer says otherwise itself."""

from __future__ import annotations

import ipaddress
import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
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
from limits.strategies import SlidingWindowCounterRateLimiter
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
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
    is_proof,
    parse_session_token,
    parse_token,
    proves,
)
from kg_api.errors import ConfigurationError, Forbidden, KgError, RateExceeded, Unauthorized, Unavailable
from kg_api.graph.keys import AuditRecord
from kg_api.graph.reach import reaching, require
from kg_api.metrics import within_budget
from kg_api.schemas.operations import without_secrets
from kg_api.schemas.vocabulary import KeyScope
from kg_api.settings import ApiSettings
from kg_api.web.shared.forwarded import path_prefix
from kg_api.web.shared.problems import of_error
from kg_api.web.shared.scopes import DESCRIBING_KG, can_be_held, is_page, is_public, scope_of
from kg_api.wording import is_loopback

OWN: Final = "private, no-cache"
"""A proxy keeps nothing, and a browser asks before it shows again what it kept."""


class OwnAnswers:
    """Keeps shared caches from what a key or a session was needed for: a cookie alone does not do that."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (is_public(scope["path"]) and scope["path"] not in DESCRIBING_KG):
            await self.app(scope, receive, send)
            return

        async def send_own(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("Cache-Control", OWN)
            await send(message)

        await self.app(scope, receive, send_own)


# How many requests a key may send, and how often keys may be tried.

MAX_FAILED_SIGN_INS: Final = 10
"""A minute, of an address."""
MAX_WRONG_KEYS: Final = 100
"""A minute, of an address, that REST and MCP look up in vain; what needs no look-up is not counted."""
DAY_SECONDS: Final = 24 * 3600
_NETWORK_BITS: Final = 64
"""Of IPv6: who has one address has all of these."""


class _MinuteCount:
    """What each of many did within the last minute, as this process of the service sees it."""

    def __init__(self, most: int) -> None:
        self.most = RateLimitItemPerMinute(most)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def wait(self, who: str, *, counted: bool = True) -> int | None:
        """Count one, or only look; of one too many, in how many seconds it may be."""
        look = self._limiter.hit if counted else self._limiter.test
        if look(self.most, who):
            return None
        reset_at, _ = self._limiter.get_window_stats(self.most, who)
        return max(1, math.ceil(reset_at - time.time()))

    def forget(self, who: str) -> None:
        self._limiter.clear(self.most, who)


class RequestRate:
    """Counts the requests of each key within the last minute, as this process of the service gets them.

    Args:
        most: so many a minute; None: any number.
    """

    def __init__(self, most: int | None) -> None:
        self._count = None if most is None else _MinuteCount(most)

    def count(self, access: Access) -> None:
        """Count one request of a key; those of this machine's own user, and without a key, are not.

        Raises:
            RateExceeded: saying when another may be sent.
        """
        if self._count is None or not access.is_key or (wait := self._count.wait(access.key_id)) is None:
            return
        raise RateExceeded(
            f"the key {access.key_id} may send {self._count.most.amount} requests a minute: try again in "
            f"{wait} s",
            retry_after_seconds=wait,
        )


class TokenRate:
    """Counts the tokens that providers read and write for each key in a day of UTC, in this process.

    A library of rate limits refuses what does not fit; what a provider has read is spent, fit or not, and the
    next request has to wait for it.

    Args:
        most: so many a day; None: any number.
        clock: seconds since 1970.
    """

    def __init__(self, most: int | None, clock: Callable[[], float] = time.time) -> None:
        self.most = most
        self._clock = clock
        self._day = 0
        self._spent: Counter[str] = Counter()
        self._lock = threading.Lock()

    def budget_of(self, access: Access) -> KeyBudget | None:
        """What a key may spend; none of this machine's own user, and where there is no bound."""
        return KeyBudget(self, access.key_id) if self.most is not None and access.is_key else None

    def count(self, key: str, tokens: int) -> int:
        """Count what was spent with a key; how much it is today."""
        with self._lock:
            if self._day != (today := int(self._clock() // DAY_SECONDS)):
                self._day, self._spent = today, Counter()
            self._spent[key] += tokens
            return self._spent[key]

    def seconds_left(self) -> int:
        """Until the day ends."""
        return max(1, math.ceil(DAY_SECONDS - self._clock() % DAY_SECONDS))


class KeyBudget:
    def __init__(self, rate: TokenRate, key: str) -> None:
        self._rate, self._key = rate, key

    def require(self) -> None:
        """See that something is left.

        Raises:
            RateExceeded: saying when there will be.
        """
        most = self._rate.most or 0
        if self._rate.count(self._key, 0) < most:
            return
        wait = self._rate.seconds_left()
        raise RateExceeded(
            f"with the key {self._key} providers were given the {most:,} tokens of today: try again in "
            f"{wait} s, at midnight UTC, or ask an administrator for more (KG_API__PROVIDER_TOKENS_PER_DAY)",
            retry_after_seconds=wait,
        )

    def spend(self, tokens: int) -> None:
        """Count what was spent, be it more than there was."""
        self._rate.count(self._key, tokens)


class SignInRate:
    """Counts the keys that were tried in vain from each address."""

    def __init__(self) -> None:
        self._count = _MinuteCount(MAX_FAILED_SIGN_INS)

    def begin(self, address: str) -> None:
        """Count one as if it failed, before it is tried: also of many at once no more are tried.

        Raises:
            RateExceeded: saying when another may be tried.
        """
        if (wait := self._count.wait(_network(address))) is not None:
            raise RateExceeded(
                f"too many keys were tried that are none: try again in {wait} s", retry_after_seconds=wait
            )

    def succeed(self, address: str) -> None:
        """Somebody there has a key."""
        self._count.forget(_network(address))


class WrongKeyRate:
    """Counts the keys that each address sent with requests, and that are none.

    Beyond the bound, a key that this process has never found good is not looked up any more, so that whoever
    guesses costs the database nothing; one that was good before is, so that who has it waits for nobody.
    """

    def __init__(self) -> None:
        self._count = _MinuteCount(MAX_WRONG_KEYS)

    def check(self, address: str) -> None:
        """Before a key is looked up.

        Raises:
            RateExceeded: saying when another may be tried.
        """
        self._refuse(self._count.wait(_network(address), counted=False))

    def fail(self, address: str) -> None:
        """One was none.

        Raises:
            RateExceeded: of many that were tried at once, this one is too many.
        """
        self._refuse(self._count.wait(_network(address)))

    def _refuse(self, wait: int | None) -> None:
        if wait is not None:
            raise RateExceeded(
                f"too many wrong keys came from this address: try again in {wait} s", retry_after_seconds=wait
            )


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))  # noqa: PLR2004 - of IP


# Whether the service answers anybody without a key.

log = structlog.get_logger()


def keys_required(settings: ApiSettings) -> bool:
    """As the settings say; else where others than this machine reach it.

    Raises:
        ConfigurationError: they reach it, and the settings say no.
    """
    if is_loopback(settings.host):
        return bool(settings.require_keys)
    if settings.require_keys is False:
        raise ConfigurationError(
            f"KG_API__HOST={settings.host} listens beyond this machine, where nobody is answered without "
            "a key: unset KG_API__REQUIRE_KEYS, or listen on 127.0.0.1"
        )
    return True


def warn_if_open(settings: ApiSettings) -> None:
    """Say so where others seem to reach a service that asks for no key, as through a proxy."""
    names = [each for each in settings.allowed_host_names if not is_loopback(each)]
    if names and settings.require_keys is None and is_loopback(settings.host):
        log.warning(
            "others reach this service by a name, and it asks nobody for a key: set "
            "KG_API__REQUIRE_KEYS=true, or false where what stands before it keeps strangers out",
            names=names,
        )


# Sessions of the page over HTTP: their cookie, and what a form must bring beside it.

COOKIE: Final = "kg_session"
"""How its name begins. The port comes behind: a browser keeps the cookies of all ports of a host together,
and another kg may be on another port."""
HTTPS: Final = "__Host-"
"""What has a name that begins so, browsers keep only from the service itself, by https."""
BELOW_PATH: Final = "__Secure-"
"""The same for a cookie that browsers send below one path alone, which HTTPS excludes."""
_PORT: Final = re.compile(r":(\d{1,5})$")
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_FIELD: Final = "csrf_token"
MAX_FILES, MAX_FIELDS, MAX_FIELD_BYTES = 2, 20, 64 * 1024
"""Of forms that are sent without a script, which sends the token as a header."""
READING: Final = frozenset({"GET", "HEAD"})
_SESSION: Final = "kg_session"
"""Where a request's state has it."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who is signed in and looks at a page."""

    key_id: str
    name: str
    """Of the key."""
    csrf_token: str
    access: Access


_VIEWER: Final[ContextVar[Viewer | None]] = ContextVar("viewer", default=None)


def viewer() -> Viewer | None:
    """Who looks at the page that is made; None: nobody is signed in."""
    return _VIEWER.get()


def may(scope: KeyScope, ontology: str | None = None) -> bool:
    """Whether whoever looks can do what needs a scope.

    Args:
        scope: that it needs.
        ontology: that it is about; None: administering all of kg takes a key of all.
    """
    who = viewer()
    if who is None:
        return True
    own = who.access.ontologies
    return who.access.allows(scope) and (scope != "admin" or own is None or ontology in own)


@contextmanager
def in_session(scope: Scope, access: Access) -> Generator[None]:
    """Let pages that are made within know who is signed in."""
    token = session_of(scope)
    shown = None if token is None else Viewer(access.key_id, access.name, token.csrf_token, access)
    before = _VIEWER.set(shown)
    try:
        yield
    finally:
        _VIEWER.reset(before)


def sent_session(scope: Scope) -> SessionToken | None:
    """The session that a request brings, be it good or not; by https no cookie counts that others may set."""
    connection = HTTPConnection(scope)
    cookies, name = connection.cookies, _name(connection)
    plain = "" if scope["scheme"] == "https" else cookies.get(name, "")
    return parse_session_token(cookies.get(_security() + name) or plain)


def usable_session(scope: Scope) -> SessionToken | None:
    """The same where it counts: to change something, on pages alone, whose forms bring more than a cookie."""
    counts = scope["method"] in READING or is_page(scope["path"])
    return sent_session(scope) if counts else None


def note_session(scope: Scope, token: SessionToken) -> None:
    """A request is of a session that is good."""
    scope["state"][_SESSION] = token


def session_of(scope: Scope) -> SessionToken | None:
    """The good session that a request is of; None: it is of none."""
    return scope["state"].get(_SESSION)


async def check_csrf(request: Request) -> None:
    """Refuse what is sent with a session's cookie alone: a foreign page may have made the browser send it.

    Raises:
        Forbidden: the token of a page is missing or of another session.
    """
    token = session_of(request.scope)
    if token is None or request.method in READING:
        return
    sent = request.headers.get(CSRF_HEADER) or await _sent_by_form(request)
    if not (isinstance(sent, str) and token.has_csrf_token(sent)):
        raise Forbidden(
            "the page that sent this was loaded before somebody signed in: go back to it, load it anew, and "
            "send it again"
        )


async def _sent_by_form(request: Request) -> object:
    bounds = {"max_files": MAX_FILES, "max_fields": MAX_FIELDS, "max_part_size": MAX_FIELD_BYTES}
    return (await request.form(**bounds)).get(CSRF_FIELD)


def keep_cookie(request: Request, response: FastapiResponse, token: SessionToken) -> None:
    secure = _is_https(request)
    response.set_cookie(
        f"{_security() if secure else ''}{_name(request)}",
        token.text,
        max_age=SESSION_SECONDS,
        path=path_prefix() or "/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def drop_cookies(request: Request, response: FastapiResponse) -> None:
    """Have a browser forget its session."""
    for name in (_name(request), _security() + _name(request)):
        if name in request.cookies:
            secure = name.startswith(_security())
            path = path_prefix() or "/"
            response.delete_cookie(name, path=path, secure=secure, httponly=True, samesite="strict")


def _security() -> str:
    """How the name of a cookie by https begins. Below a path, other services of the host must not get it."""
    return BELOW_PATH if path_prefix() else HTTPS


def _name(connection: HTTPConnection) -> str:
    """Of the cookie by plain http, with the port that the browser knows the service by."""
    port = _PORT.search(connection.headers.get("host", ""))
    return f"{COOKIE}_{port[1]}" if port else COOKIE


def _is_https(request: Request) -> bool:
    """As the browser sees it, also where a proxy that kg knows nothing of speaks https for it."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


# The door: who sends no key, or one that is no good, gets no further than this.

ONTOLOGY_PARAMETERS = frozenset({"ontology", "ontologies"})
"""Of queries."""
_ACCESS, _CLAIMED = "kg_access", "kg_claimed_key"
"""Where a request's state has them."""
LOOKUPS_AT_ONCE = 4
"""With threads of their own: whoever sends keys that are none holds up no request of others."""
NO_KEY: Final = (
    "this service answers nobody without a key: set KG_API_KEY, or send `Authorization: Bearer kg_...`; an "
    "administrator makes one with `kg admin keys create`. On the machine of the service `kg` needs none, "
    "with the KG_HOME of the service and at the address that it listens on"
)
NOT_A_KEY: Final = (
    "what was sent as a key is none of kg's: send one header `Authorization: Bearer kg_...`, or look at "
    "KG_API_KEY"
)
NO_GOOD: Final = (
    "the key is wrong, expired or revoked: an administrator makes another with `kg admin keys create`. On "
    "the machine of the service, with its KG_HOME, unset KG_API_KEY: `kg` needs none there"
)
NOT_NOW: Final = "no key can be looked up at the moment, for the database does not answer: try again"


class Doorkeeper:
    """Tells who sends a request by what it brings.

    Args:
        check: knows the keys.
        home_key: gives the key of this home; None where it has none.
    """

    def __init__(self, check: KeyCheck, home_key: Callable[[], str | None]) -> None:
        self._check = check
        self._home_key = home_key
        self._wrong = WrongKeyRate()
        self._threads = CapacityLimiter(LOOKUPS_AT_ONCE)

    async def identify(self, scope: Scope) -> Access | None:
        """Who sends a request; None where nothing in it says so.

        Raises:
            Unauthorized: its key is no good.
            RateExceeded: too many that are no good came from its address.
            Unavailable: that cannot be looked up.
        """
        sent = _sent_in(Headers(scope=scope))
        if sent is None:
            return await self._in_session(scope)
        if is_proof(sent):
            # A proof may be of another home, and nobody chose to send it: then it says nothing
            path = scope["raw_path"].decode("latin-1")
            return LOCAL if proves(sent, self._home_key(), time.time(), scope["method"], path) else None
        if (access := await self._owner_unless_too_many(scope, sent)) is None:
            raise Unauthorized(NO_GOOD)
        return access

    async def _owner_unless_too_many(self, scope: Scope, key: str) -> Access | None:
        """Only wrong keys that are looked up count: what cannot be a key is refused without."""
        token = parse_token(key)
        if token is None or self._check.known(token) or self._check.was_good(token):
            return await self.owner_of_key(scope, key)
        # The peer's; behind a proxy on this machine what that says, as uvicorn has it
        client = scope.get("client")
        address = client[0] if client else ""
        self._wrong.check(address)
        if (access := await self.owner_of_key(scope, key)) is None:
            self._wrong.fail(address)
        return access

    async def owner_of_key(self, scope: Scope, key: str) -> Access | None:
        """Who sends a key with a request; None where it is no good.

        Raises:
            Unavailable: that cannot be looked up.
        """
        if (token := parse_token(key)) is None:
            return None
        scope["state"][_CLAIMED] = token.key_id
        return await self._owner(token)

    def forget(self, session: SessionToken) -> None:
        self._check.forget(session)

    async def _in_session(self, scope: Scope) -> Access | None:
        """A session that is over says nothing: the browser is asked to sign in, where that is needed."""
        if (token := usable_session(scope)) is None:
            return None
        if access := await self._owner(token):
            note_session(scope, token)
        return access

    async def _owner(self, token: Token) -> Access | None:
        if known := self._check.known(token):
            return known.access
        try:
            return await run_sync(self._check.look_up, token, limiter=self._threads)
        except Unavailable:
            raise Unavailable(NOT_NOW) from None


class AccessControl:
    """Refuses requests of whom nobody knows, where keys are required; says of the others whose they are.

    Args:
        app: what comes next.
        door: tells who sends a request.
        rate: how many requests a key may send.
        tokens: how many tokens of providers a key may spend.
        required: whether a request without a key is refused.
    """

    def __init__(
        self, app: ASGIApp, door: Doorkeeper, rate: RequestRate, tokens: TokenRate, *, required: bool
    ) -> None:
        self.app = app
        self._door = door
        self._rate = rate
        self._tokens = tokens
        self._required = required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})
        try:
            access = await self._access_of(scope)
        except KgError as error:
            await _refusal(error)(scope, receive, send)
            return
        scope["state"][_ACCESS] = access
        with (
            structlog.contextvars.bound_contextvars(key=access.key_id),
            reaching(access.ontologies),
            within_budget(self._tokens.budget_of(access)),
            in_session(scope, access),
        ):
            await self.app(scope, receive, send)

    async def _access_of(self, scope: Scope) -> Access:
        if scope["path"] in DESCRIBING_KG:
            return await self._viewer_of_public(scope)
        if is_public(scope["path"]):
            return ANYONE  # also while no key can be looked up: these tell why
        access = await self._door.identify(scope)
        if access is None and self._required:
            raise Unauthorized(NOT_A_KEY if "authorization" in Headers(scope=scope) else NO_KEY)
        if access is not None:
            self._rate.count(access)
        return access or ANYONE

    async def _viewer_of_public(self, scope: Scope) -> Access:
        """Identify the sender, but answer every request: probes of a service in trouble rely on it."""
        with suppress(KgError):
            if access := await self._door.identify(scope):
                return access
        return STRANGER if self._required else ANYONE


def asking(request: Request) -> Access:
    """Who sends a request that a route handles."""
    return access_of(request.scope)


def access_of(scope: Scope) -> Access:
    """Who sends a request, once the door has let it in."""
    return scope["state"][_ACCESS]


def as_signed_in(scope: Scope) -> AbstractContextManager[None]:
    """Let a page that takes the place of an answer know who is signed in."""
    access: Access | None = scope.get("state", {}).get(_ACCESS)
    return nullcontext() if access is None else in_session(scope, access)


def note_access(scope: Scope, access: Access) -> None:
    """Somebody signs in with a request: the logs tell whose it was."""
    scope["state"][_ACCESS] = access


def key_of(scope: Scope) -> dict[str, Any]:
    """What the log tells of who sent a request: the id of a key; of a refused one as it claimed."""
    state = scope.get("state", {})
    access: Access | None = state.get(_ACCESS)
    if _CLAIMED in state and (access is None or not access.is_key):
        return {"claimed_key": state[_CLAIMED]}
    return {} if access is None else {"key": access.key_id}


async def check_scope(request: Request) -> None:
    """Refuse what a request's key is not good for.

    Raises:
        Forbidden: naming the scope that it needs.
    """
    route = request.scope["route"]
    needed, access = scope_of(request.method, route.path_format), asking(request)
    if not access.allows(needed):
        raise Forbidden(
            f"{request.method} {route.path_format} needs a key of the scope {needed!r}, and {access.key_id} "
            f"is of {access.scope!r}: ask an administrator for another"
        )
    if access.ontologies is not None:
        _check_ontologies(request, access.ontologies)


def _check_ontologies(request: Request, own: Collection[str]) -> None:
    """Before anything is read: so nothing tells whether an ontology that is none of theirs is there.

    Raises:
        Forbidden: one is named in the address that is none of theirs, or the route is about all of them.
    """
    route = request.scope["route"]
    if not can_be_held(request.method, route.path_format):
        told = ", ".join(map(repr, sorted(own)))
        raise Forbidden(
            f"{request.method} {route.path_format} concerns all of kg, and this key is for {told} alone: ask "
            "an administrator for another"
        )
    named = [value for name, value in request.query_params.multi_items() if name in ONTOLOGY_PARAMETERS]
    require(*filter(None, [request.path_params.get("ontology"), *named]))


def _sent_in(headers: Headers) -> str | None:
    """The one key that is sent; None where there is none, as with what a proxy asks for by itself."""
    sent = [each.partition(" ") for each in headers.getlist("authorization")]
    keys = [key.strip() for kind, _, key in sent if kind.lower() == "bearer"]
    ours = [each for each in keys if each.startswith("kg_")]
    return ours[0] if len(ours) == 1 and len(sent) == 1 else None


def _refusal(error: KgError) -> Response:
    response = of_error(error)
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = 'Bearer realm="kg"'
    return response


# What is changed over REST is written down: when, with which key, and what came of it.

MAX_READ = 1_000_000
"""Bytes of an answer that are read for what it says was changed."""
MAX_VALUE = 200
SEE_OTHER = 303
"""What a page answers when a form was carried out."""
_TOLD = "kg_outcome"
"""Where a request's state has what a page says was changed."""
OUTCOMES: Final = frozenset(
    {
        *("ontology", "document", "document_id", "change", "job_id", "documents", "sources", "concepts"),
        *("relations", "rejected", "matched", "dry_run", "applied", "key_id", "name", "scope", "slug"),
        *("folder_id", "proposal_id", "state", "merge_id", "community_id", "type"),
        *("stored", "replaced", "unchanged", "vectors", "relevance", "judgements", "judgement_id"),
    }
)
"""Fields of answers that say what was changed."""


class AuditLog:
    """Has every request written down that changed something.

    Args:
        app: what comes next; it knows who asks.
        writer: writes.
    """

    def __init__(self, app: ASGIApp, writer: AuditWriter) -> None:
        self.app = app
        self._writer = writer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            await self.app(scope, receive, send)
            return
        answer = _Answer()

        async def sending(message: Message) -> None:
            if answer.status or (message["type"] == "http.response.start" and _changes(scope)):
                answer.see(message)  # the route is known when the answer begins; what only reads is passed by
            await send(message)

        await self.app(scope, receive, sending)
        if answer.may_have_changed:
            self._writer.add(_record(scope, answer))


class _Answer:
    """The status of an answer, and its beginning."""

    def __init__(self) -> None:
        self.status = 0
        self._body = bytearray()
        self._is_long = False

    def see(self, message: Message) -> None:
        """A part of it is sent."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body" and not self._is_long:
            part = message.get("body", b"")
            self._is_long = len(self._body) + len(part) > MAX_READ
            self._body += b"" if self._is_long else part

    @property
    def may_have_changed(self) -> bool:
        """Pages lead elsewhere when it is done; what failed in the middle may have been done in part."""
        done = 200 <= self.status < 300 or self.status == SEE_OTHER  # noqa: PLR2004 - as HTTP has it
        return done or self.status >= 500  # noqa: PLR2004

    def outcome(self) -> dict[str, str | int | bool]:
        """What it says was changed."""
        try:
            said: Any = None if self._is_long else json.loads(self._body)
        except ValueError:
            return {}
        return present_outcome(cast("dict[str, Any]", said)) if isinstance(said, dict) else {}


def note_outcome(request: Request, answer: BaseModel) -> None:
    """Say what a request changed, where its answer is a page."""
    request.scope["state"][_TOLD] = present_outcome(answer.model_dump(mode="json"))


def present_outcome(answer: Mapping[str, Any]) -> dict[str, str | int | bool]:
    """Of an answer names, ids and counts; of several documents, how many were stored."""
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


def _changes(scope: Scope) -> bool:
    route = scope.get("route")
    path_format = getattr(route, "path_format", None)
    return path_format is not None and scope_of(scope["method"], path_format) != "read"


def _record(scope: Scope, answer: _Answer) -> AuditRecord:
    return AuditRecord(
        key_id=access_of(scope).key_id,
        method=scope["method"],
        path=without_secrets(scope["path"][:500]),
        status=answer.status,
        request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
        outcome=scope["state"].get(_TOLD) or answer.outcome(),
    )
