"""The door: who sends no key, or one that is no good, gets no further than this."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.access.check import ANYONE, LOCAL, STRANGER, Access, KeyCheck, Token
from kg_api.access.local import is_proof, proves
from kg_api.access.token import SessionToken, parse_token
from kg_api.errors import Forbidden, KgError, Unauthorized, Unavailable
from kg_api.graph.naming.reach import reaching, require
from kg_api.metrics.spending import within_budget
from kg_api.web.access.pace import RequestRate, TokenRate, WrongKeyRate
from kg_api.web.access.scopes import DESCRIBING_KG, can_be_held, is_public, scope_of
from kg_api.web.access.session import in_session, note_session, usable_session
from kg_api.web.problems import of_error

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
            return self._own_user(sent, scope)
        if (access := await self._owner_unless_too_many(scope, sent)) is None:
            raise Unauthorized(NO_GOOD)
        return access

    async def _owner_unless_too_many(self, scope: Scope, key: str) -> Access | None:
        """Only wrong keys that are looked up count: what cannot be a key is refused without."""
        token = parse_token(key)
        if token is None or self._check.known(token) or self._check.was_good(token):
            return await self.owner_of_key(scope, key)
        address = _address(scope)
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

    def _own_user(self, proof: str, scope: Scope) -> Access | None:
        """A proof may be of another home, and nobody chose to send it: then it says nothing."""
        path = scope["raw_path"].decode("latin-1")
        return LOCAL if proves(proof, self._home_key(), time.time(), scope["method"], path) else None

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


def _address(scope: Scope) -> str:
    """The peer's; behind a proxy on this machine what that says, as uvicorn has it."""
    client = scope.get("client")
    return client[0] if client else ""


def _refusal(error: KgError) -> Response:
    response = of_error(error)
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = 'Bearer realm="kg"'
    return response
