"""Whom a request is of, and what they may do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, get_args

import structlog
from cachetools import LRUCache, TLRUCache

from kg_api.access.token import KeyToken, SessionToken
from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.keys.sessions import find_session
from kg_api.graph.keys.stored import UsableKey, find_usable, note_use
from kg_api.models.vocabulary import KeyScope

log = structlog.get_logger()

KNOWN_SECONDS = 5.0
"""So long a key is good after it was revoked, and a session after it was ended by another process, at most:
until then what was found of it is remembered."""
MAX_KNOWN = 10_000
_SCOPES = get_args(KeyScope)


@dataclass(frozen=True, slots=True)
class Access:
    """Who asks."""

    key_id: str
    """Of a key; else `local` or `anyone`."""
    scope: KeyScope
    ontologies: frozenset[str] | None = None
    """Those that there are to them; None: all."""
    name: str = ""
    """Of a key."""

    @property
    def is_key(self) -> bool:
        """Whether somebody was given a key for it."""
        return self not in {LOCAL, ANYONE, STRANGER}

    def allows(self, scope: KeyScope) -> bool:
        """Whether what needs a scope may be done."""
        return _SCOPES.index(scope) <= _SCOPES.index(self.scope)


LOCAL: Final = Access("local", "admin")
"""A command of this home."""
ANYONE: Final = Access("anyone", "admin")
"""Whoever reaches a service that requires no keys."""
STRANGER: Final = Access("anyone", "read", frozenset())
"""A request without a valid key for a public path, at a service that requires keys."""


Token = KeyToken | SessionToken


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What is known of a key that was sent, or of a session of one."""

    access: Access | None
    """None: it is wrong, expired or revoked."""
    until: float
    """By the clock; then it is looked up again."""


class KeyCheck:
    """Knows the keys and sessions that were sent lately. Thread-safe.

    Keys that are no good are remembered apart, so that whoever tries many pushes no good one out.

    Args:
        graph: gives the database, once it is open.
        clock: seconds that only grow.
    """

    def __init__(self, graph: Callable[[], Graph], clock: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._clock = clock
        self._good, self._bad = (_remembering(clock) for _ in range(2))
        self._once_good: LRUCache[str, bool] = LRUCache(MAX_KNOWN)
        self._lock = threading.Lock()

    def known(self, token: Token) -> KnownKey | None:
        """What was found of one within the last seconds; None: it must be looked up."""
        with self._lock:
            return self._good.get(token.secret_hash) or self._bad.get(token.secret_hash)

    def was_good(self, token: Token) -> bool:
        """Whether one was found good here before; it may be revoked by now."""
        with self._lock:
            return token.secret_hash in self._once_good

    def look_up(self, token: Token) -> Access | None:
        """Who sends a key or a session of it; None where one of them is wrong, over or revoked.

        Raises:
            Unavailable: the database does not answer.
        """
        begun, graph = self._clock(), self._graph()
        key = _find(graph, token)
        if key is None or not token.has_hash(key.secret_hash):
            self._remember(token, KnownKey(None, begun + KNOWN_SECONDS))
            return None
        seen = None if key.ontologies is None else frozenset(key.ontologies)
        access = Access(key.key_id, key.scope, seen, key.name)
        self._remember(token, KnownKey(access, begun + _seconds_known(key)))
        if key.note_use:
            _note_use(graph, key.key_id)
        return access

    def forget(self, token: Token) -> None:
        """Look one up again when it is sent next, as it was ended here."""
        with self._lock:
            self._drop(token)

    def _drop(self, token: Token) -> None:
        self._good.pop(token.secret_hash, None)
        self._bad.pop(token.secret_hash, None)

    def _remember(self, token: Token, finding: KnownKey) -> None:
        with self._lock:
            self._drop(token)
            kept = self._good if finding.access else self._bad
            kept[token.secret_hash] = finding
            if finding.access:
                self._once_good[token.secret_hash] = True
            else:
                self._once_good.pop(token.secret_hash, None)


def _remembering(clock: Callable[[], float]) -> TLRUCache[str, KnownKey]:
    return TLRUCache(MAX_KNOWN, ttu=lambda _, finding, __: finding.until, timer=clock)


def _find(graph: Graph, token: Token) -> UsableKey | None:
    if isinstance(token, KeyToken):
        return find_usable(graph, token.key_id)
    return find_session(graph, token.secret_hash)


def _seconds_known(key: UsableKey) -> float:
    return KNOWN_SECONDS if key.seconds_left is None else min(KNOWN_SECONDS, key.seconds_left)


def _note_use(graph: Graph, key_id: str) -> None:
    """A full disk is no reason to answer nobody."""
    try:
        note_use(graph, key_id)
    except Unavailable as error:
        log.warning("the use of a key is not noted", key=key_id, reason=str(error))
