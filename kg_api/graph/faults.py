"""Faults of the server itself: they pass, by themselves or by a restart, and no statement is to blame."""

from __future__ import annotations

from neo4j.exceptions import Neo4jError

from kg_api.errors import DatabasePanicked, DatabaseUnavailable, StorageFull

_NO_ROOM = "no space left on device"
_PANIC = ("needs to be restarted", "database has panicked")
"""What a server says that keeps answering Bolt, but no query (GQL status 50N00, seen on 2026.08.1)."""
_OF_THE_SERVER = ("Neo.DatabaseError.Transaction.", "Neo.DatabaseError.Database.")
"""Seen with a full disk: TransactionLogError at the commit that meets it, then TransactionStartFailed."""
_LOCKED_OUT = "Neo.ClientError.Security.AuthenticationRateLimit"
"""After wrong passwords, whoever sent them; it passes within seconds."""


def fault_of(error: Neo4jError, uri: str) -> DatabaseUnavailable | None:
    """Give our error for a fault of the server; None when it is about the statement or its parameters."""
    told = _message_text(error)
    if any(words in told for words in _PANIC):
        return DatabasePanicked(
            f"Neo4j at {uri} has met a critical error and must be started again; "
            "the supervisor of `kg up` does that by itself"
        )
    if _NO_ROOM in told:
        return StorageFull(f"the disk of Neo4j at {uri} is full: free some space, and try again")
    if error.code == _LOCKED_OUT:
        return DatabaseUnavailable(
            f"Neo4j at {uri} refuses all logins for a few seconds after too many wrong passwords"
        )
    if (error.code or "").startswith(_OF_THE_SERVER):
        return DatabaseUnavailable(f"Neo4j at {uri} cannot do its work ({error.code}); `kg doctor` says why")
    return None


def _message_text(error: Neo4jError) -> str:
    """All that the server says, with the causes that it names, in lower case."""
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        parts.append(str(cause))
        cause = cause.__cause__
    return " ".join(parts).lower()
