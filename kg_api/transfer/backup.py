"""Backups of a home and their restore, with Neo4j's own `database dump` and `database load`.

Neo4j Community dumps only a stopped database, so kg must not run. A restore first loads and tests everything
in a separate folder, without changing the home. Then it writes a note and swaps the folders by renames. If it
is killed after the note, the next command finishes the swap.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import os
import re
import shutil
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from kg_api import __version__
from kg_api.atomic_write import FOLDER_MODE, write_whole
from kg_api.errors import Conflict, KgError, ManagedProcessError, NotFound, SchemaTooNew
from kg_api.graph.client import Graph
from kg_api.graph.keys import limit_keys, read_keys
from kg_api.graph.schema import DatabaseProbe, require_known_schema
from kg_api.local import neo4j, processes
from kg_api.local.neo4j import build_neo4j_role, choose_bolt_port
from kg_api.local.processes import Home, OnWait
from kg_api.schemas.operations import ApiKey
from kg_api.settings import Settings, list_set_variables, list_variables

# Manifest, written last, so that a folder without it is not a backup

MANIFEST: Final = "manifest.json"
FORMAT: Final = 2
DUMP: Final = "neo4j.dump"
NAME_OF_DATABASE: Final = "neo4j"
_PATH: Final = re.compile(r"neo4j\.dump|blobs/([0-9a-f]{2}/)?\w[\w.-]*")
LEFT_OUT: Final = (
    "the password of Neo4j and the accounts of its `system` database: a restore creates new ones",
    (
        "folder-key: a restore creates a new one. Run `kg folders add` again for synced folders outside "
        "of KG_SYNC__ROOTS"
    ),
    "settings (KG_* and providers' variables) and their keys: they are not kept in the home",
    "logs, ports and pids, Neo4j's own program and the models: made or fetched again",
)


class FileEntry(BaseModel):
    path: Annotated[str, Field(pattern=rf"^({_PATH.pattern})$")]  # relative to the backup, with `/`
    bytes: int
    sha256: str


class BackupManifest(BaseModel):
    format: int
    kg_version: str
    neo4j_version: str
    made_at: AwareDatetime
    seconds: float
    home: str
    settings: list[str]  # names of set variables, which a restore needs again
    left_out: list[str]
    files: list[FileEntry]

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)


def read_manifest(folder: Path) -> BackupManifest:
    try:
        manifest = BackupManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Conflict(
            f"no backup found in {folder}: {MANIFEST}, which is written last, is missing"
        ) from None
    except OSError as error:
        raise Conflict(f"{folder / MANIFEST} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise Conflict(
            f"{folder / MANIFEST} cannot be read: the manifest is damaged, or of another version of kg"
        ) from None
    if manifest.format != FORMAT:
        raise Conflict(f"{folder} was written by kg {manifest.kg_version} in another format")
    return manifest


def describe_file(folder: Path, path: Path) -> FileEntry:
    """Return the size and the checksum of a file of a backup, and flush the file to disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(path=path.relative_to(folder).as_posix(), bytes=file.tell(), sha256=digest)


def make_backup(home: Home, settings: Settings, folder: Path, on_wait: OnWait) -> tuple[Path, BackupManifest]:
    """Write the database and the stored files of a home to a new folder. Its Neo4j must not run."""
    begun, started = dt.datetime.now(tz=dt.UTC), time.monotonic()
    processes.make_folder(folder)
    part = folder / f".unfinished-{home.read_instance()}"  # one per home, so that the next backup replaces it
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=FOLDER_MODE)
    left_out = [*LEFT_OUT]
    try:
        on_wait("Neo4j to dump its database")
        words = ("database", "dump", NAME_OF_DATABASE, f"--to-path={part}")
        failure = (
            "Neo4j cannot dump its database. If Neo4j was killed, run `kg up` and `kg down` first, so that "
            "Neo4j recovers"
        )
        neo4j.run_admin(home, neo4j.check_jars(settings.cache), *words, failure=failure)
        if elsewhere := settings.blobs.s3.bucket or settings.blobs.folder:
            left_out.append(
                f"images and PDFs in {elsewhere}: copy them after the backup, and give a restored kg its own "
                "copy"
            )
        else:
            on_wait("images and PDFs to be copied")
            for path in home.blobs.rglob("*"):
                to = part / "blobs" / path.relative_to(home.blobs)
                if path.is_file() and _PATH.fullmatch(to.relative_to(part).as_posix()):
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, to)
        on_wait("checksums")
        # A restore cannot use variables with paths of this machine
        known = {name for name, _ in list_variables()} - {"KG_HOME", "KG_CACHE", "KG_BACKUP__FOLDER"}
        manifest = BackupManifest(
            format=FORMAT,
            kg_version=__version__,
            neo4j_version=neo4j.VERSION,
            made_at=begun,
            home=str(home.path),
            settings=sorted(list_set_variables() & known),
            left_out=left_out,
            files=[describe_file(part, path) for path in sorted(part.rglob("*")) if path.is_file()],
            seconds=round(time.monotonic() - started, 3),
        )
        write_whole(part / MANIFEST, manifest.model_dump_json(indent=1).encode(), prefix=".")
        return part.rename(folder / begun.strftime("kg-%Y%m%d-%H%M%S")), manifest
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


# Backups in a folder


def find_backup(named: Path, folder: Path) -> Path:
    for path in (named.expanduser(), folder / named):
        if path.is_dir():
            return path.absolute()
    there = ", ".join(path.name for path in _sort_newest_first(folder)) or "none"
    raise NotFound(f"backup {str(named)!r} not found. Backups in {folder}: {there}")


def remove_oldest(folder: Path, keep: int, home: str) -> list[Path]:
    """Remove complete backups of a home except the newest `keep`, at least 1. Return the removed ones."""
    gone = [path for path in _sort_newest_first(folder) if _is_complete(path, home)][max(keep, 1) :]
    for path in gone:
        (path / MANIFEST).unlink()  # the manifest first, so that a partly removed backup is not valid
        shutil.rmtree(path)
    return gone


def _sort_newest_first(folder: Path) -> list[Path]:
    return sorted((path for path in folder.glob("kg-*") if path.is_dir()), reverse=True)


def _is_complete(path: Path, home: str) -> bool:
    """Check home, names, and sizes. A restore also compares checksums."""
    try:
        manifest = read_manifest(path)
    except Conflict:
        return False
    files = ((path / each.path, each.bytes) for each in manifest.files)
    return manifest.home == home and all(
        file.is_file() and file.stat().st_size == size for file, size in files
    )


# Restoring a backup: check, load in a separate folder, start there, and swap


@dataclass(frozen=True, slots=True)
class Restored:
    counts: dict[str, int]
    keys: list[str]  # notes about API keys for the user


def restore_backup(
    home: Home, settings: Settings, backup: Path, manifest: BackupManifest, on_wait: OnWait
) -> Restored:
    """Replace the content of a home by a backup. No process of the home may run."""
    require_known_neo4j(manifest)
    require_no_mounts(home)
    aside = Home(home.restoring)
    own = settings.neo4j.model_copy(update={"port": None})
    trial = settings.model_copy(update={"home": aside.path, "neo4j": own})
    try:
        _clear(aside, settings)  # of a killed restore
        aside.create()
        on_wait("checksums")
        for each in manifest.files:
            _check(backup, each)
            if each.path != DUMP:
                to = aside.path / each.path
                to.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
                shutil.copy(backup / each.path, to)
        on_wait("Neo4j to load the database")
        choose_bolt_port(aside, trial)
        neo4j.prepare(aside, trial)
        words = ("database", "load", NAME_OF_DATABASE, f"--from-path={backup}", "--overwrite-destination")
        failure = "Neo4j cannot load the backup, so nothing was changed"
        neo4j.run_admin(aside, neo4j.check_jars(settings.cache), *words, failure=failure)
        current = read_current_keys(home, settings, on_wait)
        try:
            with running_database(aside, trial, on_wait) as graph:
                require_known_schema(graph)
                counts = graph.read("backup/counts")[0]
                keys = limit_restored_keys(graph, current)
        except ManagedProcessError as error:
            raise ManagedProcessError(
                f"Neo4j does not start with the restored files, so nothing was changed: {error}"
            ) from error
        swap(home, backup)
        return Restored(dict(counts), keys)
    finally:
        if not home.restore_file.exists():  # a swap that has begun is finished by the next command
            _clear(aside, settings)


def require_known_neo4j(manifest: BackupManifest) -> None:
    """Raise SchemaTooNew if this kg cannot read the backup. kg migrates an older backup at its start."""

    def numbers(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split(".") if part.isdigit())

    if numbers(manifest.neo4j_version) > numbers(neo4j.VERSION):
        raise SchemaTooNew(
            f"this backup was made with Neo4j {manifest.neo4j_version}, but this kg uses "
            f"{neo4j.VERSION}. Install kg {manifest.kg_version} or a later one. Nothing was changed."
        )


def _check(backup: Path, entry: FileEntry) -> None:
    try:
        found = describe_file(backup, backup / entry.path)
    except FileNotFoundError:
        raise Conflict(f"{backup} is not whole: {entry.path} is missing. Nothing was changed.") from None
    if found != entry:
        raise Conflict(
            f"{backup / entry.path} is damaged: its checksum differs from the manifest. Nothing was changed."
        )


def _clear(aside: Home, settings: Settings) -> None:
    if aside.path.exists():
        neo4j.end_admin(aside)
        processes.stop(build_neo4j_role(aside, settings))
        shutil.rmtree(aside.path)


@contextlib.contextmanager
def running_database(home: Home, settings: Settings, on_wait: OnWait) -> Generator[Graph]:
    """Start the Neo4j of a home, yield its graph, and stop it."""
    role, seconds = build_neo4j_role(home, settings), settings.neo4j.start_timeout_seconds
    choose_bolt_port(home, settings)
    process = processes.start(role)
    try:
        processes.wait(role, process, timeout=seconds, on_wait=on_wait)
        with Graph(home.build_bolt_uri() or "", "neo4j", home.read_password() or "") as graph:
            deadline, probe = time.monotonic() + seconds, DatabaseProbe(graph)
            while (trouble := probe.trouble()) is not None:
                if time.monotonic() > deadline or not process.is_alive():
                    raise ManagedProcessError(f"Neo4j does not answer: {trouble}")
                on_wait(trouble)
                time.sleep(processes.POLL_SECONDS)
            yield graph
    finally:
        on_wait("Neo4j to stop")
        processes.stop(role)


# API keys of a restored database: keys revoked after the backup stay revoked


def read_current_keys(home: Home, settings: Settings, on_wait: OnWait) -> list[ApiKey] | None:
    """Read the keys of the replaced database. None: it does not exist or does not start."""
    if not home.has_data():
        return None
    try:
        with running_database(home, settings, on_wait) as graph:
            return read_keys(graph)
    except KgError:  # a broken database is a common reason for a restore
        return None


def limit_restored_keys(restored: Graph, current: Sequence[ApiKey] | None) -> list[str]:
    """Limit restored keys to their validity in the replaced database, and end all sessions. Return notes."""
    before = {key.key_id for key in read_keys(restored) if key.state == "active"}
    limit_keys(restored, current or ())
    restored.write("keys/end_sessions")
    after = read_keys(restored)
    known = {key.key_id for key in current or ()}
    limited, unverified = (
        ", ".join(f"{key.name} ({key.key_id}, {key.scope})" for key in keys)
        for keys in (
            [key for key in after if key.key_id in before and key.state != "active"],
            [key for key in after if key.state == "active" and key.key_id not in known],
        )
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


# Swap of the restored folders

_RESTORED: Final = ("neo4j", "blobs", "neo4j-password")  # paths of a restore, relative to a home


class SwapNote(BaseModel):
    backup: str
    out: list[str]
    into: list[str]


def swap(home: Home, backup: Path) -> None:
    """Replace the data of a home by the restored data, and delete the old data."""
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


def require_no_mounts(home: Home) -> None:
    """Raise Conflict for a mount point, because renames cannot replace it."""
    for name in _RESTORED:
        if (home.path / name).is_mount():
            raise Conflict(
                f"{home.path / name} is a separate disk and cannot be replaced. Restore into an empty home"
            )


def holds_data(home: Home) -> bool:
    return home.has_data() or (home.blobs.is_dir() and any(home.blobs.iterdir()))
