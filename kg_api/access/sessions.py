"""Sessions: a browser has a token of its own instead of the key that somebody signed in with."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from kg_api.access.token import SessionToken, make_session_token
from kg_api.graph.database import Graph
from kg_api.graph.keys.sessions import put_session, remove_session

SESSION_SECONDS: Final = int(timedelta(hours=12).total_seconds())
"""A session lasts a working day, used or not; never longer than its key."""
MAX_SESSIONS: Final = 100
"""Of a key; the oldest one ends where another is opened."""


def open_session(graph: Graph, key_id: str) -> SessionToken | None:
    """Sign in with a key; None where it was revoked or has expired meanwhile."""
    token = make_session_token()
    life = {"valid_seconds": SESSION_SECONDS, "most": MAX_SESSIONS}
    return token if put_session(graph, token.secret_hash, key_id, **life) else None


def end_session(graph: Graph, token: SessionToken) -> None:
    """Sign out; to do it twice is no error."""
    remove_session(graph, token.secret_hash)
