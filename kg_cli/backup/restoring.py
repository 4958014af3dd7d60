"""`kg admin restore`: into an empty home, or over what is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kg_api.backup.keys import RestoredKeys, read_current_keys
from kg_api.backup.listing import find_backup
from kg_api.backup.manifest import BackupCounts, BackupManifest
from kg_api.backup.restoring import Restorer, read_backup
from kg_api.backup.swapping import finish_swap, holds_data, refuse_mounts, swap
from kg_api.errors import Conflict, InvalidInput
from kg_api.managed import roles
from kg_api.managed.home import Home
from kg_api.managed.neo4j.role import NAME, neo4j_role
from kg_api.settings import Settings
from kg_cli.backup.bars import showing
from kg_cli.backup.making import folder_of, managed_settings
from kg_cli.stack.fetching import fetch_parts
from kg_cli.stack.processes import changing
from kg_cli.stack.roles import stack_roles, supervisor_role
from kg_cli.terminal import console
from kg_cli.terminal.confirm import confirm


@dataclass(frozen=True, slots=True)
class RestoredBackup:
    """What was restored, and where."""

    home: Path
    backup: Path
    manifest: BackupManifest
    counts: BackupCounts
    notes: list[str]


def restore_backup(named: Path, *, replace: bool, agreed: bool) -> RestoredBackup:
    """Restore a backup into this home.

    Raises:
        Conflict: the backup is not whole, kg runs, or there is something in the home.
        NotFound: there is no such backup.
        SchemaTooNew: a newer kg has made it.
    """
    settings = managed_settings()
    home = Home(settings.home)
    backup = find_backup(named, folder_of(None))
    manifest = read_backup(backup)
    _refuse_running(home, settings)
    if holds_data(home) and not replace:
        raise Conflict(
            f"there is a database in {home.path}: name an empty home with KG_HOME, or replace it (--replace)"
        )
    refuse_mounts(home)
    if replace and not agreed and holds_data(home):
        confirm(f"Replace the database in {home.path} by that of {manifest.made_at:%Y-%m-%d %H:%M} UTC?")
    try:
        with changing(home):
            counts, keys = _restore(home, settings, backup, manifest)
    except OSError as error:
        raise InvalidInput(f"{error.filename or home.path}: {error.strerror}; nothing was lost") from None
    notes = [*keys.describe(), *_notes(settings, manifest, counts)]
    return RestoredBackup(home.path, backup, manifest, counts, notes)


def _restore(
    home: Home, settings: Settings, backup: Path, manifest: BackupManifest
) -> tuple[BackupCounts, RestoredKeys]:
    _refuse_running(home, settings)
    roles.stop(neo4j_role(home, settings))
    if finished := finish_swap(home):
        console.note(f"an interrupted restore of {finished} was finished first")
    fetch_parts(settings)
    with showing() as progress:
        restorer = Restorer(home, settings, progress)
        with restorer.aside():
            restorer.copy(backup, manifest)
            current = read_current_keys(home, settings, progress.on_wait)
            counts, keys = restorer.try_out(manifest, current, progress.on_wait)
            swap(home, backup)
    return counts, keys


def _refuse_running(home: Home, settings: Settings) -> None:
    parts = [supervisor_role(home, settings), *stack_roles(home, settings)]
    running = [role.name for role in parts if roles.running(role)]
    was_killed = running == [NAME] and home.restoring.exists()  # a restore that read the keys
    if running and not was_killed:
        raise Conflict(f"kg runs in {home.path}: run `kg down` first")


def _notes(settings: Settings, manifest: BackupManifest, counts: BackupCounts) -> list[str]:
    notes = [f"not in the backup: {each}" for each in manifest.left_out]
    if settings.blobs.folder or settings.blobs.s3.bucket:
        notes.append("KG_BLOBS__* names another place for pictures than the home: see docs/backup.md")
    if counts != manifest.counts:
        notes.append("while the backup was made others wrote: it has what was stored at its moment")
    return notes
