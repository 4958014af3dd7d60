"""API keys of a restored database: what was revoked after the backup stays revoked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.backup.database import running_database
from kg_api.errors import KgError
from kg_api.graph.database import Graph
from kg_api.graph.keys.stored import end_all_sessions, limit_keys, read_keys
from kg_api.managed.home import Home
from kg_api.managed.roles import OnWait
from kg_api.models.keys import ApiKey
from kg_api.settings import Settings


@dataclass(frozen=True, slots=True)
class RestoredKeys:
    """What became of the keys of a backup."""

    limited: Sequence[ApiKey]
    """Active in the backup, and not in the database that is replaced: they stay as they were there."""
    unverified: Sequence[ApiKey]
    """Active again, and unknown to the replaced database; all active ones if none could be read."""

    def describe(self) -> list[str]:
        """Say what a person should know, or has to do."""
        notes: list[str] = []
        if self.limited:
            notes.append(
                f"revoked or expired since the backup, and still so: {', '.join(map(_call, self.limited))}"
            )
        if self.unverified:
            notes.append(
                f"these API keys of the backup are valid now: {', '.join(map(_call, self.unverified))}. If "
                "one was revoked after the backup, revoke it again: `kg admin keys revoke`"
            )
        return notes


def read_current_keys(home: Home, settings: Settings, on_wait: OnWait) -> list[ApiKey] | None:
    """Return the keys of the database that a restore replaces; None if it has none or does not start."""
    if not home.has_data():
        return None
    try:
        with running_database(home, settings, on_wait, lambda: False) as database:
            return read_keys(database.graph)
    except KgError:  # a database that is broken is a usual reason for a restore
        return None


def limit_restored_keys(restored: Graph, current: Sequence[ApiKey] | None) -> RestoredKeys:
    """Let no key of a restored database be worth more than in the replaced one; sessions of pages end.

    Args:
        restored: the database.
        current: keys of the replaced database; None if they are unknown.
    """
    before = {key.key_id for key in read_keys(restored) if key.state == "active"}
    limit_keys(restored, current or ())
    end_all_sessions(restored)
    after = read_keys(restored)
    known = {key.key_id for key in current or ()}
    return RestoredKeys(
        limited=[key for key in after if key.key_id in before and key.state != "active"],
        unverified=[key for key in after if key.state == "active" and key.key_id not in known],
    )


def _call(key: ApiKey) -> str:
    return f"{key.name} ({key.key_id}, {key.scope})"
