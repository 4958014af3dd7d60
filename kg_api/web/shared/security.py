"""Who may call the service, what they may do, how often, and what is written down of it."""

from __future__ import annotations

import ipaddress
import json
import math
import re
import threading
import time
from collections import Counter
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
from kg_api.web.shared.limits import BodyLimit
from kg_api.web.shared.problems import of_error
from kg_api.web.shared.scopes import PublicPaths, Rule, is_page
from kg_api.wording import is_loopback

OWN: Final = "private, no-cache"
"""A proxy keeps nothing, and a browser asks before it shows again what it kept."""


def _to_sender_alone(send: Send) -> Send:
    """Keep shared caches from what a key or a session was needed for: a cookie alone does not do that."""

    async def send_own(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", OWN)
        await send(message)

    return send_own


# How many requests a key may send, and how often keys may be tried.

MAX_FAILED_SIGN_INS: Final = 10
"""A minute, of an address."""
MAX_WRONG_KEYS: Final = 100
"""A minute, of an address, that REST and MCP look up in vain; what needs no look-up is not counted."""
DAY_SECONDS: Final = 24 * 3600
_NETWORK_BITS: Final = 64
"""Of IPv6: who has one address has all of these."""


class MinuteLimit:
    """Refuses what is done too often within a minute, as this process of the service sees it.

    Args:
        most: so many times a key or an address may do it; None: any number.
        refusal: what is told of one too many, with `{who}`, `{most}` and `{wait}`, in seconds.
    """

    def __init__(self, most: int | None, refusal: str) -> None:
        self._most = None if most is None else RateLimitItemPerMinute(most)
        self._refusal = refusal
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def hit(self, who: str) -> None:
        """Count one.

        Raises:
            RateExceeded: saying when another may be done.
        """
        self._refuse_unless(self._limiter.hit, _network(who))

    def check(self, who: str) -> None:
        """See that another may be done; counts nothing."""
        self._refuse_unless(self._limiter.test, _network(who))

    def forget(self, who: str) -> None:
        if self._most:
            self._limiter.clear(self._most, _network(who))

    def _refuse_unless(self, may: Callable[[RateLimitItemPerMinute, str], bool], who: str) -> None:
        if self._most is None or may(self._most, who):
            return
        reset_at, _ = self._limiter.get_window_stats(self._most, who)
        wait = max(1, math.ceil(reset_at - time.time()))
        told = self._refusal.format(who=who, most=self._most.amount, wait=wait)
        raise RateExceeded(told, retry_after_seconds=wait)


def request_limit(most: int | None) -> MinuteLimit:
    return MinuteLimit(most, "the key {who} may send {most} requests a minute: try again in {wait} s")


def sign_in_limit() -> MinuteLimit:
    """Of addresses: one is counted before its key is tried, so that of many at once no more are tried."""
    return MinuteLimit(MAX_FAILED_SIGN_INS, "too many keys were tried that are none: try again in {wait} s")


def wrong_key_limit() -> MinuteLimit:
    """Of addresses: beyond it, a key that this process has never found good is not looked up any more.

    So whoever guesses costs the database nothing, and who has a key that was good before waits for nobody.
    """
    return MinuteLimit(MAX_WRONG_KEYS, "too many wrong keys came from this address: try again in {wait} s")


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

    def require(self, key: str) -> None:
        """See that something is left of today.

        Raises:
            RateExceeded: saying when there will be.
        """
        most = self.most or 0
        if self.count(key, 0) < most:
            return
        wait = max(1, math.ceil(DAY_SECONDS - self._clock() % DAY_SECONDS))
        raise RateExceeded(
            f"with the key {key} providers were given the {most:,} tokens of today: try again in "
            f"{wait} s, at midnight UTC, or ask an administrator for more (KG_API__PROVIDER_TOKENS_PER_DAY)",
            retry_after_seconds=wait,
        )


@dataclass(frozen=True, slots=True)
class KeyBudget:
    rate: TokenRate
    key: str

    def require(self) -> None:
        self.rate.require(self.key)

    def spend(self, tokens: int) -> None:
        self.rate.count(self.key, tokens)


def client_address(scope: Scope) -> str:
    """The peer's; behind a proxy on this machine what that says, as uvicorn has it."""
    client = scope.get("client")
    return client[0] if client else ""


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


@dataclass(slots=True)
class Caller:
    """Who sends a request, and what is noted of that on its way."""

    known: Access | None = None
    """None: it is not known yet, or the request was refused."""
    session: SessionToken | None = None
    """Of a browser, if it is good."""
    claimed_key: str = ""
    outcome: dict[str, str | int | bool] | None = None
    """What a page says was changed."""

    @property
    def access(self) -> Access:
        if self.known is None:
            raise RuntimeError("the guard lets nobody through whom it does not know")
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


def caller_of(scope: Scope) -> Caller:
    """Whose request it is, as far as that is known."""
    return scope.setdefault("state", {}).setdefault(_STATE, Caller())


def viewer() -> Caller | None:
    """Who is signed in and looks at the page that is made; None: nobody."""
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
def viewed_by(caller: Caller) -> Generator[None]:
    """Let pages that are made within know who is signed in."""
    token = _VIEWER.set(caller if caller.session and caller.known else None)
    try:
        yield
    finally:
        _VIEWER.reset(token)


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


async def check_csrf(request: Request) -> None:
    """Refuse what is sent with a session's cookie alone: a foreign page may have made the browser send it.

    Raises:
        Forbidden: the token of a page is missing or of another session.
    """
    token = caller_of(request.scope).session
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
        self._wrong = wrong_key_limit()
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
        token = parse_token(sent)
        if token is None or self._check.known(token) or self._check.was_good(token):
            access = await self.owner_of_key(scope, sent)
        else:  # only wrong keys that are looked up count
            address = client_address(scope)
            self._wrong.check(address)
            if (access := await self.owner_of_key(scope, sent)) is None:
                self._wrong.hit(address)
        if access is None:
            raise Unauthorized(NO_GOOD)
        return access

    async def owner_of_key(self, scope: Scope, key: str) -> Access | None:
        """Who sends a key with a request; None where it is no good.

        Raises:
            Unavailable: that cannot be looked up.
        """
        if (token := parse_token(key)) is None:
            return None
        caller_of(scope).claimed_key = token.key_id
        return await self._owner(token)

    def forget(self, session: SessionToken) -> None:
        self._check.forget(session)

    async def _in_session(self, scope: Scope) -> Access | None:
        """A session that is over says nothing: the browser is asked to sign in, where that is needed."""
        if (token := usable_session(scope)) is None:
            return None
        if access := await self._owner(token):
            caller_of(scope).session = token
        return access

    async def _owner(self, token: Token) -> Access | None:
        if known := self._check.known(token):
            return known.access
        try:
            return await run_sync(self._check.look_up, token, limiter=self._threads)
        except Unavailable:
            raise Unavailable(NOT_NOW) from None


class Guard:
    """Lets a request in, or refuses it: by its key, its rate and its size.

    Where keys are required, whoever brings none is refused before it is known whether there is such a route.

    Args:
        app: the next application.
        door: tells who sends a request.
        rate: how many requests a key may send.
        tokens: how many tokens of providers a key may spend.
        bodies: how large they may be.
        public: paths that need no key.
        required: whether a request without a key is refused.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        door: Doorkeeper,
        rate: MinuteLimit,
        tokens: TokenRate,
        bodies: BodyLimit,
        public: PublicPaths,
        required: bool,
    ) -> None:
        self.app = app
        self._door, self._rate, self._tokens = door, rate, tokens
        self._bodies, self._public, self._required = bodies, public, required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self._public or path in self._public.identified:
            send = _to_sender_alone(send)
        caller = caller_of(scope)
        try:
            access = caller.known = await self._access_of(scope)
            self._bodies.check_announced(scope)
        except KgError as error:
            response = of_error(error)
            if isinstance(error, Unauthorized):
                response.headers["WWW-Authenticate"] = 'Bearer realm="kg"'
            await response(scope, receive, send)
            return
        with (
            self._bodies.limited(scope, receive) as limited,
            structlog.contextvars.bound_contextvars(key=access.key_id),
            reaching(access.ontologies),
            within_budget(self._tokens.budget_of(access)),
            viewed_by(caller),
        ):
            await self.app(scope, limited, send)

    async def _access_of(self, scope: Scope) -> Access:
        path = scope["path"]
        if path in self._public.identified:  # probes of a service in trouble rely on an answer
            with suppress(KgError):
                if access := await self._door.identify(scope):
                    return access
            return STRANGER if self._required else ANYONE
        if path in self._public:
            return ANYONE  # also while no key can be looked up: these tell why
        access = await self._door.identify(scope)
        if access is None and self._required:
            raise Unauthorized(NOT_A_KEY if "authorization" in Headers(scope=scope) else NO_KEY)
        if access is not None and access.is_key:
            self._rate.hit(access.key_id)
        return access or ANYONE


def asking(request: Request) -> Access:
    """Who sends a request that a route handles."""
    return caller_of(request.scope).access


def key_of(scope: Scope) -> dict[str, str]:
    """What the log tells of who sent a request: the id of a key; of a refused one as it claimed."""
    caller = caller_of(scope)
    if caller.claimed_key and not (caller.known and caller.known.is_key):
        return {"claimed_key": caller.claimed_key}
    return {"key": caller.known.key_id} if caller.known else {}


def check_access(request: Request, rule: Rule, path_format: str) -> None:
    """Refuse a request whose key is not good for its route, before anything is read.

    So nothing tells whether an ontology that the key cannot see is there.

    Raises:
        Forbidden: naming the scope that it needs, or the ontologies that the key is for.
    """
    if rule.scope is None:
        return
    access = asking(request)
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
            f"{request.method} {path_format} concerns all of kg, and this key is for {told} alone: ask "
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


# What is changed over REST is written down: when, with which key, and what came of it.

MAX_READ = 1_000_000
"""Bytes of an answer that are read for what it says was changed."""
MAX_VALUE = 200
SEE_OTHER = 303
"""What a page answers when a form was carried out."""
OUTCOMES: Final = frozenset(
    {
        *("ontology", "document", "document_id", "change", "job_id", "documents", "sources", "concepts"),
        *("relations", "rejected", "matched", "dry_run", "applied", "key_id", "name", "scope", "slug"),
        *("folder_id", "proposal_id", "state", "merge_id", "community_id", "type"),
        *("stored", "replaced", "unchanged", "vectors", "relevance", "judgements", "judgement_id"),
    }
)


def note_outcome(request: Request, answer: BaseModel) -> None:
    """Say what a request changed, where its answer is a page."""
    caller_of(request.scope).outcome = present_outcome(answer.model_dump(mode="json"))


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


def audit(request: Request, status: int, body: bytes = b"") -> None:
    """Have a request written down that changed something, or may have.

    Args:
        request: that was handled by a route that is audited.
        status: of its answer: pages lead elsewhere when it is done; what failed in the middle may have been
            done in part.
        body: of its answer.
    """
    if not (200 <= status < 300 or status == SEE_OTHER or status >= 500):  # noqa: PLR2004 - as HTTP has it
        return
    caller = caller_of(request.scope)
    if caller.outcome is None and len(body) <= MAX_READ:
        with suppress(ValueError):
            said: Any = json.loads(body)
            caller.outcome = present_outcome(cast("dict[str, Any]", said)) if isinstance(said, dict) else None
    writer: AuditWriter = request.app.state.audit
    writer.add(
        AuditRecord(
            key_id=caller.key_id,
            method=request.method,
            path=without_secrets(request.scope["path"][:500]),
            status=status,
            request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
            outcome=caller.outcome or {},
        )
    )
