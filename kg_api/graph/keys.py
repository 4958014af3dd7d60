"""Stored API keys, sessions, and the audit log."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kg_api.graph.client import Graph, Reader, Row, Transaction
from kg_api.graph.rows import convert_times
from kg_api.schemas.operations import ApiKey, AuditEntry
from kg_api.schemas.vocabulary import KeyState

BEGINNING = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    key_id: str
    method: str
    path: str
    status: int
    request_id: str
    outcome: dict[str, str | int | bool]
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    entry_id: str = field(default_factory=lambda: uuid.uuid4().hex)


def write_audit(graph: Graph, records: Sequence[AuditRecord]) -> None:
    rows = [{name: getattr(each, name) for name in each.__slots__} for each in records]
    graph.write("audit/write", entries=[{**row, "outcome": json.dumps(row["outcome"])} for row in rows])


def read_audit_page(
    graph: Graph, *, key_ids: Sequence[str] | None, since: datetime | None, offset: int, limit: int
) -> tuple[list[AuditEntry], int]:
    parameters = {"key_ids": key_ids, "since": since or BEGINNING}
    rows = graph.read("audit/page", **parameters, offset=offset, limit=limit)
    entries = [
        {**row["entry"], "outcome": json.loads(row["entry"]["outcome"]), "key_name": row["key_name"]}
        for row in rows
    ]
    found = [AuditEntry.model_validate(convert_times(each)) for each in entries]
    return found, graph.read("audit/count", **parameters)[0]["total"]


def prune_audit(graph: Graph, days: int) -> int:
    return graph.write("audit/prune", days=days)[0]["pruned"]


# Stored keys, with hashes of their secrets

NOTE_AGAIN_SECONDS = 60  # precision of the last use of a key, so that not every request writes


def put_key(tx: Transaction, **key: Any) -> None:
    """Store a key.

    To allow all ontologies, use None as `ontologies`. For no expiry, use None as `valid_seconds`.
    """
    tx.run("keys/put", **key)


def read_keys(graph: Reader) -> list[ApiKey]:
    """Read all keys, newest first, including expired and revoked ones."""
    keys = [(convert_times(row["key"]), row["now"].to_native()) for row in graph.read("keys/all")]
    return [ApiKey.model_validate({**key, "state": _get_state(key, now)}) for key, now in keys]


def find_usable(graph: Graph, key_id: str) -> Row | None:
    """Find a key that is neither expired nor revoked, as a row of `keys/find`."""
    rows = graph.read("keys/find", key_id=key_id, note_again_seconds=NOTE_AGAIN_SECONDS)
    return rows[0] if rows else None


def record_use(graph: Graph, key_id: str) -> None:
    graph.write("keys/note_use", key_id=key_id)


def lock_keys(tx: Transaction) -> None:
    """Block other transactions that create keys, until this one ends."""
    tx.run("keys/hold")


def get_key_lifetime(tx: Transaction, key_id: str) -> int | None:
    """Get the validity of a key in seconds from its creation. None: no expiry."""
    rows = tx.run("keys/life", key_id=key_id)
    return rows[0]["seconds"] if rows else None


def limit_keys(graph: Graph, current: Sequence[ApiKey]) -> None:
    """Revoke and expire stored keys that are no longer valid in `current`."""
    values = [
        {"key_id": key.key_id, "revoked_at": key.revoked_at, "expires_at": key.expires_at} for key in current
    ]
    graph.write("keys/limit", keys=values)


def _get_state(key: Row, now: datetime) -> KeyState:
    if key["revoked_at"]:
        return "revoked"
    return "expired" if key["expires_at"] and key["expires_at"] <= now else "active"


# Stored sessions of the web page, with hashes of their tokens


def put_session(graph: Graph, session_hash: str, key_id: str, *, valid_seconds: int, most: int) -> bool:
    """Store a session. Check if its key can be used."""
    parameters = {
        "session_hash": session_hash,
        "key_id": key_id,
        "valid_seconds": valid_seconds,
        "most": most,
    }
    return graph.write("keys/open_session", **parameters)[0]["sessions"] > 0


def find_session(graph: Graph, session_hash: str) -> Row | None:
    """Find the key of a session like `find_usable`, with the session's hash."""
    parameters = {"session_hash": session_hash, "note_again_seconds": NOTE_AGAIN_SECONDS}
    rows = graph.read("keys/find_session", **parameters)
    return rows[0] if rows else None


def prune_sessions(graph: Graph) -> int:
    return graph.write("keys/prune_sessions")[0]["pruned"]
