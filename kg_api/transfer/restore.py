"""Restoring a backup into a home.

kg first restores and tests everything in a separate folder, without changing the home. Then it writes a note
and swaps the folders by renames. If it is killed after the note, the next command finishes the swap.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from kg_api.errors import Conflict, KgError, ManagedProcessError, SchemaTooNew
from kg_api.graph.client import Graph
from kg_api.graph.keys import end_all_sessions, limit_keys, read_keys
from kg_api.graph.schema import check_records
from kg_api.local import neo4j, processes
from kg_api.local.neo4j import build_neo4j_role
from kg_api.local.processes import Home, OnWait
from kg_api.schemas.operations import ApiKey
from kg_api.settings import Settings
from kg_api.transfer import backup as manifests
from kg_api.transfer.backup import (
    BLOBS,
    DATABASE,
    MIB,
    NAME_OF_DATABASE,
    BackupCounts,
    BackupManifest,
    BackupProgress,
    copy_file,
    require_room,
    running_database,
)

_RESTORED: Final = ("neo4j", "blobs", "neo4j-password")  # paths of a restore, relative to a home


class SwapNote(BaseModel):
    backup: str
    out: list[str]
    into: list[str]


def swap(home: Home, backup: Path) -> None:
    """Replace the data of a home by the restored data, and delete the old data."""
    refuse_mounts(home)
    shutil.rmtree(home.replaced, ignore_errors=True)
    note = SwapNote(
        backup=str(backup),
        out=[name for name in _RESTORED if (home.path / name).exists()],
        into=[name for name in _RESTORED if (home.restoring / name).exists()],
    )
    processes.write_json(home.restore_file, note.model_dump())
    finish_swap(home)


def finish_swap(home: Home) -> str | None:
    """Finish a swap that has begun. Return its backup, or None if no swap has begun."""
    if not home.restore_file.exists():
        return None
    note = SwapNote.model_validate(processes.read_json(home.restore_file))
    processes.make_folder(home.replaced)
    for name in note.out:
        # Move the old path aside once. If the new one is already in place, the path contains new data
        there, old, new = home.path / name, home.replaced / name, home.restoring / name
        if there.exists() and not old.exists() and (name not in note.into or new.exists()):
            there.rename(old)
    for name in note.into:
        there, new = home.path / name, home.restoring / name
        if new.exists():
            if there.is_dir():  # an empty folder, because every command creates the folders of a home
                shutil.rmtree(there)
            new.rename(there)
    for folder in (home.restoring, home.replaced):
        shutil.rmtree(folder, ignore_errors=True)
    home.restore_file.unlink()
    return note.backup


def refuse_mounts(home: Home) -> None:
    """Raise Conflict for a mount point, because renames cannot replace it."""
    for name in _RESTORED:
        if (home.path / name).is_mount():
            raise Conflict(
                f"{home.path / name} is a separate disk and cannot be replaced. Restore into an empty home"
            )


def holds_data(home: Home) -> bool:
    return home.has_data() or (home.blobs.is_dir() and any(home.blobs.iterdir()))


# API keys of a restored database: keys revoked after the backup stay revoked


@dataclass(frozen=True, slots=True)
class RestoredKeys:
    limited: Sequence[ApiKey]  # active in the backup but not in the replaced database, so still inactive
    unverified: Sequence[ApiKey]
    """Active again, and unknown to the replaced database. All active keys if that database was not readable.
    """

    def describe(self) -> list[str]:
        """Return notes about keys for the user."""
        limited, unverified = (
            ", ".join(f"{key.name} ({key.key_id}, {key.scope})" for key in keys)
            for keys in (self.limited, self.unverified)
        )
        notes: list[str] = []
        if limited:
            notes.append(f"revoked or expired since the backup, and still so: {limited}")
        if unverified:
            notes.append(
                f"these API keys of the backup are valid now: {unverified}. If one was revoked after the "
                "backup, revoke it again: `kg admin keys revoke`"
            )
        return notes


def read_current_keys(home: Home, settings: Settings, on_wait: OnWait) -> list[ApiKey] | None:
    """Return the keys of the replaced database. None: it does not exist or does not start."""
    if not home.has_data():
        return None
    try:
        with running_database(home, settings, on_wait, lambda: False) as database:
            return read_keys(database.graph)
    except KgError:  # a broken database is a common reason for a restore
        return None


def limit_restored_keys(restored: Graph, current: Sequence[ApiKey] | None) -> RestoredKeys:
    """Limit restored keys to their validity in the replaced database, and end all sessions."""
    before = {key.key_id for key in read_keys(restored) if key.state == "active"}
    limit_keys(restored, current or ())
    end_all_sessions(restored)
    after = read_keys(restored)
    known = {key.key_id for key in current or ()}
    return RestoredKeys(
        limited=[key for key in after if key.key_id in before and key.state != "active"],
        unverified=[key for key in after if key.state == "active" and key.key_id not in known],
    )


# Restoring a backup: check, copy to a separate folder, start there, and swap

_PLACES: Final = {
    f"{DATABASE}/databases": f"neo4j/data/databases/{NAME_OF_DATABASE}",
    f"{DATABASE}/transactions": f"neo4j/data/transactions/{NAME_OF_DATABASE}",
    BLOBS: "blobs",
}
"""Paths of the backup's folders in a home."""


def read_backup(backup: Path) -> BackupManifest:
    """Return the manifest of a backup that this kg can restore."""
    manifest = manifests.read(backup)
    check_versions(manifest)
    return manifest


def check_versions(manifest: BackupManifest) -> None:
    """Raise an error if this kg cannot read the backup. kg migrates an older backup at its start."""
    check_records(filter(None, [manifest.schema_version]), "this backup", manifest.kg_version)

    def numbers(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split(".") if part.isdigit())

    if numbers(manifest.neo4j_version) > numbers(neo4j.VERSION):
        raise SchemaTooNew(
            f"this backup was made with Neo4j {manifest.neo4j_version}, but this kg uses "
            f"{neo4j.VERSION}. Install kg {manifest.kg_version} or a later one. Nothing was changed."
        )


class Restorer:
    def __init__(self, home: Home, settings: Settings, progress: BackupProgress) -> None:
        self._home = home
        self._aside = Home(home.restoring)
        self._settings = settings
        self._progress = progress

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """Provide a new separate folder, and remove it afterwards unless a swap has begun."""
        self._clear()
        self._aside.create()
        try:
            yield
        finally:
            if not self._home.restore_file.exists():
                self._clear()

    def copy(self, backup: Path, manifest: BackupManifest) -> None:
        """Copy all files of a backup and compare their checksums."""
        require_room(self._home.path, manifest.bytes, self._settings.neo4j.disk_reserve_mb * MIB)
        self._progress.on_step("restoring", manifest.bytes)
        for each in manifest.files:
            hashed = hashlib.sha256()
            try:
                copy_file(backup / each.path, self._place(each.path), self._progress.on_bytes, hashed)
            except FileNotFoundError:
                raise Conflict(
                    f"{backup} is not whole: {each.path} is missing. Nothing was changed."
                ) from None
            if hashed.hexdigest() != each.sha256:
                raise Conflict(
                    f"{backup / each.path} is damaged: its checksum differs from the manifest. "
                    "Nothing was changed."
                )

    def verify_restored_data(
        self, manifest: BackupManifest, current_keys: Sequence[ApiKey] | None, on_wait: OnWait
    ) -> tuple[BackupCounts, RestoredKeys]:
        """Start Neo4j with the restored data, count its contents, limit its API keys, and stop it."""
        own = self._settings.neo4j.model_copy(update={"port": None})
        settings = self._settings.model_copy(update={"home": self._aside.path, "neo4j": own})
        self._aside.remember(neo4j=processes.find_free_port())
        try:
            with running_database(self._aside, settings, on_wait, lambda: False) as database:
                schema, counts = database.schema_version(), database.count()
                if schema != manifest.schema_version or (manifest.counts_exact and counts != manifest.counts):
                    raise Conflict(
                        f"the restored database has {counts!r} and the schema {schema!r}, unlike the "
                        "manifest. Nothing was changed."
                    )
                return counts, limit_restored_keys(database.graph, current_keys)
        except ManagedProcessError as error:
            raise ManagedProcessError(
                f"Neo4j does not start with the restored files, so nothing was changed: {error}"
            ) from error

    def _place(self, path: str) -> Path:
        for begin, place in _PLACES.items():
            if path.startswith(f"{begin}/"):
                return self._aside.path / place / path.removeprefix(f"{begin}/")
        raise Conflict(f"this backup has {path!r}, which this kg does not know. Nothing was changed.")

    def _clear(self) -> None:
        if self._aside.path.exists():
            processes.stop(build_neo4j_role(self._aside, self._settings))
            shutil.rmtree(self._aside.path)
