"""Pages of documents, folders, ontologies, reading, and review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import Form, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from kg_api.access.keys import limit_to_visible
from kg_api.container import Container
from kg_api.errors import InvalidInput, KgError
from kg_api.graph import library
from kg_api.graph.fulltext import find_unfinished, parse_question_words
from kg_api.graph.names import list_ontology_names, list_searched_ontologies, report_unknown_ontology
from kg_api.graph.review import count_waiting, list_judgements, list_waiting, read_relevances
from kg_api.graph.search import read_concepts_of_sources
from kg_api.ingest.service import APPROVED_A_REQUEST
from kg_api.schemas.documents import MAX_REVIEWED, Approval, DocumentChange, DocumentSummary, Review
from kg_api.schemas.evaluation import normalize_question
from kg_api.schemas.filters import DocumentFilter, read_value
from kg_api.schemas.folders import Folder, NewFolder, ScanRequest
from kg_api.schemas.languages import BETWEEN, LANGUAGE_NAMES, LanguageChoice, SynonymList
from kg_api.schemas.metadata import MAX_METADATA_KEYS, MetadataValue
from kg_api.schemas.operations import FINISHED
from kg_api.schemas.search import DocumentReading
from kg_api.schemas.vocabulary import MAX_LIMIT, MAX_PARAGRAPH
from kg_api.search.present import match_words
from kg_api.spaces.plans import find_searchable
from kg_api.web.api import documents
from kg_api.web.api.documents import (
    FolderId,
    approve_documents,
    delete_document,
    delete_ontology,
    get_language,
    get_synonyms,
    ingest_document,
    list_folders,
    list_ontologies,
    put_language,
    put_synonyms,
    reject_documents,
)
from kg_api.web.api.embedding import (
    get_embedding_config,
    get_extraction_config,
    ontology_embedding_status,
    rejected,
)
from kg_api.web.shared.dependencies import CalledDocument, CalledRead, Offset, Ontology, Open
from kg_api.web.shared.limits import validate
from kg_api.web.shared.routes import Routes
from kg_api.web.shared.security import MAX_VALUE, note_outcome
from kg_api.web.ui.links import address, below
from kg_api.web.ui.rendering import PAGE_SIZE as QUESTIONS_PAGE_SIZE
from kg_api.web.ui.rendering import (
    AskedQuestion,
    FormText,
    Named,
    Question,
    Tick,
    Typing,
    address_of_hit,
    as_lines,
    redirect_to_page,
    render,
    wants_part,
)
from kg_api.web.ui.sign_in import choose_page

pages = Routes()

PAGE_SIZE: Final = 50
BY_SCRIPT: Final = "application/json"

Done = Annotated[str, Query(max_length=40)]
"""Action of the form that redirected here."""


@pages.get("/ui/documents", "read", filtered=True)
def documents_page(
    request: Request,
    container: Open,
    q: Annotated[str, Query(max_length=200)] = "",
    where: Annotated[str, Query(max_length=2000)] = "",
    order: library.DocumentOrder = "name",
    *,
    ontology: Named = "",
    offset: Offset = 0,
    done: Done = "",
) -> HTMLResponse:
    named = [[{"field": each, "op": "contains", "value": q.strip()}] for each in ("title", "document")]
    filters = [*([where] if where.strip() else []), *([{"any_of": named}] if q.strip() else [])]
    found = library.list_documents(
        container.graph,
        ontology=ontology or None,
        where=validate(DocumentFilter, {"where": filters}).where,
        order=order,
        offset=offset,
        limit=PAGE_SIZE,
    )
    here = {"q": q, "ontology": ontology, "where": where, "order": "" if order == "name" else order}
    context: dict[str, Any] = {**here, "listed": here, "found": found, "done": done}
    if wants_part(request):
        return render("documents/list.html", context)
    context |= {"ontologies": list_ontology_names(container.graph), "waiting": count_waiting(container.graph)}
    return render("documents/page.html", context)


@pages.post("/ui/documents", "write", "Ingest a document", filtered=True)
async def add_document(request: Request, container: Open) -> Response:
    ingested = await ingest_document(container, request, Response())
    if BY_SCRIPT in request.headers.get("accept", ""):
        return JSONResponse(ingested.model_dump(mode="json"))
    return redirect_to_page(request, ingested, address("/ui/documents", ontology=ingested.ontology))


MAX_CHANGED: Final = 100
"""Maximum number of documents that you can change in a form."""
Chosen = Annotated[list[Named], Query(alias="documents", max_length=MAX_CHANGED)]
TAGS: Final = "tags"
Values = Annotated[list[FormText], Form(max_length=MAX_METADATA_KEYS + 1)]
Ids = Annotated[list[FormText], Form(alias="documents", max_length=MAX_CHANGED)]


@pages.get("/ui/documents/searchable", "read", filtered=True)
def list_searchable(container: Open, ontology: Named, chosen: Chosen) -> JSONResponse:
    """List the documents of an upload that vector search finds."""
    list_searched_ontologies(container.graph, [ontology])  # 403 for an ontology of others
    return JSONResponse(find_searchable(container.graph, ontology, chosen))


@pages.get("/ui/documents/change", "read", filtered=True)
def change_page(
    request: Request,
    container: Open,
    chosen: Chosen = [],  # noqa: B006 - FastAPI copies it
    *,
    back: Annotated[str, Query(max_length=10_000)] = "",
) -> Response:
    if not chosen:
        return RedirectResponse(_show_list(request, back), 303)
    context = {"documents": _find(container, chosen), "back": _show_list(request, back)}
    return render("documents/change.html", context)


@pages.post("/ui/documents/change", "write", "Change a document's title or metadata", filtered=True)
def change_document(
    request: Request,
    container: Open,
    document: FormText,
    title: FormText = "",
    key: Values = [],  # noqa: B006 - FastAPI copies it
    *,
    value: Values = [],  # noqa: B006 - FastAPI copies it
    back: FormText = "",
) -> Response:
    before = library.find_summary(container.graph, document)
    new = {"title": title} if title != before.title else {}  # a given title survives the next ingestion
    fields = {"metadata": read_edited_metadata(before.metadata, key, value), **new}
    changed = documents.change_document(container, before.document_id, validate(DocumentChange, fields))
    if not changed.notes:
        return redirect_to_page(request, changed, _show_list(request, back, "changed"))
    note_outcome(request, changed)
    return render("documents/change.html", {"documents": [changed], "back": _show_list(request, back)})


@pages.post("/ui/documents/tags", "write", "Add or remove tags of documents", filtered=True)
def change_tags(
    request: Request,
    container: Open,
    chosen: Ids,
    change: Annotated[Literal["add", "remove"], Form()],
    tags: FormText = "",
    *,
    back: FormText = "",
) -> Response:
    changed_tags, found = [*filter(None, map(str.strip, tags.split(",")))], _find(container, chosen)
    for each in found:
        had = as_lines(each.metadata.get(TAGS))
        left = [one for one in had if one not in changed_tags]
        new = [*dict.fromkeys([*had, *changed_tags])] if change == "add" else left
        if new != had:
            new_tags = validate(DocumentChange, {"metadata": {TAGS: new or None}})
            documents.change_document(container, each.document_id, new_tags)
    return redirect_to_page(request, _list_names(found), _show_list(request, back, "changed"))


@pages.post("/ui/documents/delete", "write", "Delete documents", filtered=True)
def delete(request: Request, container: Open, chosen: Ids, back: FormText = "") -> Response:
    found = _find(container, chosen)
    deleted = [delete_document(container, each.document_id) for each in found]
    outcome = {**_list_names(found), "sources": sum(each.sources for each in deleted)}
    return redirect_to_page(request, outcome, _show_list(request, back, "deleted"))


def _find(container: Container, chosen: Sequence[str]) -> list[DocumentSummary]:
    return [library.find_summary(container.graph, each) for each in dict.fromkeys(chosen)]


def _list_names(found: Sequence[DocumentSummary]) -> dict[str, Any]:
    """Get the documents to use in the audit log."""
    named = ", ".join(f"{each.ontology}/{each.document}" for each in found)
    return {"documents": len(found), "document": named[:MAX_VALUE]}


def _show_list(request: Request, back: str, done: str = "") -> str:
    to = choose_page(request, back) if back else "/ui/documents"
    return f"{to}{'&' if '?' in to else '?'}done={done}" if done else to


def read_edited_metadata(
    before: Mapping[str, MetadataValue], keys: Sequence[str], values: Sequence[str]
) -> dict[str, MetadataValue]:
    """Read the changed values. An empty value deletes its key. A list has one value per line."""
    changed: dict[str, Any] = {}
    for key, value in zip(map(str.strip, keys), values, strict=False):
        old, lines = before.get(key), _split_lines([value])
        if key and lines != _split_lines(as_lines(old)):
            read = [*map(read_value, lines)]
            edited = read if len(set(map(type, read))) == 1 else lines
            is_list = isinstance(old, list) or key == TAGS or len(lines) > 1
            changed[key] = (edited or None) if is_list else next(iter(edited), None)
    return changed


def _split_lines(texts: Sequence[str]) -> list[str]:
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


# Synced folders


@pages.get("/ui/folders", "admin")
def folders_page(request: Request, container: Open) -> HTMLResponse:
    listed = documents.list_folders(container).folders
    context: dict[str, Any] = {"folders": listed, "is_scanned": any(map(_is_scanned, listed))}
    if wants_part(request):
        return render("folders/list.html", {**context, "finished": FINISHED})
    context |= {"finished": FINISHED, "ontologies": list_ontology_names(container.graph)}
    context["roots"] = container.settings.sync.allowed
    return render("folders/page.html", context)


@pages.post("/ui/folders", "admin", "Add a folder to sync")
def add(
    request: Request,
    container: Open,
    path: FormText = "",
    ontology: FormText = "",
    *,
    every_seconds: Annotated[int, Form()] = 300,
    prefix: FormText = "",
    review: Tick = False,
) -> Response:
    fields = {"path": path, "ontology": ontology, "prefix": prefix}
    new = validate(NewFolder, {**fields, "every_seconds": every_seconds, "review": review})
    return _to_folder(request, documents.add_folder(container, new))


@pages.get("/ui/folders/{folder_id}", "admin")
def folder_page(request: Request, container: Open, folder_id: FolderId) -> HTMLResponse:
    found = documents.get_folder(container, folder_id)
    context = {"folder": found, "finished": FINISHED, "is_scanned": _is_scanned(found)}
    return render("folders/found.html" if wants_part(request) else "folders/one.html", context)


@pages.post("/ui/folders/{folder_id}/scan", "admin", "Scan a folder now")
def scan(request: Request, container: Open, folder_id: FolderId) -> Response:
    return _to_folder(request, documents.scan_folder(container, folder_id, ScanRequest()))


@pages.get("/ui/folders/{folder_id}/remove", "admin")
def removal_page(container: Open, folder_id: FolderId) -> HTMLResponse:
    return render("folders/remove.html", {"folder": documents.get_folder(container, folder_id)})


@pages.post("/ui/folders/{folder_id}/remove", "admin", "Stop syncing a folder")
def remove(
    request: Request, container: Open, folder_id: FolderId, *, delete_documents: Tick = False
) -> Response:
    return redirect_to_page(
        request,
        documents.remove_folder(container, folder_id, delete_documents=delete_documents),
        "/ui/folders",
    )


def _is_scanned(folder: Folder) -> bool:
    return folder.state is not None and folder.state not in FINISHED


def _to_folder(request: Request, folder: Folder) -> Response:
    return redirect_to_page(request, folder, below("/ui/folders", folder.folder_id))


# Ontologies

REFUSED_SHOWN: Final = 20
MAX_SYNONYMS: Final = 1_000_000


@pages.get("/ui/ontologies", "read", filtered=True)
def ontologies_page(container: Open) -> HTMLResponse:
    return render("ontologies/page.html", {"found": list_ontologies(container)})


@pages.get("/ui/ontologies/{ontology}", "read")
def ontology_page(container: Open, ontology: Ontology, done: Done = "") -> HTMLResponse:
    status = ontology_embedding_status(container, ontology)
    context = {
        "ontology": ontology,
        "done": done,
        "status": status,
        "rejected": rejected(container, ontology).sources[:REFUSED_SHOWN] if status.refused else [],
        "embedding": get_embedding_config(container, ontology),
        "extraction": get_extraction_config(container, ontology),
        "language": get_language(container, ontology),
        "synonyms": get_synonyms(container, ontology).groups,
        "languages": LANGUAGE_NAMES,
    }
    return render("ontologies/one.html", context)


@pages.get("/ui/ontologies/{ontology}/delete", "admin")
def deletion_page_ontologies(container: Open, ontology: Ontology) -> HTMLResponse:
    extraction = get_extraction_config(container, ontology)
    listed = list_ontologies(container)
    held = {each.ontology: each for each in listed.ontologies}
    if ontology not in held:  # deleted in the meantime
        raise report_unknown_ontology(container.graph, ontology)
    context = {
        "ontology": ontology,
        "held": held[ontology],
        "waiting": listed.waiting.get(ontology, 0),
        "folders": sum(each.ontology == ontology for each in list_folders(container).folders),
        "extraction": extraction,
        "judged": list_judgements(container.graph, ontology, None, offset=0, limit=1).total,
    }
    return render("ontologies/delete.html", context)


@pages.post("/ui/ontologies/{ontology}/delete", "admin", "Delete an ontology")
def delete_ontologies(request: Request, container: Open, ontology: Ontology) -> Response:
    return redirect_to_page(request, delete_ontology(container, ontology), "/ui/ontologies")


@pages.post("/ui/ontologies/{ontology}/language", "admin", "Set the language of an ontology")
def change_language(
    request: Request, container: Open, ontology: Ontology, language: FormText = ""
) -> Response:
    choice = validate(LanguageChoice, {"language": language})
    note_outcome(request, put_language(container, ontology, choice))
    return _to_ontology(ontology, "language")


@pages.post("/ui/ontologies/{ontology}/synonyms", "write", "Set the synonyms of an ontology")
def change_synonyms(
    request: Request,
    container: Open,
    ontology: Ontology,
    groups: Annotated[str, Form(max_length=MAX_SYNONYMS)] = "",
) -> Response:
    lines = [each.split(BETWEEN) for each in groups.splitlines() if each.strip()]
    note_outcome(request, put_synonyms(container, ontology, validate(SynonymList, {"groups": lines})))
    return _to_ontology(ontology, "synonyms")


def _to_ontology(ontology: str, done: str) -> Response:
    return RedirectResponse(address(below("/ui/ontologies", ontology), done=done), 303)


# Reading page

BEFORE_HIT: Final = 3
OUTLINED: Final = 20
"""Number of passages that a document needs to have an outline."""
MIN_HEADINGS: Final = 3
PREVIEWED_TOKENS: Final = 1000


@pages.get("/ui/read/{document_id:path}", "read", filtered=True)
def reading_page(
    request: Request,
    container: Open,
    document_id: CalledRead,
    question: AskedQuestion,
    *,
    start: Annotated[int | None, Query(ge=0, le=MAX_PARAGRAPH)] = None,
    at: Annotated[int | None, Query(ge=0, le=MAX_PARAGRAPH)] = None,
    hit: Annotated[int | None, Query(ge=1, le=MAX_LIMIT)] = None,
) -> HTMLResponse:
    reading = _read(container, document_id, start, at)
    here = {
        "question": question,
        "at": at,
        "number": hit,
        "path": below("/ui/read", reading.document.document_id),
    }
    concepts = read_concepts_of_sources(container.graph, [each.source_id for each in reading.sources])
    place = (reading.document.document_id, at)
    found = None if hit is None or question.is_blank else _find_among_hits(container, question, hit, place)
    context: dict[str, Any] = {**here, "reading": reading, "concepts": concepts, "found": found}
    if not wants_part(request):
        outline = library.read_outline(container.graph, reading.document.document_id)
        is_long = reading.document.sources >= OUTLINED and len(outline) >= MIN_HEADINGS
        context |= {
            "outline": outline if is_long else [],
            "shown": {each.paragraph for each in reading.sources},
        }
    context["judged"] = _read_judgements(container, question, reading)
    return render("reading/part.html" if wants_part(request) else "reading/page.html", context)


@pages.get("/ui/preview/{document_id}", "read", filtered=True)
def preview(
    container: Open,
    document_id: CalledDocument,
    question: AskedQuestion,
    at: Annotated[int, Query(ge=0, le=MAX_PARAGRAPH)] = 0,
    hit: Annotated[int | None, Query(ge=1, le=MAX_LIMIT)] = None,
    *,
    typing: Typing = "",
) -> HTMLResponse:
    """Show a result and the text that follows. This does not repeat the search."""
    reading = container.reading.read(document_id, None, at, PREVIEWED_TOKENS)
    unfinished = find_unfinished(question.text) if typing == "pause" else None
    words = parse_question_words(question.text, unfinished)
    marked = [(each, match_words(words, each.full_text)) for each in reading.sources]
    context = {"question": question, "document": reading.document, "marked": marked, "number": hit}
    return render("reading/preview.html", context)


def _read_judgements(
    container: Container, question: Question, reading: DocumentReading
) -> dict[str, int] | None:
    """Get the judgements for passages by source id. None if the user does not judge."""
    if not question.judging or question.is_blank:
        return None
    sources = [(reading.document.ontology, each.source_id) for each in reading.sources]
    return read_relevances(container.graph, normalize_question(question.text), sources)


def _read(container: Container, called: str, start: int | None, at: int | None) -> DocumentReading:
    """Read a document from a paragraph. If the document is shorter now, read it from the start."""
    if start is not None or at is None:
        return container.reading.read(called, None, start)
    try:
        return container.reading.read(called, None, max(0, at - BEFORE_HIT))
    except InvalidInput:
        return container.reading.read(called)


def _find_among_hits(
    container: Container, question: Question, number: int, place: tuple[str, int | None]
) -> dict[str, Any] | None:
    """Find a result, to link to the results before and after. None if this is not possible."""
    try:
        search = question.as_search(limit=min(max(number + 1, QUESTIONS_PAGE_SIZE), MAX_LIMIT))
        hits = container.search.search(limit_to_visible(container.graph, search)).sources
    except (KgError, RequestValidationError):
        return None
    if number > len(hits) or (hits[number - 1].document_id, hits[number - 1].paragraph) != place:
        return None
    earlier = address_of_hit(question, hits[number - 2], number - 1) if number > 1 else None
    later = address_of_hit(question, hits[number], number + 1) if number < len(hits) else None
    return {"hit": hits[number - 1], "earlier": earlier, "later": later}


# Review of pending documents

REVIEW_PAGE_SIZE: Final = 20

Names = Annotated[list[FormText], Form(max_length=MAX_REVIEWED)]


@pages.get("/ui/review", "read", filtered=True)
def review_page(container: Open, ontology: Named = "", offset: Offset = 0) -> HTMLResponse:
    found = list_waiting(container.graph, ontology=ontology or None, offset=offset, limit=REVIEW_PAGE_SIZE)
    waiting = count_waiting(container.graph)
    return render(
        "review/page.html",
        {"found": found, "ontology": ontology, "ontologies": sorted(waiting), "waiting": waiting},
    )


@pages.get("/ui/review/approve", "read", filtered=True)
def approval_page(container: Open, ontology: Named = "") -> Response:
    return _render_bulk_review(container, "approve", ontology)


@pages.get("/ui/review/reject", "read", filtered=True)
def rejection_page(container: Open, ontology: Named = "") -> Response:
    return _render_bulk_review(container, "reject", ontology)


def _render_bulk_review(container: Container, decision: str, ontology: str) -> Response:
    if not ontology:  # the URL of a form was opened
        return RedirectResponse("/ui/review", 303)
    found = list_waiting(container.graph, ontology=ontology, offset=0, limit=REVIEW_PAGE_SIZE)
    context = {"decision": decision, "ontology": ontology, "found": found}
    return render("review/all.html", {**context, "portion": APPROVED_A_REQUEST, "most": MAX_REVIEWED})


@pages.post("/ui/review/approve", "write", "Approve pending documents", filtered=True)
def approve(
    request: Request,
    container: Open,
    ontology: FormText = "",
    documents: Names = [],  # noqa: B006 - FastAPI copies it
    *,
    every: Tick = False,
    after: FormText = "",
    only: FormText = "",
) -> Response:
    fields: dict[str, Any] = {"ontology": ontology, "documents": documents or None, "all": every}
    approved = approve_documents(container, validate(Approval, {**fields, "after": after or None}))
    if not approved.unknown and not approved.next and all(each.ingested for each in approved.outcomes):
        return redirect_to_page(request, approved, address("/ui/review", ontology=only))
    note_outcome(request, approved)
    return render("review/outcome.html", {"approved": approved, "ontology": ontology, "only": only})


@pages.post("/ui/review/reject", "write", "Reject pending documents", filtered=True)
def reject(
    request: Request,
    container: Open,
    ontology: FormText = "",
    documents: Names = [],  # noqa: B006 - FastAPI copies it
    *,
    every: Tick = False,
    only: FormText = "",
) -> Response:
    fields = {"ontology": ontology, "documents": documents or None, "all": every}
    return redirect_to_page(
        request, reject_documents(container, validate(Review, fields)), address("/ui/review", ontology=only)
    )
