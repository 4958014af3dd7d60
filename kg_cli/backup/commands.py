"""`kg admin backup`, `backups` and `restore`: backups of a home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_cli.terminal import options

FolderArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[FOLDER]", help="Where backups are; unset: KG_BACKUP__FOLDER, or below KG_HOME."),
]
KeepOption = Annotated[
    int | None,
    typer.Option(min=1, help="Remove the oldest whole backups of this home beyond this number afterwards."),
]
BackupArgument = Annotated[
    Path, typer.Argument(metavar="BACKUP", help="The backup: its folder, or its name as `backups` lists it.")
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace the content of the home. It is removed after the restore.")
]


def backup(
    folder: FolderArgument = None, *, keep: KeepOption = None, as_json: options.OwnJson = False
) -> None:
    """Back up the database, images and PDFs of this home at one moment, into a new dated folder.

    kg may run. Neo4j pauses briefly, and requests wait. If kg does not run, the command starts Neo4j. The
    manifest.json of the backup lists included and omitted content.

    Example: kg admin backup /mnt/backups
    """
    from kg_cli.backup.making import make_backup

    make_backup(folder, keep, as_json=as_json)


def backups(folder: FolderArgument = None, *, as_json: options.OwnJson = False) -> None:
    """List the backups of a folder, the newest first, and whether each is complete.

    The check compares names and sizes of files. `kg admin restore` also compares checksums.

    Example: kg admin backups --json
    """
    from kg_cli.backup.making import print_backups

    print_backups(folder, as_json=as_json)


def restore(
    backup: BackupArgument,
    *,
    replace: ReplaceOption = False,
    yes: options.Yes = False,
    as_json: options.OwnJson = False,
) -> None:
    """Restore a backup into this home. The home must be empty unless you pass --replace. kg must not run.

    The command first checks all files, restores them to a separate folder, and starts Neo4j with them. An
    interruption changes nothing, or the next command completes the restore.

    Example: KG_HOME=~/kg-again kg admin restore /mnt/backups/kg-20260131-040000
    """
    from kg_cli.backup.making import restore_backup

    restore_backup(backup, replace=replace, agreed=yes, as_json=as_json)
