"""`kg export` and `kg import`: transfer of ontologies to another kg."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_cli.terminal import options
from kg_cli.terminal.connect import open_client

OntologiesOption = Annotated[
    list[str] | None, typer.Option("--ontology", "-o", help="Only this one; several times for several.")
]
TargetArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the bundle.")]
BundleArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the bundle is.")]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Store a document though another text of its name is there.")
]
CheckOption = Annotated[bool, typer.Option("--check", help="Only look whether the bundle is whole.")]


def export(
    folder: TargetArgument, *, ontologies: OntologiesOption = None, as_json: options.Json = False
) -> None:
    """Export all ontologies, or some, to a folder that any kg can import.

    The bundle contains documents, sources with vectors, concepts, images and the configuration of ontologies.
    At the end, the command lists the omitted content. To resume an interrupted export, repeat the command.

    Example: kg export moving --ontology notes
    """
    from kg_cli.bundle.transfer import export_bundle, print_exported
    from kg_cli.terminal import console

    with open_client() as client, console.progress("documents") as bar:
        task = bar.add_task("exporting", total=None)

        def begin(total: int) -> None:
            bar.update(task, total=total)

        manifest = export_bundle(client, folder, ontologies, begin, lambda count: bar.advance(task, count))
    print_exported(manifest, folder, as_json=as_json)


def import_bundle(
    folder: BundleArgument,
    *,
    ontologies: OntologiesOption = None,
    replace: ReplaceOption = False,
    check: CheckOption = False,
    as_json: options.Json = False,
) -> None:
    """Import a bundle of `kg export` into this kg. Existing content stays.

    kg first checks the whole bundle, even if you name ontologies. An existing document with the same name and
    another text stays. kg re-embeds sources only if the model or the chunking differs here. To resume an
    interrupted import, repeat the command. The exit code is 3 if a document could not be stored.

    Example: kg import moving
    """
    from kg_api.transfer.bundles import check_bundle
    from kg_api.web.shared.limits import check_bounds
    from kg_cli.bundle.transfer import choose, import_ontology, print_exported, print_imported
    from kg_cli.terminal import console

    with console.progress("bytes") as bar:
        task = bar.add_task("checking", total=None)
        manifest = check_bundle(folder, check_bounds, lambda size: bar.advance(task, size))
    files = choose(manifest, ontologies)
    if check:
        chosen = manifest.model_copy(update={"files": files})
        print_exported(chosen, folder, as_json=as_json, is_checked=True)
        return
    with open_client() as client, console.progress("documents") as bar:
        task = bar.add_task("importing", total=sum(each.lines.document for each in files))

        def advance(count: int) -> None:
            bar.advance(task, count)

        imports = [
            import_ontology(client, folder, manifest, each, replace=replace, advance=advance)
            for each in files
        ]
    print_imported(imports, manifest.left_out, as_json=as_json)
    if any(each.done.problems for each in imports):
        raise typer.Exit(options.SOME_FAILED)
