"""`kg admin backup` and `restore` of a home whose processes are stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.local import processes
from kg_api.local.neo4j import build_neo4j_role
from kg_api.local.processes import Home
from kg_api.settings import Settings, load_settings
from kg_api.transfer import backup
from kg_api.transfer.backup import BackupManifest, finish_swap, holds_data
from kg_api.wording import pluralize
from kg_cli.stack.report import fetch_parts
from kg_cli.stack.roles import build_roles, build_supervisor_role, changing
from kg_cli.terminal import console, options
from kg_cli.terminal.console import get_runnable


def make_backup(folder: Path | None, keep: int | None, *, as_json: bool) -> None:
    """Make a backup of this home and print its path, size and duration."""
    settings = require_managed_settings()
    home = Home(settings.home)
    place = choose_backup_folder(folder)
    if any(place.is_relative_to(copied) for copied in (home.neo4j, home.blobs)):
        raise InvalidInput(f"{place} is part of the backed-up data. Name another folder.")
    if not (home.has_data() or home.restore_file.exists()):
        raise NotFound(f"{home.path} has no database: kg was never started there")
    with stopped(home, settings), console.waiting_line() as show:
        path, manifest = backup.make_backup(home, settings, place, show)
        removed = backup.remove_oldest(place, keep, manifest.home) if keep else []
    if as_json:
        console.print_json({**_as_json(path, manifest), "removed": [str(each) for each in removed]})
        return
    console.line(str(path))
    console.say(f"{console.format_megabytes(manifest.bytes)} in {manifest.seconds:.1f} s")
    console.note(*(f"not in the backup: {each}" for each in manifest.left_out))
    for each in removed:
        console.say(f"removed, as the oldest: {each.name}")


def require_managed_settings() -> Settings:
    """Return the settings, or raise Conflict if they name an external Neo4j."""
    settings = load_settings()
    if settings.neo4j.uri is not None:
        raise Conflict(
            "KG_NEO4J__URI names your own Neo4j, but kg can only back up the Neo4j from `kg up`. Use "
            "`neo4j-admin database dump`, and then copy the stored files, or use `kg export`."
        )
    return settings


def choose_backup_folder(named: Path | None) -> Path:
    """Choose the folder of backups: the given one, that of the settings, or that of the home."""
    settings = load_settings()
    folder = named or settings.backup.folder or Home(settings.home).backups
    return folder.expanduser().absolute()


@contextlib.contextmanager
def stopped(home: Home, settings: Settings) -> Generator[None]:
    """Keep kg from starting in a home. Raise Conflict if kg runs there."""
    _require_stopped(home, settings)
    try:
        with changing(home):
            _require_stopped(home, settings)
            processes.stop(build_neo4j_role(home, settings))  # left by a killed command
            if finished := finish_swap(home):
                console.note(f"an interrupted restore of {finished} was finished first")
            fetch_parts(settings)
            yield
    except OSError as error:
        raise InvalidInput(f"{error.filename or home.path}: {error.strerror}. No data is lost") from None


def _require_stopped(home: Home, settings: Settings) -> None:
    own = [build_supervisor_role(home, settings), *build_roles(home, settings)[1:]]
    if any(map(processes.find_running, own)):
        raise Conflict(
            f"kg runs in {home.path}, and Neo4j must be stopped for this: run `kg down` first, and `kg up` "
            "afterwards. `kg export` works while kg runs"
        )


def restore_backup(named: Path, *, replace: bool, agreed: bool, as_json: bool) -> None:
    """Restore a backup into this home, and print the restored content and the next step."""
    settings = require_managed_settings()
    home = Home(settings.home)
    found = backup.find_backup(named, choose_backup_folder(None))
    manifest = backup.read_manifest(found)
    backup.require_known_neo4j(manifest)
    _require_stopped(home, settings)
    if holds_data(home) and not replace:
        raise Conflict(
            f"there is a database in {home.path}: name an empty home with KG_HOME, or replace it (--replace)"
        )
    backup.require_no_mounts(home)
    if replace and not agreed and holds_data(home):
        options.confirm(
            f"Replace the database in {home.path} by that of {manifest.made_at:%Y-%m-%d %H:%M} UTC?"
        )
    with stopped(home, settings), console.waiting_line() as show:
        restored = backup.restore_backup(home, settings, found, manifest, show)
    notes = [*restored.keys, *(f"not in the backup: {each}" for each in manifest.left_out)]
    if settings.blobs.folder or settings.blobs.s3.bucket:
        notes.append(
            "KG_BLOBS__* stores files outside the home. Back them up separately: "
            "see docs/operations/backup-and-transfer.md"
        )
    if as_json:
        fields = {"home": str(home.path), "counts": restored.counts, "notes": notes}
        console.print_json({**_as_json(found, manifest), **fields})
        return
    counts = [pluralize(count, name[:-1], name) for name, count in restored.counts.items()]
    counts[0] = pluralize(restored.counts["ontologies"], "ontology", "ontologies")
    console.line(f"{home.path}: {', '.join(counts)}")
    console.note(*notes)
    if manifest.settings:
        console.note(f"these variables were set when it was made: {', '.join(manifest.settings)}")
    console.say(f"Start it with: {get_runnable()} up")


def _as_json(path: Path, manifest: BackupManifest) -> dict[str, Any]:
    size = {"bytes": manifest.bytes, "files": len(manifest.files)}
    return {"path": str(path), **manifest.model_dump(mode="json", exclude={"files"}), **size}
