"""Progress and output of `kg admin backup` and `kg admin restore`."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.text import Text

from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.local import processes
from kg_api.local.neo4j import NAME, build_neo4j_role
from kg_api.local.processes import Home
from kg_api.settings import Settings, load_settings
from kg_api.transfer import backup
from kg_api.transfer.backup import (
    BackupCounts,
    BackupMaker,
    BackupManifest,
    BackupProgress,
    FoundBackup,
    RunningDatabase,
    find_backup,
    list_backups,
    one_at_a_time,
    running_database,
)
from kg_api.transfer.restore import (
    RestoredKeys,
    Restorer,
    finish_swap,
    holds_data,
    read_backup,
    read_current_keys,
    refuse_mounts,
    swap,
)
from kg_api.wording import pluralize
from kg_cli.stack.report import fetch_parts
from kg_cli.stack.roles import changing, stack_roles, supervisor_role
from kg_cli.terminal import console, options
from kg_cli.terminal.console import runnable


@contextlib.contextmanager
def showing() -> Generator[BackupProgress]:
    """Show one step at a time on standard error. Without a terminal, name each step once."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as bars:

        def begin(words: str, total: int | None) -> None:
            if bars.tasks and bars.tasks[-1].description == words:
                return
            for task in bars.task_ids:
                bars.remove_task(task)
            bars.add_task(words, total=total)
            if not bars.console.is_terminal:
                console.say(words)

        def advance(count: int) -> None:
            for task in bars.task_ids:
                bars.advance(task, count)

        yield BackupProgress(begin, advance, lambda reason: begin(f"waiting for {reason}", None))


def make_backup(folder: Path | None, keep: int | None, *, as_json: bool) -> None:
    """Make a backup of this home and print its path, content and duration."""
    settings = managed_settings()
    home = Home(settings.home)
    place = choose_backup_folder(folder)
    if any(place.is_relative_to(copied) for copied in (home.neo4j, home.blobs)):
        raise InvalidInput(f"{place} is a part of what is backed up: name another folder")
    if not (home.has_data() or home.restore_file.exists()):
        raise NotFound(f"there is no database in {home.path}: kg was never started there")
    try:
        with (
            one_at_a_time(home) as begun,
            showing() as progress,
            _database(home, settings, progress) as database,
        ):
            path, manifest = BackupMaker(home, settings, progress).make(database, place)
            backup.succeed(home, begun, str(path), manifest.bytes, manifest.paused_seconds)
            removed = backup.remove_oldest(place, keep, manifest.home) if keep else []
    except OSError as error:
        told = f"{error.filename or place}: {error.strerror}; the incomplete backup was deleted"
        raise InvalidInput(told) from None
    if as_json:
        made = FoundBackup(path, manifest).as_json()
        console.print_json({**made, "removed": [str(each) for each in removed]})
        return
    console.line(str(path))
    console.say(
        f"{console.megabytes(manifest.bytes)} in {manifest.seconds:.1f} s: "
        f"{describe_counts(manifest.counts)}; Neo4j paused for {manifest.paused_seconds:.2f} s"
    )
    console.note(*(f"not in the backup: {each}" for each in manifest.left_out))
    for each in removed:
        console.say(f"removed, as the oldest: {each.name}")


def managed_settings() -> Settings:
    """Return the settings, or raise Conflict if they name an external Neo4j."""
    settings = load_settings()
    if settings.neo4j.uri is not None:
        raise Conflict(
            "KG_NEO4J__URI names a Neo4j of your own, and kg backs up the one that it runs itself. Use that "
            "Neo4j's tools (neo4j-admin database dump), then copy the stored pictures; or `kg export`."
        )
    return settings


def choose_backup_folder(named: Path | None) -> Path:
    """Return the folder of backups: the given one, that of the settings, or that of the home."""
    settings = load_settings()
    folder = named or settings.backup.folder or Home(settings.home).backups
    return folder.expanduser().absolute()


@contextlib.contextmanager
def _database(home: Home, settings: Settings, progress: BackupProgress) -> Generator[RunningDatabase]:
    """Yield the home's Neo4j, started if kg does not run. A `kg up` during the backup adopts it."""

    def watched() -> bool:
        return processes.running(supervisor_role(home, settings)) is not None

    if not watched():
        with changing(home):
            finish_swap(home)
            fetch_parts(settings)
    with running_database(home, settings, progress.on_wait, watched) as database:
        yield database


def restore_backup(named: Path, *, replace: bool, agreed: bool, as_json: bool) -> None:
    """Restore a backup into this home, and print the restored content and the next step."""
    settings = managed_settings()
    home = Home(settings.home)
    found = find_backup(named, choose_backup_folder(None))
    manifest = read_backup(found)
    _refuse_running(home, settings)
    if holds_data(home) and not replace:
        raise Conflict(
            f"there is a database in {home.path}: name an empty home with KG_HOME, or replace it (--replace)"
        )
    refuse_mounts(home)
    if replace and not agreed and holds_data(home):
        options.confirm(
            f"Replace the database in {home.path} by that of {manifest.made_at:%Y-%m-%d %H:%M} UTC?"
        )
    try:
        with changing(home):
            counts, keys = _restore(home, settings, found, manifest)
    except OSError as error:
        raise InvalidInput(f"{error.filename or home.path}: {error.strerror}; nothing was lost") from None
    notes = [*keys.describe(), *(f"not in the backup: {each}" for each in manifest.left_out)]
    if settings.blobs.folder or settings.blobs.s3.bucket:
        notes.append(
            "KG_BLOBS__* names another place for pictures than the home: "
            "see docs/operations/backup-and-transfer.md"
        )
    if counts != manifest.counts:
        notes.append("while the backup was made others wrote: it has what was stored at its moment")
    if as_json:
        told = {"home": str(home.path), "counts": counts.model_dump(), "notes": notes}
        console.print_json({**FoundBackup(found, manifest).as_json(), **told})
        return
    console.line(f"{home.path}: {describe_counts(counts)}")
    console.note(*notes)
    if manifest.settings:
        console.note(f"these variables were set when it was made: {', '.join(manifest.settings)}")
    console.say(f"Start it with: {runnable()} up")


def _restore(
    home: Home, settings: Settings, found: Path, manifest: BackupManifest
) -> tuple[BackupCounts, RestoredKeys]:
    _refuse_running(home, settings)
    processes.stop(build_neo4j_role(home, settings))
    if finished := finish_swap(home):
        console.note(f"an interrupted restore of {finished} was finished first")
    fetch_parts(settings)
    with showing() as progress:
        restorer = Restorer(home, settings, progress)
        with restorer.aside():
            restorer.copy(found, manifest)
            current = read_current_keys(home, settings, progress.on_wait)
            counts, keys = restorer.verify_restored_data(manifest, current, progress.on_wait)
            swap(home, found)
    return counts, keys


def _refuse_running(home: Home, settings: Settings) -> None:
    parts = [supervisor_role(home, settings), *stack_roles(home, settings)]
    running = [role.name for role in parts if processes.running(role)]
    # an interrupted restore that started Neo4j to read the keys
    was_killed = running == [NAME] and home.restoring.exists()
    if running and not was_killed:
        raise Conflict(f"kg runs in {home.path}: run `kg down` first")


def print_backups(folder: Path | None, *, as_json: bool) -> None:
    place = choose_backup_folder(folder)
    found = list_backups(place)
    if as_json:
        console.print_json({"folder": str(place), "backups": [each.as_json() for each in found]})
    elif not found:
        console.say(f"There are no backups in {place}.")
    else:
        console.print_table(["backup", "made", "size", "holds", "whole"], [_row(each) for each in found])


def _row(found: FoundBackup) -> list[str | Text]:
    whole = Text("yes", "green") if found.problem is None else Text(found.problem, "red")
    if (manifest := found.manifest) is None:
        return [found.path.name, "-", "-", "-", whole]
    made = manifest.made_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    counts = manifest.counts
    holds = f"{pluralize(counts.documents, 'document')}, {pluralize(counts.sources, 'source')}"
    return [found.path.name, made, console.megabytes(manifest.bytes), holds, whole]


def describe_counts(counts: BackupCounts) -> str:
    told = [pluralize(counts.ontologies, "ontology", "ontologies")]
    told += [
        pluralize(getattr(counts, f"{each}s"), each) for each in ("document", "source", "concept", "picture")
    ]
    return ", ".join(told)
