"""Sessions of the page as they are stored: of what a browser has, the hash."""

from __future__ import annotations

from kg_api.graph.database import Graph
from kg_api.graph.keys.stored import NOTE_AGAIN_SECONDS, UsableKey


def put_session(graph: Graph, session_hash: str, key_id: str, *, valid_seconds: int, most: int) -> bool:
    """Store one; whether its key can be used.

    Args:
        graph: where it is stored.
        session_hash: of what the browser has.
        key_id: of the key that somebody signs in with.
        valid_seconds: how long it lasts.
        most: so many of the newest stay of a key.
    """
    given = {"session_hash": session_hash, "key_id": key_id, "valid_seconds": valid_seconds, "most": most}
    return graph.write("keys/open_session", **given)[0]["sessions"] > 0


def find_session(graph: Graph, session_hash: str) -> UsableKey | None:
    """The key of a session; None where the session is over or none, or the key worth nothing."""
    given = {"session_hash": session_hash, "note_again_seconds": NOTE_AGAIN_SECONDS}
    rows = graph.read("keys/find_session", **given)
    return UsableKey(**rows[0]) if rows else None


def remove_session(graph: Graph, session_hash: str) -> None:
    """End one; to do it twice is no error."""
    graph.write("keys/end_session", session_hash=session_hash)


def prune_sessions(graph: Graph) -> int:
    """Forget those that are over, at most 10,000 a call; how many."""
    return graph.write("keys/prune_sessions")[0]["pruned"]
