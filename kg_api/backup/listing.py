"""The backups of a folder: found, named, and the oldest removed."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kg_api.backup import manifest as manifests
from kg_api.backup.manifest import BackupManifest
from kg_api.errors import Conflict, NotFound
from kg_api.managed import processes

UNFINISHED: Final = ".unfinished-"
OWNER: Final = "owner.pid"
_NAME: Final = "kg-%Y%m%d-%H%M%S"


@dataclass(frozen=True, slots=True)
class FoundBackup:
    """A backup, or what is left of one."""

    path: Path
    manifest: BackupManifest | None
    problem: str | None = None
    """Why it is not whole; sizes are looked at, contents by a restore alone."""
    at_work: bool = False
    """Whether it is being made."""

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON values, without its files."""
        told = self.manifest.model_dump(mode="json", exclude={"files"}) if self.manifest else {}
        size = {"bytes": self.manifest.bytes, "files": len(self.manifest.files)} if self.manifest else {}
        whole = self.problem is None
        return {"path": str(self.path), "whole": whole, "problem": self.problem, **told, **size}


def new_name(folder: Path, now: dt.datetime) -> str:
    """Name a backup by its time, UTC; a second one of that second gets a number."""
    name = now.astimezone(dt.UTC).strftime(_NAME)
    taken = {path.name.removeprefix(UNFINISHED) for path in folder.glob("*kg-*")}
    further = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *further) if each not in taken)


def list_backups(folder: Path) -> list[FoundBackup]:
    """List what is in a folder, the newest first; nothing where there is none."""
    if not folder.is_dir():
        return []
    found = [*folder.glob("kg-*"), *folder.glob(f"{UNFINISHED}kg-*")]
    ordered = sorted(found, key=lambda path: path.name.removeprefix(UNFINISHED), reverse=True)
    return [look_at(path) for path in ordered if path.is_dir()]


def look_at(path: Path) -> FoundBackup:
    """Look at one: its manifest, and that every file is there with its size."""
    if path.name.startswith(UNFINISHED):
        at_work = processes.load(path / OWNER) is not None
        return FoundBackup(path, None, "it is being made" if at_work else "it was interrupted", at_work)
    try:
        manifest = manifests.read(path)
    except Conflict as error:
        return FoundBackup(path, None, str(error))
    return FoundBackup(path, manifest, _missing(path, manifest))


def find_backup(named: Path, folder: Path) -> Path:
    """Give the backup that somebody names: by its path, or by its name alone in the usual folder.

    Raises:
        NotFound: there is none.
    """
    for path in (named.expanduser(), folder / named):
        if path.is_dir():
            return path.absolute()
    raise NotFound(f"there is no backup {str(named)!r}: `kg admin backups` lists those of {folder}")


def remove_oldest(folder: Path, keep: int, home: str) -> list[Path]:
    """Remove whole backups of a home beyond the newest `keep`, at least 1; gives those that went."""
    whole = [each for each in list_backups(folder) if each.problem is None]
    own = [each for each in whole if each.manifest and each.manifest.home == home]
    gone = [each.path for each in own[max(keep, 1) :]]
    for path in gone:
        _remove(path)
    return gone


def remove_interrupted(folder: Path) -> list[Path]:
    """Remove what backups left that were killed; gives those that went."""
    gone = [
        each.path
        for each in list_backups(folder)
        if each.path.name.startswith(UNFINISHED) and not each.at_work
    ]
    for path in gone:
        _remove(path)
    return gone


def _remove(path: Path) -> None:
    """Take its manifest first: half of a backup must not look like one."""
    (path / manifests.MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(path)


def _missing(path: Path, manifest: BackupManifest) -> str | None:
    for each in manifest.files:
        try:
            size = (path / each.path).stat().st_size
        except OSError:
            return f"{each.path} is missing"
        if size != each.bytes:
            return f"{each.path} has {size} bytes, not {each.bytes}"
    return None
