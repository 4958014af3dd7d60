"""`kg ingest`, `kg conversation`, `kg ontologies`, `kg documents`, `kg facets` and `kg delete`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.errors import Forbidden, NotFound
from kg_api.schemas.formats import OcrMode
from kg_api.schemas.vocabulary import DEFAULT_PAGE_WIDTH, MAX_FACET_VALUES, MAX_PAGE_WIDTH, MIN_PAGE_WIDTH
from kg_api.wording import pluralize, shorten
from kg_cli.search.images import write_file
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, note_all, print_rows, short_id
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.console import Part, Shown
from kg_cli.terminal.options import argument, declare_limit, option, repeated

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas import documents as schemas
    from kg_api.schemas.filters import DeletedMatching, Facets
    from kg_api.schemas.images import PageImage
    from kg_api.schemas.metadata import MetadataValue
    from kg_api.schemas.search import SourcePlace

ontologies = make_group("Ontologies: list, with the embedded share of each.")
documents = make_group("Documents: list, change, show pages, approve and reject.")
delete = make_group("Delete a document, the documents of a filter, or an ontology.")

LAST_NAME = "\U0010ffff"  # sorts after the name of every document
BEGINNING = 100  # characters of a pending document in a list
MAX_PENDING_READ = 1000  # names to compare with an unknown name

WaitOption = Annotated[bool, option("Wait until everything is embedded.", "--wait")]
ListsOption = Annotated[
    list[str] | None,
    repeated("Metadata with several values, separated by commas.", "--list", metavar="KEY=A,B"),
]
DocumentArgument = Annotated[
    str, argument("Document: its name, ONTOLOGY/NAME or id (or its first 8 digits).")
]


def ingest(
    paths: Annotated[
        list[Path], argument("Files and folders to ingest.", parser=options.require_path, metavar="paths")
    ],
    *,
    ontology: options.IntoOntology,
    wait: WaitOption = False,
    preview: Annotated[
        bool, option("Show the new documents and the cost, then wait for you to confirm.", "--preview")
    ] = False,
    yes: options.Yes = False,
    prefix: options.Prefix = "",
    metadata: Annotated[
        list[str] | None, repeated("Metadata to store with each document.", "--metadata", metavar="KEY=VALUE")
    ] = None,
    several: ListsOption = None,
    include: Annotated[
        list[str] | None,
        repeated("Only ingest files that match this .gitignore pattern.", "--include", metavar="PATTERN"),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        repeated(
            "Skip files and folders that match this .gitignore pattern.", "--exclude", metavar="PATTERN"
        ),
    ] = None,
    gitignore: Annotated[bool, option("Skip files that git ignores.", "--gitignore/--no-gitignore")] = True,
    review: options.Review = False,
    ocr: Annotated[OcrMode, option("OCR of PDF pages. auto: only pages without readable text.")] = "auto",
    as_json: options.OwnJson = False,
) -> None:
    """Ingest text, PDF, web pages, office files and e-mail. Unchanged files cost nothing, changes little.

    The name of a document is its path below the given folder. From a folder, kg ingests files with supported
    extensions. kg counts other files, empty files, and those that .gitignore, --exclude '*.log' or --include
    'docs/' skip. --json lists each. A text file that you name directly is ingested as plain text with any
    extension. The exit code is 3 if a file could not be read (kg stores the others), and if no file was
    ingested.

    kg stores and reports a file with the same text as another document. kg also reports documents whose file
    no longer exists. Only synced folders (`kg folders add`) delete them.

    If letters of a PDF come out wrong, --ocr always reads all of its pages as images.

    With --review, files stay pending until `kg documents approve`. kg neither embeds nor finds pending files.

    kg stores --metadata and --list (--metadata author=Ada --list tags=field,zoo) with each document, in
    addition to its own metadata. Searches can filter by them (--where).

    With --preview, kg stores, embeds and pays for nothing until you confirm. Without a terminal, pass --yes,
    or the exit code is 3. With --json and without --yes, the command only shows the preview.

    Example: kg ingest ~/notes --ontology notes --wait
    """
    from kg_api.text.documents import SUFFIXES
    from kg_api.text.files import FolderRules, select
    from kg_cli.documents.ingestion import Destination, describe_missing, read_metadata, run, show_preview

    into = Destination(ontology, read_metadata(metadata or [], several or []), review=review, ocr=ocr)
    rules = FolderRules(include or (), exclude or (), gitignore=gitignore)
    selection = select(paths, SUFFIXES, prefix, rules=rules)
    with open_client() as client:
        if preview and selection.files:
            show_preview(client, selection, into, yes=yes, as_json=as_json)
        complete = run(client, selection, into, wait=wait, as_json=as_json)
        if not as_json:
            folders = filter(Path.is_dir, paths)
            console.note(*(note for each in folders for note in describe_missing(client, each, ontology)))
    if not complete:
        raise typer.Exit(options.SOME_FAILED)


def print_ingested(told: schemas.Ingested) -> None:
    sources = told.sources
    changes = f"{pluralize(sources.added, 'source')} added, {sources.kept} kept, {sources.removed} removed"
    console.line(f"{told.ontology} / {told.document}: {told.change}, {changes}")
    for note in told.notes:
        console.line(f"  note: {note}")


@command(show=print_ingested)
def conversation(
    kg: KgClient,
    file: Annotated[Path, argument("JSON or JSON Lines file. Use - for standard input.", allow_dash=True)],
    *,
    ontology: options.IntoOntology,
    title: Annotated[
        str, option("Title and name. kg replaces a conversation with the same name.", "--title", "-t")
    ],
    wait: WaitOption = False,
) -> schemas.Ingested:
    """Ingest a conversation as one document, with each message as a section.

    The file is a JSON list of messages, or has one message per line. A message has author, text and an
    optional timestamp (ISO 8601 with time zone). If you ingest a longer conversation with the same title, kg
    embeds only the new messages.

    Example: kg conversation standup.jsonl --ontology talks --title "Standup of 1 March" --wait
    """
    from kg_cli.jobs.report import wait_until_embedded

    ingested = kg.ingest_conversation(console.read_messages(file), ontology=ontology, title=title)
    if wait:
        wait_until_embedded(kg, ontology, [ingested.job_id] if ingested.job_id else [])
    return ingested


# Lists and changes


def _format_embedded(each: schemas.OntologySummary) -> str:
    embedded = each.searchable if each.building else each.embedded
    share = f"{embedded} ({100 * embedded // each.sources} %)" if each.sources else "0"
    return share + ("\nrebuilding" if each.building else "")


def print_ontologies(found: schemas.OntologyList) -> None:
    images = ["images"] if any(each.images for each in found.ontologies) else []
    counts = {name: name for name in ("ontology", "documents", "sources", *images)}
    print_rows(found.ontologies, {**counts, "embedded": _format_embedded, "space": "space"})
    if not found.ontologies:
        console.say("No ontologies. Create one: kg ingest FOLDER --ontology NAME")
    for ontology, count in found.waiting.items():
        pending = f"{pluralize(count, 'document')} of {ontology} wait{'s' if count == 1 else ''} for approval"
        console.say(f"{pending}: kg documents waiting --ontology {ontology!r}")


@command(ontologies, "list", asks="ontologies", show=print_ontologies)
def list_ontologies() -> None:
    """List the ontologies with the embedded share of each.

    Example: kg ontologies list
    """


print_documents = Table(
    "documents",
    {
        "document": lambda each: [(f"{each.ontology} / {each.document}", "bold")],
        "title": lambda each: each.title if each.title != each.document else "",
        "sources": "sources",
        "id": short_id("document_id"),
    },
    noun=("document",),
    empty="No documents. `kg ontologies` lists the ontologies.",
)


@command(documents, "list", asks="documents", show=print_documents)
def list_documents(
    *,
    ontology: options.OnlyOntology = None,
    where: options.Where = None,
    offset: options.Offset = 0,
    limit: options.Page = 100,
) -> None:
    """List documents by ontology and name.

    Example: kg documents list --ontology notes --limit 20
        kg documents list --where 'date>=2025-01-01' --where tags=oncall
    """


def print_facets(found: Facets) -> None:
    """Print a table for each field, with the number of omitted values."""
    for each in found.facets:
        name = f"{each.field}:{each.by}" if each.by else each.field
        console.print_table([name, "documents"], [(str(of.value), str(of.documents)) for of in each.values])
        if each.left_out:
            console.say(f"{pluralize(each.left_out, 'further value')} omitted. To show more, raise --limit")
        if each.missing:
            console.say(f"{each.missing} of {pluralize(found.documents, 'document')} have none")
    note_all(found)


@command(asks="facets", show=print_facets)
def facets(
    fields: Annotated[
        list[str], argument("Fields, such as author, tags, format or date:year.", metavar="[FIELD...]")
    ] = ["ontology", "format"],  # noqa: B006 - typer copies it
    *,
    ontology: options.OnlyOntologies = None,
    where: options.Where = None,
    limit: Annotated[int, declare_limit("values of each field", MAX_FACET_VALUES)] = 20,
) -> None:
    """Count documents by the values of fields: metadata, format, ontology and dates.

    Dates are counted by :year, :month or :day. At most 10 fields per call.

    Example: kg facets author date:year --where tags=oncall
    """


def print_changed(changed: schemas.DocumentChanged) -> None:
    console.say(f"{changed.document} of {changed.ontology}: {changed.title}")
    rows = [(key, _format_value(each)) for key, each in changed.metadata.items()]
    console.print_table(["key", "value"], rows)
    note_all(changed)
    if changed.job_id:
        console.say(f"its passages are re-embedded by job {changed.job_id}")


def _format_value(value: MetadataValue) -> str:
    """Return a value in the syntax of `kg documents set`."""
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@command(documents, "set", show=print_changed)
def set_document(
    kg: KgClient,
    document: DocumentArgument,
    values: Annotated[
        list[str] | None, argument("Metadata to set. title= and uri= set title and URL.", metavar="KEY=VALUE")
    ] = None,
    *,
    several: ListsOption = None,
    remove: Annotated[list[str] | None, repeated("Metadata key to delete.", "--remove")] = None,
    ontology: options.WhichOntology = None,
) -> schemas.DocumentChanged:
    """Change title, URL or metadata of a document. The text stays.

    Changes survive a new ingestion of the document. kg reads true, false and numbers as such, and quoted
    values as text. kg re-embeds nothing, unless the contexts of the ontology's chunks use a changed value.

    Example: kg documents set install.md author=Ada date=2025-01-31 --list tags=oncall,ops --remove draft
    """
    from kg_cli.documents.ingestion import read_changes

    change = read_changes(values or [], several or [], remove or [])
    return kg.change_document(document, ontology=ontology, **change)


@documents.command("page")
def save_page(
    document: Annotated[str, argument("PDF: its name, ONTOLOGY/NAME or id (or its first 8 digits).")],
    page: Annotated[int, argument("Number of the page, starting from 1.", min=1)],
    to: Annotated[Path, option("PNG file to write, or - for standard output.", "--out", metavar="FILE")],
    *,
    source: Annotated[
        str | None, option("Id of a hit. kg draws a box around its words.", "--source", metavar="ID")
    ] = None,
    query: Annotated[str | None, option("Words to draw a box around.", "--query")] = None,
    width: Annotated[
        int, option("Width of the image in pixels.", min=MIN_PAGE_WIDTH, max=MAX_PAGE_WIDTH)
    ] = DEFAULT_PAGE_WIDTH,
    ontology: options.WhichOntology = None,
    force: Annotated[bool, option("Overwrite an existing file.", "--force")] = False,
) -> None:
    """Save a page of a PDF as an image, with the words of a hit boxed.

    Example: kg documents page manual.pdf 7 --out page.png --source 1f0c5a77
    """
    with open_client() as client:
        image = client.page_image(
            document, page, source_id=source, query=query, width=width, ontology=ontology
        )
        hit = None if source is None or image.boxed else client.source(source)
    print_page(image, to, asked=source is not None or query is not None, force=force, source=hit)


def print_page(
    image: PageImage, to: Path, *, asked: bool, force: bool, source: SourcePlace | None = None
) -> None:
    """Write a page to a file and print the number of boxed words."""
    write_file(image.content, to, force=force)
    place = ""
    if source and source.page is not None:
        several = source.last_page not in {None, source.page}
        pages = f"pages {source.page} to {source.last_page}" if several else f"page {source.page}"
        place = f" (the hit is on {pages})"
    nothing = f"none of these words is on it{place}, nothing"
    boxed = pluralize(image.boxed, "word") if image.boxed else nothing
    console.say(f"page {image.page} of {image.pages}" + (f"; {boxed} boxed" if asked else ""))


# Deletion


def _format_counts(found: schemas.Deleted | DeletedMatching) -> str:
    return f"{pluralize(found.documents, 'document')}, {pluralize(found.sources, 'source')}"


def print_deleted(deleted: schemas.Deleted | DeletedMatching, what: str = "") -> None:
    console.note(*deleted.notes)
    if deleted.documents or not deleted.notes:
        console.say(f"deleted: {what}{_format_counts(deleted)}")


@command(delete, "document", show=print_deleted)
def delete_document(
    kg: KgClient,
    document: DocumentArgument,
    *,
    ontology: options.WhichOntology = None,
    yes: options.Yes = False,
) -> schemas.Deleted:
    """Delete a document with its sources.

    An unknown name is an error. Deletion by a full id is idempotent, so that scripts can repeat it.

    Example: kg delete document install.md --ontology notes
    """
    identity = document
    if not yes:
        found = kg.document(document, ontology=ontology)
        identity = found.document_id
        options.confirm(
            f"Delete {found.document} of {found.ontology} ({pluralize(found.sources, 'source')})?"
        )
    return kg.delete_document(identity, ontology=ontology)


@command(delete, "documents", show=print_deleted)
def delete_documents(
    kg: KgClient,
    *,
    where: Annotated[
        list[str], option("Filter of documents. If repeated, all filters must match.", "--where")
    ],
    ontology: options.OnlyOntologies = None,
    yes: options.Yes = False,
) -> DeletedMatching:
    """Show the documents that match a filter, and delete them after confirmation.

    kg deletes only if the same documents still match. --yes skips the confirmation.

    Example: kg delete documents --ontology notes --where 'date<2020' --where tags=old
    """
    found = kg.delete_documents(where, ontology=ontology)
    if not found.documents:
        return found
    if not yes:
        for each in found.first:
            console.say(f"  {each.ontology} / {each.document}")
        if more := found.documents - len(found.first):
            console.say(f"  and {pluralize(more, 'more document')}")
        console.note(*found.notes)
        console.say(f"would be deleted: {_format_counts(found)}")
        options.confirm(f"Delete {pluralize(found.documents, 'document')}?")
    return kg.delete_documents(where, ontology=ontology, dry_run=False, expected_digest=found.digest)


def _print_deleted_ontology(deleted: schemas.Deleted, ontology: str) -> None:
    print_deleted(deleted, f"the ontology {ontology}, ")


@command(delete, "ontology", show=_print_deleted_ontology)
def delete_ontology(
    kg: KgClient,
    ontology: Annotated[str, argument("Name of the ontology to delete.")],
    *,
    yes: options.Yes = False,
) -> schemas.Deleted:
    """Delete an ontology with all its documents. A missing one is reported.

    Example: kg delete ontology notes
    """
    from kg_api.schemas.documents import Deleted

    if not yes:
        try:
            page = kg.documents(ontology, limit=1)
        except NotFound as missing:  # deletion is idempotent
            return Deleted(documents=0, sources=0, notes=[f"nothing was deleted: {missing}"])
        try:  # check the scope of the key with an empty page after the last document
            kg.export_documents(ontology, after=LAST_NAME)
        except Forbidden:
            raise Forbidden(
                "this API key lacks the scope 'admin', which the deletion of an ontology needs. Ask an "
                "administrator for another key. Nothing was deleted."
            ) from None
        options.confirm(f"Delete the ontology {ontology} with its {pluralize(page.total, 'document')}?")
    return kg.delete_ontology(ontology)


# Pending documents

NamesArgument = Annotated[list[str] | None, argument("Names, as in `kg documents waiting`.", metavar="NAME")]
ReviewedOption = Annotated[str, option("Ontology of the documents.", "--ontology", "-o")]
AllOption = Annotated[bool, option("Use all pending documents in the ontology.", "--all")]


def _format_waiting(each: schemas.WaitingDocument) -> Shown:
    change = " (changed)" if each.replaces else ""
    beginning = shorten(" ".join(each.beginning.split()), BEGINNING)
    name: Part = (f"{each.ontology} / {each.document}", "bold")
    return [name, change, (f"\n{beginning}", "dim")]


@command(
    documents,
    "waiting",
    asks="waiting",
    show=Table(
        "documents",
        {"document": _format_waiting, "sources": "sources"},
        noun=("document",),
        empty="No pending documents.",
        hint="Decide with `kg documents approve NAME --ontology ONTOLOGY` or --all. Same for `reject`",
    ),
)
def list_waiting(
    *, ontology: options.OnlyOntology = None, offset: options.Offset = 0, limit: options.Page = 100
) -> None:
    """List documents pending approval, with the beginning of each.

    Example: kg documents waiting --ontology notes
    """


@documents.command()
def approve(
    names: NamesArgument = None,
    *,
    ontology: ReviewedOption,
    everything: AllOption = False,
    as_json: options.Json = False,
) -> None:
    """Approve pending documents. kg stores, finds and embeds them like newly ingested ones.

    --all does not ask for confirmation and is the same as ingestion without --review. The exit code is 3 if a
    document could not be stored. Such a document stays pending.

    Example: kg documents approve plan.md --ontology notes
    """
    _check(names, everything=everything)
    with open_client() as client:
        done = client.approve(ontology=ontology, documents=names, all=everything)
        outcomes = list(done.outcomes)
        while everything and done.next:
            done = client.approve(ontology=ontology, all=True, after=done.next)
            outcomes += done.outcomes
        notes = _describe_unknown(client, ontology, done.unknown)
    if as_json:
        fields = [each.model_dump(mode="json") for each in outcomes]
        console.print_json({"outcomes": fields, "unknown": done.unknown})
    else:
        _print_approved(outcomes, ontology)
        _print_lines(notes)
    if done.unknown or any(each.problem for each in outcomes):
        raise typer.Exit(options.SOME_FAILED)


def _print_approved(outcomes: Sequence[schemas.DocumentOutcome], ontology: str) -> None:
    from kg_cli.documents.ingestion import describe_duplicates

    stored = [each.ingested for each in outcomes if each.ingested]
    console.line(f"{ontology}: {pluralize(len(stored), 'document')} approved")
    duplicates = [(each.document, each.duplicate_of) for each in stored if each.duplicate_of]
    for line in describe_duplicates(duplicates, ontology):
        console.line(f"  {line}")
    for each in outcomes:
        if each.problem:
            console.line(f"  failed: {each.problem.detail}", "red")


@documents.command()
def reject(
    names: NamesArgument = None,
    *,
    ontology: ReviewedOption,
    everything: AllOption = False,
    yes: options.Yes = False,
    as_json: options.Json = False,
) -> None:
    """Reject and discard pending documents. Stored documents of the same name stay.

    A file of a synced folder is pending again after a change.

    Example: kg documents reject draft.md --ontology notes
    """
    _check(names, everything=everything)
    with open_client() as client:
        if everything and not yes and (count := client.waiting(ontology, limit=1).total):
            options.confirm(f"Reject {pluralize(count, 'document')} of {ontology}?")
        done = client.reject(ontology=ontology, documents=names, all=everything)
        rejected = done.rejected
        while everything and done.waiting and done.rejected:
            done = client.reject(ontology=ontology, all=True)
            rejected += done.rejected
        notes = _describe_unknown(client, ontology, done.unknown)
    if as_json:
        console.print_json({"rejected": rejected, "unknown": done.unknown})
    else:
        console.line(f"{ontology}: {pluralize(rejected, 'document')} rejected")
        _print_lines(notes)
    if done.unknown:
        raise typer.Exit(options.SOME_FAILED)


def _check(names: Sequence[str] | None, *, everything: bool) -> None:
    if bool(names) == everything:
        raise typer.BadParameter("name documents, or pass --all: one of the two")


def _describe_unknown(client: KgClient, ontology: str, unknown: Sequence[str]) -> list[str]:
    """Describe names without a pending document, and suggest similar names."""
    from kg_api.suggestions import format_suggestion

    pending = client.waiting(ontology, limit=MAX_PENDING_READ).documents if unknown else []
    names = [each.document for each in pending]
    return [f"no pending document is named {each!r}{format_suggestion(each, names)}" for each in unknown]


def _print_lines(notes: Sequence[str]) -> None:
    for each in notes:
        console.line(f"  {each}", "red")
