"""`kg export`, `kg import`, and backups of a home: `kg admin backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_cli.terminal import options
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import argument, option


def export(
    folder: Annotated[Path, argument("New folder to write the bundle to.", metavar="FOLDER")],
    *,
    ontologies: options.OnlyOntologies = None,
    as_json: options.Json = False,
) -> None:
    """Export all ontologies, or some, to a folder that any kg can import.

    The bundle contains documents, sources with vectors, concepts, images and the configuration of ontologies.
    At the end, the command lists the omitted content.
    An interrupted export leaves no bundle: delete the folder and repeat the command.

    Example: kg export moving --ontology notes
    """
    from kg_cli.terminal import console
    from kg_cli.transfer.bundles import export_bundle, print_exported

    with open_client() as client, console.progress("documents") as bar:
        task = bar.add_task("exporting", total=None)

        def begin(total: int) -> None:
            bar.update(task, total=total)

        manifest = export_bundle(client, folder, ontologies, begin, lambda count: bar.advance(task, count))
    print_exported(manifest, folder, as_json=as_json)


def import_bundle(
    folder: Annotated[Path, argument("Folder to read the bundle from.", metavar="FOLDER")],
    *,
    ontologies: options.OnlyOntologies = None,
    replace: Annotated[
        bool, option("Import into existing ontologies, and replace documents of the same name.", "--replace")
    ] = False,
    check: Annotated[bool, option("Check the bundle, but do not import it.", "--check")] = False,
    as_json: options.Json = False,
) -> None:
    """Import a bundle of `kg export` into this kg. An ontology must not exist, unless you pass --replace.

    kg first checks the whole bundle, even if you name ontologies. With --replace, documents of the bundle
    replace documents with the same names, and others stay. kg re-embeds sources only if the model or the
    chunking differs here. To resume an interrupted import, repeat the command with --replace. The exit code
    is 3 if a document could not be stored.

    Example: kg import moving
    """
    from kg_api.transfer.bundles import check_bundle
    from kg_cli.terminal import console
    from kg_cli.transfer.bundles import choose, import_ontology, print_exported, print_imported

    with console.progress("bytes") as bar:
        task = bar.add_task("checking", total=None)
        manifest = check_bundle(folder, lambda size: bar.advance(task, size))
    files = choose(manifest, ontologies)
    if check:
        chosen = manifest.model_copy(update={"files": files})
        print_exported(chosen, folder, as_json=as_json, is_checked=True)
        return
    with open_client() as client, console.progress("documents") as bar:
        task = bar.add_task("importing", total=sum(each.documents for each in files))

        def advance(count: int) -> None:
            bar.advance(task, count)

        imports = [
            import_ontology(client, folder, manifest, each, replace=replace, advance=advance)
            for each in files
        ]
    print_imported(imports, manifest.left_out, as_json=as_json)
    if any(each.done.problems for each in imports):
        raise typer.Exit(options.SOME_FAILED)


def backup(
    folder: Annotated[
        Path | None,
        argument("Folder. Default: KG_BACKUP__FOLDER, or `backups` in KG_HOME.", metavar="[FOLDER]"),
    ] = None,
    *,
    keep: Annotated[
        int | None,
        option("Number of complete backups to keep. kg deletes older backups of this home.", min=1),
    ] = None,
    as_json: options.OwnJson = False,
) -> None:
    """Back up the database, images and PDFs of this home into a new dated folder. kg must not run.

    Neo4j dumps only a stopped database: run `kg down` first, and `kg up` afterwards. The manifest.json of the
    backup lists included and omitted content. To copy ontologies while kg runs, use `kg export`.

    Example: kg admin backup /mnt/backups
    """
    from kg_cli.transfer.backups import make_backup

    make_backup(folder, keep, as_json=as_json)


def restore(
    backup: Annotated[
        Path, argument("Backup: its folder, or its name in the folder of backups.", metavar="BACKUP")
    ],
    *,
    replace: Annotated[
        bool,
        option("Replace the content of the home. kg deletes the old content after the restore.", "--replace"),
    ] = False,
    yes: options.Yes = False,
    as_json: options.OwnJson = False,
) -> None:
    """Restore a backup into this home. The home must be empty unless you pass --replace. kg must not run.

    The command first checks all files, restores them to a separate folder, and starts Neo4j with them. An
    interruption changes nothing, or the next command completes the restore.

    Example: KG_HOME=~/kg-again kg admin restore /mnt/backups/kg-20260131-040000
    """
    from kg_cli.transfer.backups import restore_backup

    restore_backup(backup, replace=replace, agreed=yes, as_json=as_json)
