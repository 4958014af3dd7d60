"""Routes for ontologies, documents, images, PDF pages, review, and synced folders."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, TypeVar, get_args
from urllib.parse import quote

from fastapi import Header, HTTPException, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, StringConstraints
from starlette.datastructures import UploadFile
from starlette.routing import Match
from starlette.types import Scope

from kg_api.access.keys import limit_to_visible
from kg_api.blobs.images import ImageFile
from kg_api.blobs.pages import PageRequest
from kg_api.errors import InvalidInput
from kg_api.graph import document_writes, library
from kg_api.graph import images as stored_images
from kg_api.graph.document_writes import delete_matching
from kg_api.graph.filters import count_facets
from kg_api.graph.fulltext import choose_language, read_language, read_synonyms, write_synonyms
from kg_api.graph.names import require_ontologies
from kg_api.graph.review import count_waiting, list_waiting
from kg_api.ingest.records import Incoming, build_incoming
from kg_api.schemas.base import Called, NodeId, Text
from kg_api.schemas.documents import (
    Approval,
    Approved,
    Conversation,
    Deleted,
    DocumentBatch,
    DocumentChange,
    DocumentChanged,
    DocumentContent,
    DocumentPage,
    DocumentText,
    DocumentUpload,
    GivenBatch,
    Ingested,
    IngestedBatch,
    OntologyList,
    Rejected,
    Review,
    SourceChanges,
    WaitingDocuments,
)
from kg_api.schemas.embedding import DocumentPreview
from kg_api.schemas.filters import DeletedMatching, DocumentDeletion, DocumentFilter, FacetRequest, Facets
from kg_api.schemas.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest
from kg_api.schemas.images import ImageType
from kg_api.schemas.languages import LanguageChoice, OntologyLanguage, SynonymList, Synonyms
from kg_api.schemas.search import ImagePage
from kg_api.schemas.vocabulary import DEFAULT_PAGE_WIDTH, MAX_PAGE_WIDTH, MAX_QUERY_CHARACTERS, MIN_PAGE_WIDTH
from kg_api.spaces import plans
from kg_api.web.shared.dependencies import (
    CalledDocument,
    IdempotencyKey,
    Offset,
    Ontology,
    OntologyFilter,
    Open,
    PageSize,
    SourceId,
    WhereFilter,
)
from kg_api.web.shared.limits import get_media_type, parse_text, read_model, require_type, validate
from kg_api.web.shared.openapi import BINARY, build_openapi_schema, request_body
from kg_api.web.shared.routes import ApiRoute, Routes, declare_example
from kg_api.web.shared.security import CSRF_FIELD, OWN

stored = Routes("library")


@stored.post("/queries/facets", "read", "Count the values of document fields", filtered=True)
def count_values(
    container: Open,
    request: Annotated[FacetRequest, declare_example(fields=["author", "date:year"], where=["tags=oncall"])],
) -> Facets:
    return count_facets(container.graph, limit_to_visible(container.graph, request))


@stored.get("/ontologies", "read", "List ontologies", filtered=True)
def list_ontologies(container: Open) -> OntologyList:
    found = plans.list_ontologies(container.graph)
    return OntologyList(ontologies=found, waiting=count_waiting(container.graph))


@stored.delete("/ontologies/{ontology}", "admin", "Delete an ontology")
def delete_ontology(container: Open, ontology: Ontology) -> Deleted:
    """Delete an ontology and all documents in it. If it does not exist, you get zeros and a note."""
    deleted = document_writes.delete_ontology(container.graph, ontology)
    container.files.collect_after_delete()
    return deleted


@stored.get("/documents", "read", "List documents", filtered=True)
def list_documents(
    container: Open,
    ontology: OntologyFilter = None,
    where: WhereFilter = None,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> DocumentPage:
    conditions = validate(DocumentFilter, {"where": where or []}).where
    return library.list_documents(
        container.graph, ontology=ontology, where=conditions, offset=offset, limit=limit
    )


@stored.get("/documents/{document_id:path}", "read", "Get a document with its text", filtered=True)
def get_document(
    container: Open, document_id: CalledDocument, ontology: OntologyFilter = None
) -> DocumentContent:
    """Get the text as it was stored. 404: unknown name, with suggestions. 409: ambiguous name."""
    return library.find_document(container.graph, document_id, ontology)


@stored.patch(
    "/documents/{document_id:path}",
    "write",
    "Change the title, URL, or metadata of a document",
    filtered=True,
)
def change_document(
    container: Open,
    document_id: CalledDocument,
    change: Annotated[DocumentChange, declare_example(metadata={"tags": ["oncall"], "draft": None})],
    ontology: OntologyFilter = None,
) -> DocumentChanged:
    """You can ingest the document again and keep this change. `job_id`: job to re-embed changed contexts."""
    return library.change_by_name(container.graph, document_id, change, ontology)


@stored.post(
    "/documents/delete",
    "write",
    ("Delete the documents that match a filter, or show them first"),
    filtered=True,
)
def delete_documents(
    container: Open,
    deletion: Annotated[DocumentDeletion, declare_example(ontology="notes", where=["date<2020"])],
) -> DeletedMatching:
    """Delete documents. Use `dry_run` (default) to count them. 409: other documents match than expected."""
    deleted = delete_matching(container.graph, limit_to_visible(container.graph, deletion))
    container.files.collect_after_delete()
    return deleted


@stored.delete("/documents/{document_id:path}", "write", "Delete a document", filtered=True)
def delete_document(container: Open, document_id: CalledDocument, ontology: OntologyFilter = None) -> Deleted:
    """You can repeat this if you use a complete id. 404: unknown name. 409: ambiguous name."""
    deleted = document_writes.delete_by_name(container.graph, document_id, ontology)
    container.files.collect_after_delete()
    return deleted


# Synced folders

folders = Routes("folders")

FolderId = Annotated[NodeId, Path(description="Id of a folder.")]
Grant = Annotated[
    str | None,
    Header(
        alias="KG-Folder-Grant",
        pattern="^[0-9a-f]{64}$",
        description="Sent by `kg folders add` on the machine and in the home of the service, the "
        "only way to add a folder outside of KG_SYNC__ROOTS.",
    ),
]


@folders.get("/folders", "admin", "List synced folders")
def list_folders(container: Open) -> FolderList:
    return container.folders.all()


@folders.post("/folders", "admin", "Add a folder to sync", status_code=202)
def add_folder(
    container: Open,
    folder: Annotated[NewFolder, declare_example(path="/home/me/notes", ontology="notes")],
    grant: Grant = None,
) -> Folder:
    """The folder has to be in KG_SYNC__ROOTS. 409: it overlaps another folder in the same ontology."""
    return container.folders.add(folder, grant)


@folders.get("/folders/{folder_id}", "admin", "Get a folder")
def get_folder(container: Open, folder_id: FolderId) -> Folder:
    return container.folders.get(folder_id)


@folders.post("/folders/{folder_id}/scan", "admin", "Scan a folder now", status_code=202)
def scan_folder(container: Open, folder_id: FolderId, scan: ScanRequest) -> Folder:
    """Request a scan. You can see the job in `job_id`. A folder has up to one scan at the same time."""
    return container.folders.scan(folder_id, allow_empty=scan.allow_empty)


@folders.delete("/folders/{folder_id}", "admin", "Stop syncing a folder")
def remove_folder(
    container: Open,
    folder_id: FolderId,
    *,
    delete_documents: Annotated[bool, Query(description="Also delete the documents of the folder.")] = False,
) -> FolderRemoved:
    """Stop syncing a folder. To delete the documents, use `delete_documents`."""
    return container.folders.remove(folder_id, delete_documents=delete_documents)


# Images


SUFFIXES: dict[ImageType, str] = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "image/tiff": ".tif",
    "image/bmp": ".bmp",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": OWN,
}
"""Headers for files. An image can also be valid HTML, so this prevents browsers from showing it as a page."""
MAX_NAME = 100


def _describe_files(*types: str, **headers: str) -> dict[str, Any]:
    """Build the options for a route that sends files with integer headers."""
    schema = {"schema": {"type": "string", "format": "binary"}}
    told = {name: {"schema": {"type": "integer"}, "description": text} for name, text in headers.items()}
    found = {"content": dict.fromkeys(types, schema), "description": "The picture.", "headers": told}
    responses = {200: found, 304: {"description": "The client already has this version."}}
    return {"filtered": True, "response_class": Response, "responses": responses}


IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=1000, description="ETag of an earlier response.")
]


@stored.get("/images", "read", "List images", filtered=True)
def list_images(
    container: Open, ontology: OntologyFilter = None, offset: Offset = 0, limit: PageSize = 100
) -> ImagePage:
    return stored_images.list_images(container.graph, ontology=ontology, offset=offset, limit=limit)


@stored.get(
    "/images/{source_id:path}/thumbnail",
    "read",
    "Get the thumbnail of an image",
    **_describe_files("image/webp"),
)
def get_thumbnail(container: Open, source_id: SourceId, known: IfNoneMatch = None) -> Response:
    """Return the image as WebP with at most 256 pixels per side, upright and without metadata."""
    return _build_picture(container.files.get_thumbnail(source_id), known)


@stored.get("/images/{source_id:path}", "read", "Get an image", **_describe_files(*get_args(ImageType)))
def get_image(container: Open, source_id: SourceId, known: IfNoneMatch = None) -> Response:
    """Return the file as an attachment without its location. 404: the source is not an image."""
    return _build_picture(container.files.get_image(source_id), known)


def _build_picture(file: ImageFile, known: str | None) -> Response:
    if known is not None and f'"{file.key}"' in known:
        return _build_file(None, file.content_type, file.key)
    name = build_file_name(file.name, SUFFIXES[file.content_type])
    return _build_file(file.content, file.content_type, file.key, f"attachment; filename*=UTF-8''{name}")


def _build_file(content: bytes | None, kind: str, key: str, disposition: str = "", **more: str) -> Response:
    """Build the response with an ETag, or use 304 if there is no content."""
    headers = {**HEADERS, "ETag": f'"{key}"'}
    if content is None:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers={**headers, "Content-Disposition": disposition} | more)


def build_file_name(document: str, suffix: str) -> str:
    """Build a file name to use in a header. Characters that file systems reject are removed."""
    stem = PurePosixPath(document.replace("\\", "/")).stem
    stem = "".join(each for each in stem if each.isprintable())[:MAX_NAME].strip(". ") or "picture"
    return quote(f"{stem}{suffix}", safe="")


# Ingestion of JSON texts and uploaded files

ingest = Routes("ingest")

Taken = TypeVar("Taken")

MAX_FIELDS = 10
NOT_OF_A_DOCUMENT = frozenset({"file", CSRF_FIELD})
"""Form fields that are not used for the document. The last comes from the web UI."""
MAX_FIELD_BYTES = 64 * 1024


DOCUMENT: Final = {
    "ontology": "handbook",
    "document": "notes/leases.md",
    "text": "# Leases\n\nA worker renews its lease every ten seconds.\n",
}
BODY = request_body(
    DocumentText,
    DOCUMENT,
    form=DocumentUpload,
    required=("file", "ontology"),
    parts={"file": {**BINARY, "description": "File of the document. Its name becomes the document name."}},
)
MESSAGE: Final = {
    "author": "Ada",
    "timestamp": "2026-03-01T09:30:00+01:00",
    "text": "The lease is renewed every ten seconds now.",
}
CONVERSATION = request_body(
    Conversation, {"ontology": "talks", "title": "Standup of 1 March", "messages": [MESSAGE]}
)
BATCH = request_body(DocumentBatch, {"documents": [DOCUMENT, {**DOCUMENT, "document": "notes/workers.md"}]})
_BATCHED = BATCH["requestBody"]["content"]["application/json"]["schema"]
_BATCHED["properties"]["documents"]["items"] = build_openapi_schema(DocumentText)


def _describe_ingestion(body: dict[str, Any], outcome: type[BaseModel] = Ingested) -> dict[str, Any]:
    """Build the options for a route to ingest documents."""
    responses = {200: {"model": outcome, "description": "There is nothing new to embed."}}
    return {"filtered": True, "status_code": 202, "openapi_extra": body, "responses": responses}


@ingest.post("/documents", "write", "Ingest a document", **_describe_ingestion(BODY))
async def ingest_document(container: Open, request: Request, response: Response) -> Ingested:
    """202: full text finds the document now, and you can use vectors after the job. 200: no job is needed."""
    ingested = await _take(request, container.ingest.ingest)
    return _set_status(ingested, response)


@ingest.post(
    "/documents/batch", "write", "Ingest several documents", **_describe_ingestion(BATCH, IngestedBatch)
)
async def ingest_batch(
    container: Open, request: Request, response: Response, key: IdempotencyKey
) -> IngestedBatch:
    """Ingest up to 1,000 texts. You get the outcomes in the same order, and you can repeat this."""
    require_type(request, "application/json")
    batch = await read_model(request, GivenBatch)
    done = await run_in_threadpool(container.ingest.ingest_batch, batch, key)
    if not any(each.ingested and each.ingested.job_id for each in done.outcomes):
        response.status_code = 200
    return done


@ingest.post("/documents/conversation", "write", "Ingest a conversation", **_describe_ingestion(CONVERSATION))
async def ingest_conversation(container: Open, request: Request, response: Response) -> Ingested:
    """Each message will be a section. If you send more messages later, only these are embedded."""
    require_type(request, "application/json")
    conversation = await read_model(request, Conversation)
    ingested = await run_in_threadpool(container.ingest.ingest_conversation, conversation)
    return _set_status(ingested, response)


@ingest.post(
    "/documents/preview",
    "read",
    "Preview the chunks and cost of a document",
    filtered=True,
    openapi_extra=BODY,
)
async def preview_document(container: Open, request: Request) -> DocumentPreview:
    """Parse, split, and chunk a document, to see the result. This does not store or embed it."""
    preview = await _take(request, container.ingest.preview)
    config, cost = await run_in_threadpool(container.configure.estimate_new, preview.record, preview.new)
    change = preview.change
    return DocumentPreview(
        document=preview.record.document,
        ontology=preview.record.ontology,
        change=change.change,
        sources=SourceChanges(added=change.added, kept=change.kept, removed=change.removed),
        config=config,
        cost=cost,
        duplicate_of=next(iter(change.same_text), None),
        notes=preview.notes,
    )


def _set_status(ingested: Ingested, response: Response) -> Ingested:
    if ingested.job_id is None:
        response.status_code = 200
    return ingested


async def _take(request: Request, taken: Callable[..., Taken]) -> Taken:
    """Read the document in a request from JSON or from a file, and pass it to a function."""
    kind = get_media_type(request)
    if kind == "application/json":
        body = await read_model(request, DocumentText)
        return await run_in_threadpool(taken, build_incoming(body, body.text))
    if kind == "multipart/form-data":
        return await run_in_threadpool(taken, *await _read_upload(request))
    raise HTTPException(415, "send application/json, or a file as multipart/form-data")


async def _read_upload(request: Request) -> tuple[Incoming, bytes]:
    bounds = {"max_files": 1, "max_fields": MAX_FIELDS, "max_part_size": MAX_FIELD_BYTES}
    async with request.form(**bounds) as form:
        files = form.getlist("file")
        file = files[0] if len(files) == 1 else None
        if not isinstance(file, UploadFile):
            raise HTTPException(422, "file: the part with the document is missing, or there are several")
        given = [(name, value) for name, value in form.multi_items() if name not in NOT_OF_A_DOCUMENT]
        fields: dict[str, Any] = dict(given)
        if len(fields) < len(given):
            raise InvalidInput(f"duplicate field in the form: {', '.join(name[:100] for name, _ in given)}")
        fields.setdefault("document", file.filename)
        if isinstance(fields.get("metadata"), str):
            fields["metadata"] = parse_text(fields["metadata"])
        upload = validate(DocumentUpload, fields)
        return build_incoming(upload, ""), await file.read()


@stored.get("/ontologies/{ontology}/language", "read", "Get the language of an ontology")
def get_language(container: Open, ontology: Ontology) -> OntologyLanguage:
    return read_language(container.graph, ontology)


@stored.put("/ontologies/{ontology}/language", "admin", "Set the language of an ontology")
def put_language(
    container: Open, ontology: Ontology, choice: Annotated[LanguageChoice, declare_example(language="de")]
) -> OntologyLanguage:
    """Reindex for up to 15 s. If the answer is not `complete`, repeat the request to continue."""
    return choose_language(container.graph, ontology, choice.language)


# PDF pages as images

PAGES, BOXED = "KG-Pages", "KG-Boxed-Words"
_NOT_QUOTED = re.compile(rb"/documents/[^?]+/pages/[0-9]+\.png(\?|$)")


class PageRoute(ApiRoute):
    """Route for page images. To request a document `book/pages/1.png`, you have to quote the slashes."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Check if the request is for a page image."""
        if _NOT_QUOTED.search(scope.get("raw_path") or scope["path"].encode()) is None:
            return Match.NONE, {}
        return super().matches(scope)


pages = Routes("library", PageRoute)

PAGE = _describe_files(
    "image/png", **{PAGES: "Pages that the PDF has.", BOXED: "Words to mark on the page, with boxes."}
)


@pages.get(
    "/documents/{document_id:path}/pages/{page}.png", "read", "Get a page of a PDF as an image", **PAGE
)
def get_page(
    container: Open,
    document_id: CalledDocument,
    page: Annotated[int, Path(ge=0, le=10**9, description="Its number, from 1.")],
    *,
    source_id: Annotated[Called | None, Query(description="Box the words of this source.")] = None,
    query: Annotated[
        Annotated[Text, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS)] | None,
        Query(description="Box these words, as full text finds them."),
    ] = None,
    width: Annotated[
        int, Query(ge=MIN_PAGE_WIDTH, le=MAX_PAGE_WIDTH, description="In pixels.")
    ] = DEFAULT_PAGE_WIDTH,
    ontology: OntologyFilter = None,
    known: IfNoneMatch = None,
) -> Response:
    """Mark a passage in yellow, and the words in `query` in orange.

    You can see their number in `KG-Boxed-Words`.
    """
    request = PageRequest(document_id, page, width, ontology, source_id, query)
    picture = container.pages.get_picture(request, known or "")
    if picture.drawn is None:
        return _build_file(None, "image/png", picture.key)
    drawn, name = picture.drawn, build_file_name(picture.document, f"-{request.page}.png")
    counts = {PAGES: str(drawn.pages), BOXED: str(drawn.boxed)}
    return _build_file(drawn.content, "image/png", picture.key, f"inline; filename*=UTF-8''{name}", **counts)


# Review of pending documents

review = Routes("review")

_BODY = declare_example(ontology="handbook", documents=["notes/leases.md", "notes/workers.md"])


@review.get("/waiting", "read", "List the documents to approve", filtered=True)
def list_waiting_documents(
    container: Open, ontology: OntologyFilter = None, offset: Offset = 0, limit: PageSize = 100
) -> WaitingDocuments:
    found = list_waiting(container.graph, ontology=ontology, offset=offset, limit=limit)
    if not found.total:
        require_ontologies(container.graph, ontology)
    return found


@review.post("/waiting/approve", "write", "Approve pending documents", filtered=True)
def approve_documents(container: Open, review: Annotated[Approval, _BODY]) -> Approved:
    """You get an outcome for each document.

    With `all`, repeat this with `after` = `next` until `next` is null.
    """
    approved = container.review.approve(review)
    if not approved.outcomes and not count_waiting(container.graph, review.ontology):
        require_ontologies(container.graph, review.ontology)
    return approved


@review.post("/waiting/reject", "write", "Reject pending documents", filtered=True)
def reject_documents(container: Open, review: Annotated[Review, _BODY]) -> Rejected:
    """This does not change stored documents.

    With `all`, it rejects up to 1,000. Changed files will be pending again.
    """
    rejected = container.review.reject(review)
    if not rejected.rejected and not rejected.waiting:
        require_ontologies(container.graph, review.ontology)
    return rejected


@stored.get("/ontologies/{ontology}/synonyms", "read", "Get the synonyms of an ontology")
def get_synonyms(container: Open, ontology: Ontology) -> Synonyms:
    groups = read_synonyms(container.graph, ontology)
    return Synonyms(ontology=ontology, groups=[[*each] for each in groups])


@stored.put("/ontologies/{ontology}/synonyms", "write", "Set the synonyms of an ontology")
def put_synonyms(
    container: Open,
    ontology: Ontology,
    synonyms: Annotated[
        SynonymList, declare_example(groups=[["k8s", "kubernetes"], ["ML", "machine learning"]])
    ],
) -> Synonyms:
    """Replace all groups. Searches use synonyms too, with half the weight. You do not need to reindex."""
    container.graph.transaction(lambda tx: write_synonyms(tx, ontology, synonyms.groups))
    return Synonyms(ontology=ontology, groups=synonyms.groups)
