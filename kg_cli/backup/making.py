"""`kg admin backup`: making one, with bars."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from kg_api.backup import listing, record
from kg_api.backup.database import RunningDatabase, running_database
from kg_api.backup.making import BackupMaker, BackupProgress, one_at_a_time
from kg_api.backup.manifest import BackupManifest
from kg_api.backup.swapping import finish_swap
from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.managed import roles
from kg_api.managed.home import Home
from kg_api.settings import Settings, load_settings
from kg_cli.backup.bars import showing
from kg_cli.stack.fetching import fetch_parts
from kg_cli.stack.processes import changing
from kg_cli.stack.roles import supervisor_role


@dataclass(frozen=True, slots=True)
class MadeBackup:
    """What `kg admin backup` made, and what it removed for it."""

    path: Path
    manifest: BackupManifest
    removed: list[Path]


def make_backup(folder: Path | None, keep: int | None) -> MadeBackup:
    """Make a backup of this home.

    Raises:
        Conflict: another Neo4j is used, or one is being made.
        NotFound: there is nothing to back up.
        InvalidInput: the folder cannot be used.
    """
    settings = managed_settings()
    home = Home(settings.home)
    place = folder_of(folder)
    if any(place.is_relative_to(copied) for copied in (home.neo4j, home.blobs)):
        raise InvalidInput(f"{place} is a part of what is backed up: name another folder")
    if not (home.has_data() or home.restore_file.exists()):
        raise NotFound(f"there is no database in {home.path}: kg was never started there")
    with (
        _telling_of(place),
        one_at_a_time(home) as begun,
        showing() as progress,
        _database(home, settings, progress) as database,
    ):
        path, manifest = BackupMaker(home, settings, progress).make(database, place)
        record.succeed(home, begun, str(path), manifest.bytes, manifest.paused_seconds)
        removed = listing.remove_oldest(place, keep, manifest.home) if keep else []
    return MadeBackup(path, manifest, removed)


def managed_settings() -> Settings:
    """Read the settings of a kg that runs its own Neo4j.

    Raises:
        Conflict: it uses another.
    """
    settings = load_settings()
    if settings.neo4j.uri is not None:
        raise Conflict(
            "KG_NEO4J__URI names a Neo4j of your own, and kg backs up the one that it runs itself. Use that "
            "Neo4j's tools (neo4j-admin database dump), then copy the stored pictures; or `kg export`."
        )
    return settings


def folder_of(named: Path | None) -> Path:
    """Give the folder of backups: the one named, that of the settings, or the home's."""
    settings = load_settings()
    folder = named or settings.backup.folder or Home(settings.home).backups
    return folder.expanduser().absolute()


@contextlib.contextmanager
def _database(home: Home, settings: Settings, progress: BackupProgress) -> Generator[RunningDatabase]:
    """Give the home's Neo4j, started where kg is down; `kg up` may come meanwhile, and keeps it then."""

    def watched() -> bool:
        return roles.running(supervisor_role(home, settings)) is not None

    if not watched():
        with changing(home):
            finish_swap(home)
            fetch_parts(settings)
    with running_database(home, settings, progress.on_wait, watched) as database:
        yield database


@contextlib.contextmanager
def _telling_of(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or folder
        raise InvalidInput(f"{place}: {error.strerror}; nothing was kept of this backup") from None
