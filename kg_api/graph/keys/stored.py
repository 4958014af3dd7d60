"""Keys as they are stored: what they may do, and until when; of their secrets the hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kg_api.graph.database import Graph, Reader, Row, Transaction
from kg_api.models.keys import ApiKey
from kg_api.models.vocabulary import KeyScope, KeyState

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
    """All keys, the newest first, also those that are worth nothing any more."""
    return [_key(row["key"], row["now"].to_native()) for row in graph.read("keys/all")]


def find_usable(graph: Graph, key_id: str) -> UsableKey | None:
    """A key that requests may be sent with; None where there is none of that id."""
    rows = graph.read("keys/find", key_id=key_id, note_again_seconds=NOTE_AGAIN_SECONDS)
    return UsableKey(**rows[0]) if rows else None


def note_use(graph: Graph, key_id: str) -> None:
    graph.write("keys/note_use", key_id=key_id)


def lock_keys(tx: Transaction) -> None:
    """Let others who make keys wait until this transaction has ended."""
    tx.run("keys/hold")


def life_of(tx: Transaction, key_id: str) -> int | None:
    """For how many seconds a key was made; None: for ever."""
    rows = tx.run("keys/life", key_id=key_id)
    return rows[0]["seconds"] if rows else None


def revoke_stored(tx: Transaction, key_id: str) -> None:
    """Make a key worth nothing."""
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
    """End every session of the pages."""
    graph.write("keys/end_sessions")


def _key(row: Row, now: datetime) -> ApiKey:
    times = {name: row[name].to_native() for name in _TIMES if row[name] is not None}
    return ApiKey.model_validate({**row, **times, "state": _state(times, now)})


def _state(times: dict[str, datetime], now: datetime) -> KeyState:
    if "revoked_at" in times:
        return "revoked"
    return "expired" if "expires_at" in times and times["expires_at"] <= now else "active"
