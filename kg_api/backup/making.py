"""Making a backup: a copy of the files of Neo4j and of pictures as they were at one moment.

Most is copied while everything runs. Then Neo4j stands still while the rest is copied, mostly for a moment.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import filelock

from kg_api import __version__
from kg_api.backup import listing, record
from kg_api.backup import manifest as manifests
from kg_api.backup.copying import MIB, OnBytes, files_below, hash_and_keep, require_room
from kg_api.backup.database import RunningDatabase
from kg_api.backup.freezing import standing_still
from kg_api.backup.manifest import BLOBS, DATABASE, BackedUpFile, BackupManifest
from kg_api.backup.mirror import Mirror
from kg_api.errors import Conflict, KgError, Unavailable
from kg_api.managed import files, processes
from kg_api.managed.home import Home
from kg_api.managed.neo4j import jars
from kg_api.managed.roles import OnWait
from kg_api.settings import Settings, given_variables, variables

NAME_OF_DATABASE: Final = "neo4j"
MAX_PASSES: Final = 5
SMALL_BYTES: Final = 32 * MIB
"""So much is copied while Neo4j stands still: a tenth of a second."""
TRIES: Final = 3
LOCK_SECONDS: Final = 5
_BEING_WRITTEN: Final = ".writing-"

OnStep = Callable[[str, int], None]
"""Called with what begins, and how many bytes it is about."""


@dataclass(frozen=True, slots=True)
class BackupProgress:
    """Who is told how far it is."""

    on_step: OnStep
    on_bytes: OnBytes
    on_wait: OnWait


class BackupMaker:
    """Makes backups of a home.

    Args:
        home: whose.
        settings: where its pictures are, and how much room is to be left.
        progress: who is told how far it is.
    """

    def __init__(self, home: Home, settings: Settings, progress: BackupProgress) -> None:
        self._home = home
        self._settings = settings
        self._progress = progress

    def make(self, database: RunningDatabase, folder: Path) -> tuple[Path, BackupManifest]:
        """Make a backup in a folder of its own below `folder`.

        Raises:
            StorageFull: there is no room for it.
            SchemaTooNew: a newer kg has written the database.
            Unavailable: too much was written for a moment of rest.
            OSError: something cannot be read or written.
        """
        files.make_folder(folder)
        listing.remove_interrupted(folder)
        begun, started = dt.datetime.now(tz=dt.UTC), time.monotonic()
        name = listing.new_name(folder, begun)
        part = folder / f"{listing.UNFINISHED}{name}"
        with _own_folder(part):
            schema, before = database.schema_version(), database.count()
            paused = self._copy(database, part)
            after = database.count()
            manifest = BackupManifest(
                format=manifests.FORMAT,
                kg_version=__version__,
                neo4j_version=jars.VERSION,
                schema_version=schema,
                made_at=begun,
                seconds=0,
                paused_seconds=round(paused, 3),
                home=str(self._home.path),
                counts=before,
                counts_exact=before == after,
                settings=_variables_set(),
                left_out=[*manifests.LEFT_OUT, *_pictures_elsewhere(self._settings)],
                files=self._hash(part),
            )
            manifest = manifest.model_copy(update={"seconds": round(time.monotonic() - started, 3)})
            manifests.write(part, manifest)
            (part / listing.OWNER).unlink()
            part.rename(folder / name)
        return folder / name, manifest

    def _copy(self, database: RunningDatabase, part: Path) -> float:
        """Copy all; gives the seconds that Neo4j stood still."""
        data = self._home.neo4j_data
        trees = [
            (data / kind / NAME_OF_DATABASE, f"{DATABASE}/{kind}") for kind in ("databases", "transactions")
        ]
        if _pictures_here(self._settings):
            trees.append((self._home.blobs, BLOBS))
        mirror = Mirror(trees, part, lambda path: not path.name.startswith(_BEING_WRITTEN))
        size = mirror.measure()
        require_room(part, size, self._settings.neo4j.disk_reserve_mb * MIB)
        self._progress.on_step("copying", size)
        for _ in range(MAX_PASSES):
            mirror.approach(self._progress.on_bytes)
            if mirror.outstanding() < SMALL_BYTES:
                break
        return self._settle(database, mirror)

    def _settle(self, database: RunningDatabase, mirror: Mirror) -> float:
        for _ in range(TRIES):
            begun = time.monotonic()
            with standing_still(database.process) as still_so:
                mirror.settle(lambda _: None)
                whole = still_so()
            if whole:
                return time.monotonic() - begun
            if not database.process.alive():
                raise Conflict("Neo4j was stopped while it was backed up: try again when kg is up, or down")
        raise Unavailable("too much is written for a backup at the moment: try again when less is going on")

    def _hash(self, part: Path) -> list[BackedUpFile]:
        found = sorted(path for path in files_below(part) if path.name != listing.OWNER)
        self._progress.on_step("checksums", sum(path.stat().st_size for path in found))
        return [self._describe(part, path) for path in found]

    def _describe(self, part: Path, path: Path) -> BackedUpFile:
        sha256 = hash_and_keep(path, self._progress.on_bytes)
        return BackedUpFile(path=path.relative_to(part).as_posix(), bytes=path.stat().st_size, sha256=sha256)


@contextlib.contextmanager
def one_at_a_time(home: Home) -> Generator[record.BackupRecord]:
    """Let one backup of a home be made at a time, and note what becomes of it.

    Raises:
        Conflict: one is being made.
    """
    try:
        with filelock.FileLock(home.backup_lock, timeout=LOCK_SECONDS):
            begun = record.begin(home)
            try:
                yield begun
            except (KgError, OSError) as error:
                record.fail(home, begun, str(error))
                raise
    except filelock.Timeout:
        raise Conflict(f"a backup of {home.path} is being made") from None


@contextlib.contextmanager
def _own_folder(part: Path) -> Generator[None]:
    """Make the folder of a backup that is not whole yet, with the pid of its maker; it goes with an error."""
    part.mkdir(mode=0o700)
    try:
        if me := processes.identify(os.getpid()):
            processes.save(part / listing.OWNER, me)
        yield
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _variables_set() -> list[str]:
    """Names of the variables that are set, but for those that say where things are on this machine."""
    known = {name for name, _ in variables()} - {"KG_HOME", "KG_CACHE", "KG_BACKUP__FOLDER"}
    return sorted(given_variables() & known)


def _pictures_here(settings: Settings) -> bool:
    return settings.blobs.s3.bucket is None and settings.blobs.folder is None


def _pictures_elsewhere(settings: Settings) -> list[str]:
    if _pictures_here(settings):
        return []
    where = (
        f"the bucket {settings.blobs.s3.bucket}" if settings.blobs.s3.bucket else f"{settings.blobs.folder}"
    )
    return [f"pictures and PDFs in {where}: copy them after the backup, and give a restored copy its own"]
