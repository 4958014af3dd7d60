"""Moving a kg, or some of its ontologies, into another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import SOME_FAILED, JsonOption

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
    folder: TargetArgument, *, ontologies: OntologiesOption = None, as_json: JsonOption = False
) -> None:
    """Write all that is stored, or some ontologies, into a folder that any kg can import.

    Documents, sources with their vectors, concepts, pictures and how ontologies are configured. What is not
    in it is said at the end. After an interruption the same command goes on with the ontology it stopped at.

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
    as_json: JsonOption = False,
) -> None:
    """Store what `kg export` wrote into a folder, beside what is there.

    All of the bundle is looked at before anything is changed, whatever of it is named. A document that is
    there by the same name with another text stays. Sources are embedded anew only where the model or the
    chunking is another one here. After an interruption the same command passes over what is stored. The exit
    code is 3 when a document could not be stored.

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
        raise typer.Exit(SOME_FAILED)
