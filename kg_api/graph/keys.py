"""API keys, sessions and the audit log."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kg_api.graph.client import Graph, Reader, Row, Transaction
from kg_api.schemas.operations import ApiKey, AuditEntry
from kg_api.schemas.vocabulary import KeyScope, KeyState

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


def page_of_audit(
    graph: Graph, *, key_ids: Sequence[str] | None, since: datetime | None, offset: int, limit: int
) -> tuple[list[AuditEntry], int]:
    given = {"key_ids": key_ids, "since": since or BEGINNING}
    rows = graph.read("audit/page", **given, offset=offset, limit=limit)
    return [_entry(row) for row in rows], graph.read("audit/count", **given)[0]["total"]


def prune_audit(graph: Graph, days: int) -> int:
    return graph.write("audit/prune", days=days)[0]["pruned"]


def _entry(row: Row) -> AuditEntry:
    entry = row["entry"]
    outcome = json.loads(entry["outcome"])
    more = {"at": entry["at"].to_native(), "outcome": outcome, "key_name": row["key_name"]}
    return AuditEntry.model_validate({**entry, **more})


# Keys as they are stored: what they may do, and until when; of their secrets the hashes.

NOTE_AGAIN_SECONDS = 60
"""When a key was used is known to the minute: else each request would write."""
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")


@dataclass(frozen=True, slots=True)
class StoredKey:
    key_id: str
    secret_hash: str
    name: str
    scope: KeyScope
    ontologies: list[str] | None
    """Null: all."""
    created_by: str
    """Id of the key that it was asked for with, or `local`."""
    valid_seconds: int | None = None
    """None: for ever."""
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class UsableKey:
    """A key that is neither expired nor revoked; also as a session of it is looked up."""

    key_id: str
    name: str
    scope: KeyScope
    ontologies: list[str] | None
    """None: all."""
    secret_hash: str
    """Of what was looked up: the key, or its session."""
    seconds_left: int | None
    """None: it does not expire."""
    note_use: bool
    """Whether it was used longer ago than is noted."""


def put_key(tx: Transaction, key: StoredKey) -> None:
    given: dict[str, Any] = {name: getattr(key, name) for name in key.__slots__}
    tx.run("keys/put", **given)


def read_keys(graph: Reader) -> list[ApiKey]:
    """Return all keys, the newest first, also those that are worth nothing any more."""
    return [_key(row["key"], row["now"].to_native()) for row in graph.read("keys/all")]


def find_usable(graph: Graph, key_id: str) -> UsableKey | None:
    rows = graph.read("keys/find", key_id=key_id, note_again_seconds=NOTE_AGAIN_SECONDS)
    return UsableKey(**rows[0]) if rows else None


def note_use(graph: Graph, key_id: str) -> None:
    graph.write("keys/note_use", key_id=key_id)


def lock_keys(tx: Transaction) -> None:
    """Let others who make keys wait until this transaction has ended."""
    tx.run("keys/hold")


def life_of(tx: Transaction, key_id: str) -> int | None:
    """Return the seconds for which a key was made; None: for ever."""
    rows = tx.run("keys/life", key_id=key_id)
    return rows[0]["seconds"] if rows else None


def revoke_stored(tx: Transaction, key_id: str) -> None:
    tx.run("keys/revoke", key_id=key_id)


def expire_key(tx: Transaction, key_id: str, valid_seconds: int) -> None:
    """Let a key be good for so long, or for as long as it is anyhow, if that is less."""
    tx.run("keys/expire", key_id=key_id, valid_seconds=valid_seconds)


def limit_keys(graph: Graph, current: Sequence[ApiKey]) -> None:
    """Revoke and expire stored keys at the latest when `current` says so."""
    told = [
        {"key_id": key.key_id, "revoked_at": key.revoked_at, "expires_at": key.expires_at} for key in current
    ]
    graph.write("keys/limit", keys=told)


def end_all_sessions(graph: Graph) -> None:
    graph.write("keys/end_sessions")


def _key(row: Row, now: datetime) -> ApiKey:
    times = {name: row[name].to_native() for name in _TIMES if row[name] is not None}
    return ApiKey.model_validate({**row, **times, "state": _state(times, now)})


def _state(times: dict[str, datetime], now: datetime) -> KeyState:
    if "revoked_at" in times:
        return "revoked"
    return "expired" if "expires_at" in times and times["expires_at"] <= now else "active"


# Sessions of the page as they are stored: of what a browser has, the hash.


def put_session(graph: Graph, session_hash: str, key_id: str, *, valid_seconds: int, most: int) -> bool:
    """Store a session; return whether its key can be used."""
    given = {"session_hash": session_hash, "key_id": key_id, "valid_seconds": valid_seconds, "most": most}
    return graph.write("keys/open_session", **given)[0]["sessions"] > 0


def find_session(graph: Graph, session_hash: str) -> UsableKey | None:
    """Return the key of a session; None where the session is over or none, or the key worth nothing."""
    given = {"session_hash": session_hash, "note_again_seconds": NOTE_AGAIN_SECONDS}
    rows = graph.read("keys/find_session", **given)
    return UsableKey(**rows[0]) if rows else None


def remove_session(graph: Graph, session_hash: str) -> None:
    graph.write("keys/end_session", session_hash=session_hash)


def prune_sessions(graph: Graph) -> int:
    return graph.write("keys/prune_sessions")[0]["pruned"]
