"""What is there, and deleting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.wording.plural import pluralize

if TYPE_CHECKING:
    from rich.text import Text

    from kg_api.models.library.documents import Deleted, DocumentPage, DocumentSummary

AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]
Sure = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(ontologies)
    app.command()(documents)
    delete = typer.Typer(help="Delete a document or an ontology.", no_args_is_help=True)
    delete.command("document")(delete_document)
    delete.command("ontology")(delete_ontology)
    app.add_typer(delete, name="delete")


def ontologies(*, as_json: AsJson = False) -> None:
    """List the ontologies and how much of each is embedded.

    Example: kg ontologies
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table

    with open_client() as client:
        found = client.ontologies()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    rows = [
        [
            each.ontology,
            str(each.documents),
            str(each.sources),
            _share(each.searchable if each.building else each.embedded, each.sources)
            + ("\nbeing built anew" if each.building else ""),
            each.space,
        ]
        for each in found.ontologies
    ]
    print_table(["ontology", "documents", "sources", "embedded", "space"], rows)


def documents(
    *,
    ontology: Annotated[str | None, typer.Option("--ontology", "-o", help="Only this ontology.")] = None,
    offset: Annotated[int, typer.Option(min=0, help="Number of items to skip.")] = 0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many to list.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List documents by ontology and name.

    Example: kg documents --ontology notes --limit 20
    """
    from rich.markup import escape

    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table, say

    with open_client() as client:
        page = client.documents(ontology, offset=offset, limit=limit)
    if as_json:
        print_json(page.model_dump(mode="json"))
        return
    if page.documents:
        print_table(["document", "sources"], map(_row, page.documents))
    else:
        say(escape(_none(page)))
    shown = len(page.documents)
    if page.total > offset + shown:
        say(f"{shown} of {page.total} shown; go on with --offset {offset + shown}")


def delete_document(
    document: Annotated[
        str, typer.Argument(help="Name, ONTOLOGY/NAME or id, as `kg documents` lists them; 8 digits do.")
    ],
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Which one, when several have the name.")
    ] = None,
    yes: Sure = False,
    as_json: AsJson = False,
) -> None:
    """Delete a document with its sources.

    A name that is not there is an error; a whole id that has gone is only told, so that scripts can repeat
    it.

    Example: kg delete document install.md --ontology notes
    """
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        identity = document
        if not yes:
            found = client.document(document, ontology=ontology)
            identity = found.document_id
            typer.confirm(
                f"Delete {found.document} of {found.ontology} ({pluralize(found.sources, 'source')})?",
                abort=True,
            )
        _print_deleted(client.delete_document(identity, ontology=ontology), as_json=as_json)


def delete_ontology(
    ontology: Annotated[str, typer.Argument(help="Name of the ontology.")],
    *,
    yes: Sure = False,
    as_json: AsJson = False,
) -> None:
    """Delete an ontology with all its documents. One that does not exist is reported.

    Example: kg delete ontology notes
    """
    from kg_api.models.library.documents import Deleted
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        if not yes:
            page = client.documents(ontology, limit=1)
            if page.notes:
                notes = [f"nothing was deleted: {note}" for note in page.notes]
                _print_deleted(Deleted(documents=0, sources=0, notes=notes), as_json=as_json)
                return
            about = pluralize(page.total, "document")
            typer.confirm(f"Delete the ontology {ontology} with its {about}?", abort=True)
        _print_deleted(client.delete_ontology(ontology), as_json=as_json, what=f"the ontology {ontology}, ")


def _print_deleted(deleted: Deleted, *, as_json: bool, what: str = "") -> None:
    from rich.markup import escape

    from kg_cli.terminal.console import print_json, say

    if as_json:
        print_json(deleted.model_dump(mode="json"))
    for note in deleted.notes:
        say(escape(note))
    if not deleted.notes and not as_json:
        counts = f"{pluralize(deleted.documents, 'document')}, {pluralize(deleted.sources, 'source')}"
        say(escape(f"deleted: {what}{counts}"))


def _none(page: DocumentPage) -> str:
    """Why no document is listed."""
    if page.total:
        return f"There are only {pluralize(page.total, 'document')}: give a smaller --offset."
    return f"{'; '.join(page.notes) or 'there are no documents here'} (kg ontologies lists what there is)"


def _row(document: DocumentSummary) -> tuple[Text, str]:
    """The id stands on a line of its own, so that it can be copied from a terminal of 80 columns."""
    from rich.text import Text

    title = f"\n{document.title}" if document.title != document.document else ""
    name = (f"{document.ontology} / {document.document}", "bold")
    return Text.assemble(name, title, (f"\n{document.document_id}\n", "dim")), str(document.sources)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part // whole} %)" if whole else "0"
