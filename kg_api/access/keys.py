"""API keys and sessions."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeVar, get_args

import structlog
from cachetools import LRUCache, TLRUCache
from pydantic import BaseModel

from kg_api.errors import Conflict, NotFound, Unavailable
from kg_api.graph.client import Graph, Reader, Transaction
from kg_api.graph.keys import (
    find_session,
    find_usable,
    get_key_lifetime,
    lock_keys,
    put_key,
    put_session,
    read_keys,
    record_use,
)
from kg_api.graph.names import list_searched_ontologies
from kg_api.schemas.operations import WHOLE_KEY, ApiKey, CreatedKey, KeyRotation, NewKey, extract_key_id
from kg_api.schemas.vocabulary import KeyScope

# Requests without an ontology, which cover all visible ontologies

Request = TypeVar("Request", bound=BaseModel)


def limit_to_visible(graph: Reader, request: Request) -> Request:
    """Return the request, limited to visible ontologies."""
    field = "ontology" if "ontology" in type(request).model_fields else "ontologies"
    ontologies = getattr(request, field)
    named = [ontologies] if isinstance(ontologies, str) else ontologies
    found = list_searched_ontologies(graph, named)
    return request if named is not None or found is None else request.model_copy(update={field: found})


# Formats of keys and sessions
#
# A key is `kg_`, its id, `_`, and 256 random bits. Nobody can guess that many bits, so one round of SHA-256
# is sufficient for storage. Slow hashes (argon2, bcrypt) protect passwords that people choose.

ID_BYTES = 4
SECRET_BYTES = 32
_SESSION: Final = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, repr=False)
class _Secret:
    """A secret, which its representation hides."""

    text: str

    def __repr__(self) -> str:
        return type(self).__name__

    @property
    def secret_hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def has_hash(self, stored: str) -> bool:
        """Check if a stored hash matches, in constant time."""
        return hmac.compare_digest(self.secret_hash, stored)


@dataclass(frozen=True, slots=True, repr=False)
class KeyToken(_Secret):
    key_id: str

    def __repr__(self) -> str:
        return f"KeyToken({self.key_id})"


@dataclass(frozen=True, slots=True, repr=False)
class SessionToken(_Secret):
    """A session of the web page, as the browser holds it."""

    @property
    def csrf_token(self) -> str:
        """Token of page requests. A foreign page can send the cookie but not this token."""
        return hmac.digest(self.text.encode(), b"csrf", "sha256").hex()

    def has_csrf_token(self, sent: str) -> bool:
        """Check if a sent token matches, in constant time."""
        return hmac.compare_digest(self.csrf_token.encode(), sent.encode("utf-8", "replace"))


def make_token() -> KeyToken:
    key_id = secrets.token_hex(ID_BYTES)
    return KeyToken(f"kg_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}", key_id)


def parse_token(text: str) -> KeyToken | None:
    found = WHOLE_KEY.fullmatch(text)
    return KeyToken(text, found["key_id"]) if found else None


def make_session_token() -> SessionToken:
    return SessionToken(secrets.token_urlsafe(SECRET_BYTES))


def parse_session_token(text: str) -> SessionToken | None:
    return SessionToken(text) if _SESSION.fullmatch(text) else None


# Authentication of requests

log = structlog.get_logger()

KNOWN_SECONDS = 5.0
"""Time for which a process caches a key or session. A key stays valid at most that long after its revocation,
as does a session that another process ended."""
MAX_KNOWN = 10_000
_SCOPES = get_args(KeyScope)


@dataclass(frozen=True, slots=True)
class Access:
    key_id: str  # id of a key, `local`, or `anyone`
    scope: KeyScope
    ontologies: frozenset[str] | None = None  # visible ontologies (None: all)
    name: str = ""

    @property
    def is_key(self) -> bool:
        return self not in {LOCAL, ANYONE, STRANGER}

    def allows(self, scope: KeyScope) -> bool:
        return _SCOPES.index(scope) <= _SCOPES.index(self.scope)


LOCAL: Final = Access("local", "admin")  # command of this home
ANYONE: Final = Access("anyone", "admin")  # caller of a service without authentication
STRANGER: Final = Access("anyone", "read", frozenset())
"""Request without a valid key for a public path, if authentication is enabled."""


Token = KeyToken | SessionToken


class KnownKey(NamedTuple):
    access: Access | None  # None: wrong, expired, or revoked
    until: float


class KeyCheck:
    """A check of keys and sessions with a cache. Thread-safe."""

    # Invalid keys have a separate cache, so that many of them do not evict valid keys.

    def __init__(self, graph: Callable[[], Graph], clock: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._clock = clock
        self._good, self._bad = (
            TLRUCache[str, KnownKey](MAX_KNOWN, ttu=lambda _, known, __: known.until, timer=clock)
            for _ in range(2)
        )
        self._once_good: LRUCache[str, bool] = LRUCache(MAX_KNOWN)
        self._lock = threading.Lock()

    def get_cached(self, token: Token) -> KnownKey | None:
        """Return the cached result of the last seconds. None: look up the key."""
        with self._lock:
            return self._good.get(token.secret_hash) or self._bad.get(token.secret_hash)

    def was_accepted(self, token: Token) -> bool:
        """Check if this process has accepted the key before. It may be revoked by now."""
        with self._lock:
            return token.secret_hash in self._once_good

    def look_up(self, token: Token) -> Access | None:
        """Return the access of a key or session. None: wrong, expired, or revoked."""
        begun, graph = self._clock(), self._graph()
        is_key = isinstance(token, KeyToken)
        key = find_usable(graph, token.key_id) if is_key else find_session(graph, token.secret_hash)
        if key is None or not token.has_hash(key["secret_hash"]):
            self._remember(token, None, begun + KNOWN_SECONDS)
            return None
        key_id, seen, left = key["key_id"], key["ontologies"], key["seconds_left"]
        access = Access(key_id, key["scope"], None if seen is None else frozenset(seen), key["name"])
        self._remember(token, access, begun + (KNOWN_SECONDS if left is None else min(KNOWN_SECONDS, left)))
        if key["note_use"]:
            try:  # a full disk must not block requests
                record_use(graph, key_id)
            except Unavailable as error:
                log.warning("the use of a key is not noted", key=key_id, reason=str(error))
        return access

    def forget(self, token: Token) -> None:
        """Remove a key or session from the cache, because it ended here."""
        with self._lock:
            self._good.pop(token.secret_hash, None)
            self._bad.pop(token.secret_hash, None)

    def _remember(self, token: Token, access: Access | None, until: float) -> None:
        self.forget(token)
        with self._lock:
            if access:
                self._good[token.secret_hash] = KnownKey(access, until)
                self._once_good[token.secret_hash] = True
            else:
                self._bad[token.secret_hash] = KnownKey(None, until)
                self._once_good.pop(token.secret_hash, None)


# Creating, rotating, and revoking keys

_DAY = int(timedelta(days=1).total_seconds())
_HOUR = int(timedelta(hours=1).total_seconds())

LAST = (
    "this is the last key with the `admin` scope and without limits. Without such a key, only a "
    "command on the machine of the service can create another. First run `kg admin keys create NAME "
    "--scope admin`, or revoke the key with --force"
)


def create_key(graph: Graph, request: NewKey, created_by: str) -> CreatedKey:
    """Create a key. Only the response contains its secret."""

    def choose(_: Transaction, keys: Sequence[ApiKey]) -> dict[str, Any]:
        if _list_usable(keys, request.name):
            raise Conflict(
                f"a key that can be used is called {request.name!r} already: take another name, or "
                "`kg admin keys rotate` or `revoke` that one first"
            )
        wanted = None if request.ontologies is None else sorted(set(request.ontologies))
        about = {"name": request.name, "scope": request.scope, "ontologies": wanted}
        return {**about, "valid_seconds": _get_lifetime(request), "replaces": None}

    return _make(graph, created_by, choose)


def rotate_key(graph: Graph, key: str, rotation: KeyRotation, created_by: str) -> CreatedKey:
    """Create a replacement for a key. The old key stays valid for a while, to avoid lockouts."""

    def choose(tx: Transaction, keys: Sequence[ApiKey]) -> dict[str, Any]:
        old = find_key(keys, key)
        if old.state != "active":
            raise Conflict(f"the key {old.key_id} is {old.state}: make a new one with `kg admin keys create`")
        heirs = [each.key_id for each in keys if each.replaces == old.key_id and each.state == "active"]
        if heirs:
            raise Conflict(f"the key {old.key_id} was replaced by {heirs[0]} already: rotate that one")
        life = get_key_lifetime(tx, old.key_id) if rotation.valid_days is None else _get_lifetime(rotation)
        tx.run("keys/expire", key_id=old.key_id, valid_seconds=round(rotation.overlap_hours * _HOUR))
        about = {"name": old.name, "scope": old.scope, "ontologies": old.ontologies}
        return {**about, "valid_seconds": life, "replaces": old.key_id}

    return _make(graph, created_by, choose)


def _make(
    graph: Graph, created_by: str, choose: Callable[[Transaction, Sequence[ApiKey]], dict[str, Any]]
) -> CreatedKey:
    """Create a key from the result of `choose`, which gets all other keys and may raise an error."""
    token = make_token()

    def work(tx: Transaction) -> ApiKey:
        lock_keys(tx)
        keys = read_keys(tx)
        if not _find_by_id(keys, token.key_id):  # otherwise the response to the commit was lost
            secret = {"key_id": token.key_id, "secret_hash": token.secret_hash, "created_by": created_by}
            put_key(tx, **secret, **choose(tx, keys))
        return next(each for each in read_keys(tx) if each.key_id == token.key_id)

    return CreatedKey(**graph.transaction(work).model_dump(), key=token.text)


def revoke_key(graph: Graph, name: str, *, but_the_last: bool = False) -> ApiKey:
    """Revoke a key immediately. Idempotent."""

    def work(tx: Transaction) -> ApiKey:
        lock_keys(tx)
        keys = read_keys(tx)
        key = find_key(keys, name)
        usable = [each for each in keys if each.state == "active" and each.ontologies is None]
        if but_the_last and [each.key_id for each in usable if each.scope == "admin"] == [key.key_id]:
            raise Conflict(LAST)
        tx.run("keys/revoke", key_id=key.key_id)
        return _find_by_id(read_keys(tx), key.key_id) or key

    return graph.transaction(work)


def find_key(keys: Sequence[ApiKey], key: str) -> ApiKey:
    """Find the key with an id or name. If several keys have the name, return the usable one."""
    key = extract_key_id(key)
    if by_id := _find_by_id(keys, key):
        return by_id
    found = [each for each in keys if each.name == key]
    found = _list_usable(found, key) or found
    if not found:
        raise report_unknown_key(key)
    if len(found) > 1:
        descriptions = ", ".join(map(_describe, found))
        raise Conflict(f"{len(found)} keys have the name {key!r}. Use an id: {descriptions}")
    return found[0]


def find_key_ids(keys: Sequence[ApiKey], key: str) -> list[str]:
    key = extract_key_id(key)
    found = [each.key_id for each in keys if key in {each.key_id, each.name}]
    if not found:
        raise report_unknown_key(key)
    return found


def report_unknown_key(key: str) -> NotFound:
    return NotFound(f"key {key!r} not found. `kg admin keys list` shows the existing ones")


def _describe(key: ApiKey) -> str:
    what = "revoked" if key.revoked_at else f"until {key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else ""
    replaces = f"replaces {key.replaces}" if key.replaces else ""
    more = ", ".join(filter(None, (replaces, what)))
    return f"{key.key_id} ({more})" if more else key.key_id


def _list_usable(keys: Sequence[ApiKey], name: str) -> list[ApiKey]:
    return [each for each in keys if each.name == name and each.state == "active"]


def _get_lifetime(request: NewKey | KeyRotation) -> int | None:
    """Return the validity in seconds. None: no expiry."""
    return None if request.valid_days is None else request.valid_days * _DAY


def _find_by_id(keys: Sequence[ApiKey], key_id: str) -> ApiKey | None:
    return next((each for each in keys if each.key_id == key_id), None)


# Sessions: a browser gets its own token instead of the key of the sign-in

SESSION_SECONDS: Final = int(timedelta(hours=12).total_seconds())
"""Validity of a session: a working day, used or not, and never longer than its key."""
MAX_SESSIONS: Final = 100  # sessions per key, before a further one ends the oldest


def open_session(graph: Graph, key_id: str) -> SessionToken | None:
    """Sign in with a key. None: the key was revoked or has expired."""
    token = make_session_token()
    life = {"valid_seconds": SESSION_SECONDS, "most": MAX_SESSIONS}
    return token if put_session(graph, token.secret_hash, key_id, **life) else None


def end_session(graph: Graph, token: SessionToken) -> None:
    """Sign out. Idempotent."""
    graph.write("keys/end_session", session_hash=token.secret_hash)
