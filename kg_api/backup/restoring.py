"""Restoring a backup: checked, copied beside what is there, started there, and only then put in its place."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from kg_api.backup import manifest as manifests
from kg_api.backup.copying import MIB, copy_file, require_room
from kg_api.backup.database import running_database
from kg_api.backup.keys import RestoredKeys, limit_restored_keys
from kg_api.backup.making import NAME_OF_DATABASE, BackupProgress
from kg_api.backup.manifest import BLOBS, DATABASE, BackupCounts, BackupManifest
from kg_api.errors import Conflict, ManagedProcessError, SchemaTooNew
from kg_api.graph.migrations import check_records
from kg_api.managed import ports, roles
from kg_api.managed.home import Home
from kg_api.managed.neo4j import jars
from kg_api.managed.neo4j.role import neo4j_role
from kg_api.managed.roles import OnWait
from kg_api.models.keys import ApiKey
from kg_api.settings import Settings

_PLACES: Final = {
    f"{DATABASE}/databases": f"neo4j/data/databases/{NAME_OF_DATABASE}",
    f"{DATABASE}/transactions": f"neo4j/data/transactions/{NAME_OF_DATABASE}",
    BLOBS: "blobs",
}
"""Where in a home the folders of a backup belong."""


def check_versions(manifest: BackupManifest) -> None:
    """See to it that this kg can read it; an older one is migrated when kg starts.

    Raises:
        SchemaTooNew: a newer kg, or a newer Neo4j, has written it.
        SchemaTooOld: a version from before the baseline has written it.
    """
    check_records(filter(None, [manifest.schema_version]), "this backup", manifest.kg_version)
    if _numbers(manifest.neo4j_version) > _numbers(jars.VERSION):
        raise SchemaTooNew(
            f"this backup was made with Neo4j {manifest.neo4j_version}; this kg uses {jars.VERSION}. Install "
            f"kg {manifest.kg_version} or a later one. Nothing was changed."
        )


class Restorer:
    """Restores a backup beside what is in a home.

    Args:
        home: where to.
        settings: what its Neo4j runs with.
        progress: who is told how far it is.
    """

    def __init__(self, home: Home, settings: Settings, progress: BackupProgress) -> None:
        self._home = home
        self._aside = Home(home.restoring)
        self._settings = settings
        self._progress = progress

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """Have a new folder beside what is there; it goes, and so does what an earlier restore left."""
        self._clear()
        self._aside.create()
        try:
            yield
        finally:
            if not self._home.restore_file.exists():
                self._clear()

    def copy(self, backup: Path, manifest: BackupManifest) -> None:
        """Copy all files of a backup, each compared with its checksum.

        Raises:
            Conflict: one is missing, or not what it was.
            StorageFull: there is no room for them.
        """
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
                    f"{backup / each.path} is damaged: its checksum is another one. Nothing was changed."
                )

    def try_out(
        self, manifest: BackupManifest, current_keys: Sequence[ApiKey] | None, on_wait: OnWait
    ) -> tuple[BackupCounts, RestoredKeys]:
        """Start Neo4j with what was restored, count what it holds, limit its API keys, and stop it.

        Args:
            manifest: of the backup.
            current_keys: keys of the database that is replaced; None if they are unknown.
            on_wait: called with what is being waited for.

        Raises:
            ManagedProcessError: it does not start.
            Conflict: it holds something else than what was backed up.
        """
        own = self._settings.neo4j.model_copy(update={"port": None})
        settings = self._settings.model_copy(update={"home": self._aside.path, "neo4j": own})
        self._aside.remember(neo4j=ports.free_port())
        try:
            with running_database(self._aside, settings, on_wait, lambda: False) as database:
                schema, counts = database.schema_version(), database.count()
                if schema != manifest.schema_version or (manifest.counts_exact and counts != manifest.counts):
                    raise Conflict(
                        f"the restored database has {counts!r} and the schema {schema!r}, not what the "
                        "backup says. Nothing was changed."
                    )
                return counts, limit_restored_keys(database.graph, current_keys)
        except ManagedProcessError as error:
            raise ManagedProcessError(
                f"Neo4j does not start with what was restored, so nothing was changed: {error}"
            ) from error

    def _place(self, path: str) -> Path:
        for begin, place in _PLACES.items():
            if path.startswith(f"{begin}/"):
                return self._aside.path / place / path.removeprefix(f"{begin}/")
        raise Conflict(f"this backup has {path!r}, which this kg does not know. Nothing was changed.")

    def _clear(self) -> None:
        if self._aside.path.exists():
            roles.stop(neo4j_role(self._aside, self._settings))
            shutil.rmtree(self._aside.path)


def read_backup(backup: Path) -> BackupManifest:
    """Read the manifest of a backup that this kg can restore.

    Raises:
        Conflict: it is not whole.
        SchemaTooNew: as in `check_versions`.
    """
    manifest = manifests.read(backup)
    check_versions(manifest)
    return manifest


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
