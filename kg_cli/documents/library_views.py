"""What waits for approval, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from kg_api.schemas.documents import (
    Deleted,
    DocumentChanged,
    DocumentOutcome,
    DocumentPage,
    DocumentSummary,
    OntologyList,
    WaitingDocument,
    WaitingDocuments,
)
from kg_api.schemas.filters import DeletedMatching, Facets
from kg_api.schemas.images import PageImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.search import SourcePlace
from kg_api.wording import pluralize
from kg_cli.documents.ingestion import describe_duplicates
from kg_cli.search.views import write_file
from kg_cli.terminal import console

BEGINNING = 100
"""Characters of a text that are shown."""


def print_waiting(page: WaitingDocuments) -> None:
    """Print a page of what waits, and how to see the next."""
    if not page.documents:
        console.say("Nothing waits for approval here.")
        return
    console.print_table(["document", "sources"], map(_row_views, page.documents))
    console.say_rest(page, len(page.documents), "document")
    console.say("kg documents approve NAME --ontology ONTOLOGY, or --all; kg documents reject likewise")


def _row_views(waiting: WaitingDocument) -> tuple[Text, str]:
    change = " (changed)" if waiting.replaces else ""
    beginning = " ".join(waiting.beginning.split())[:BEGINNING]
    name = (f"{waiting.ontology} / {waiting.document}", "bold")
    return Text.assemble(name, change, (f"\n{beginning}", "dim")), str(waiting.sources)


def print_approved(
    outcomes: Sequence[DocumentOutcome], unknown: Sequence[str], *, ontology: str, as_json: bool
) -> None:
    """Say what became of documents that were approved."""
    if as_json:
        told = [each.model_dump(mode="json") for each in outcomes]
        console.print_json({"outcomes": told, "unknown": list(unknown)})
        return
    stored = [each.ingested for each in outcomes if each.ingested]
    problems = [each.problem for each in outcomes if each.problem]
    console.line(f"{ontology}: {pluralize(len(stored), 'document')} approved")
    found = [(each.document, each.duplicate_of) for each in stored if each.duplicate_of]
    for line in describe_duplicates(found):
        console.line(f"  {line}")
    for each in problems:
        console.line(f"  failed: {each.detail}", "red")
    _print_unknown(unknown)


def print_rejected(rejected: int, unknown: Sequence[str], *, ontology: str, as_json: bool) -> None:
    """Say how many documents wait no more."""
    if as_json:
        console.print_json({"rejected": rejected, "unknown": list(unknown)})
        return
    console.line(f"{ontology}: {pluralize(rejected, 'document')} rejected")
    _print_unknown(unknown)


def say_waiting(waiting: Mapping[str, int]) -> None:
    """Say what waits, beside what is there."""
    for ontology, count in waiting.items():
        hint = f"kg documents waiting --ontology {ontology!r}"
        waits = f"{pluralize(count, 'document')} of {ontology} wait{'s' if count == 1 else ''} for approval"
        console.say(escape(f"{waits}: {hint}"))


def _print_unknown(unknown: Sequence[str]) -> None:
    for each in unknown:
        console.line(f"  nothing waits under the name {each}", "red")


# Ontologies and documents as a person reads them.


def print_ontologies(found: OntologyList) -> None:
    """Print ontologies with how much of each is embedded."""
    pictures = any(each.images for each in found.ontologies)
    rows = [
        [
            each.ontology,
            str(each.documents),
            str(each.sources),
            *([str(each.images) if each.images else ""] if pictures else []),
            _share(each.searchable if each.building else each.embedded, each.sources)
            + ("\nbeing built anew" if each.building else ""),
            each.space,
        ]
        for each in found.ontologies
    ]
    columns = ["ontology", "documents", "sources", *(["pictures"] if pictures else []), "embedded", "space"]
    console.print_table(columns, rows)
    say_waiting(found.waiting)


def print_documents(page: DocumentPage) -> None:
    """Print a page of documents, and how to see the next."""
    if page.documents:
        console.print_table(["document", "sources"], map(_row, page.documents))
        console.say_rest(page, len(page.documents), "document")
    else:
        console.say(escape(_none(page)))


def print_changed(changed: DocumentChanged) -> None:
    """Say what a document is called now, and what is said of it."""
    console.say(escape(f"{changed.document} of {changed.ontology}: {changed.title}"))
    console.print_table(["key", "value"], [[key, _value(each)] for key, each in changed.metadata.items()])
    console.note(*changed.notes)
    if changed.job_id:
        console.say(f"its passages are embedded anew by job {changed.job_id}")


def _value(value: MetadataValue) -> str:
    """As `kg documents set` takes it: true and false as JSON has them."""
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def print_deleted(deleted: Deleted, *, as_json: bool, what: str = "") -> None:
    """Say what was deleted; notes go to standard error for programs too."""
    if as_json:
        console.print_json(deleted.model_dump(mode="json"))
    for note in deleted.notes:
        console.say(escape(note))
    if not deleted.notes and not as_json:
        counts = f"{pluralize(deleted.documents, 'document')}, {pluralize(deleted.sources, 'source')}"
        console.say(escape(f"deleted: {what}{counts}"))


def print_to_delete(found: DeletedMatching) -> None:
    """Show what would go."""
    for each in found.first:
        console.say(escape(f"  {each.ontology} / {each.document}"))
    if more := found.documents - len(found.first):
        console.say(f"  and {pluralize(more, 'more document')}")
    counts = f"{pluralize(found.documents, 'document')}, {pluralize(found.sources, 'source')}"
    console.say(f"would be deleted: {counts}")


def print_deleted_matching(deleted: DeletedMatching, *, as_json: bool) -> None:
    if as_json:
        console.print_json(deleted.model_dump(mode="json"))
        return
    for note in deleted.notes:
        console.say(escape(note))
    if deleted.documents:
        counts = f"{pluralize(deleted.documents, 'document')}, {pluralize(deleted.sources, 'source')}"
        console.say(f"deleted: {counts}")


def print_facets(found: Facets) -> None:
    """Print a table for each field, and what is left out of it."""
    for each in found.facets:
        name = f"{each.field}:{each.by}" if each.by else each.field
        rows = [[str(value.value), str(value.documents)] for value in each.values]
        console.print_table([name, "documents"], rows)
        if each.left_out:
            console.say(f"{pluralize(each.left_out, 'further value')} left out; --limit shows more")
        if each.missing:
            console.say(f"{each.missing} of {pluralize(found.documents, 'document')} have none")
    for note in found.notes:
        console.say(escape(note))


def _none(page: DocumentPage) -> str:
    """Why no document is listed."""
    if page.total:
        return f"There are only {pluralize(page.total, 'document')}: give a smaller --offset."
    return f"{'; '.join(page.notes) or 'there are no documents here'} (kg ontologies lists what there is)"


def _row(document: DocumentSummary) -> tuple[Text, str]:
    """The id stands on a line of its own, so that it can be copied from a terminal of 80 columns."""
    title = f"\n{document.title}" if document.title != document.document else ""
    name = (f"{document.ontology} / {document.document}", "bold")
    return Text.assemble(name, title, (f"\n{document.document_id}\n", "dim")), str(document.sources)


def print_page(
    image: PageImage, to: Path, *, asked: bool, force: bool, source: SourcePlace | None = None
) -> None:
    """Write a page where it is wanted, and say how many words were boxed where some were to be.

    Args:
        image: the page.
        to: where.
        asked: whether words were to be boxed.
        force: whether a file that is there is overwritten.
        source: the hit whose words were to be, where none was found.
    """
    write_file(image.content, to, force=force)
    nothing = f"none of these words is on it{_stands(source)}, nothing"
    boxed = pluralize(image.boxed, "word") if image.boxed else nothing
    console.say(f"page {image.page} of {image.pages}" + (f"; {boxed} boxed" if asked else ""))


def _stands(source: SourcePlace | None) -> str:
    """On which page a hit is."""
    if source is None or source.page is None:
        return ""
    if source.last_page in {None, source.page}:
        return f" (the hit is on page {source.page})"
    return f" (the hit is on pages {source.page} to {source.last_page})"


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part // whole} %)" if whole else "0"
