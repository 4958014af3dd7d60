"""Documents on their way in: as JSON text, or as an uploaded file, to the same address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile

from kg_api.errors import InvalidInput
from kg_api.ingest.conversation import incoming as conversation_document
from kg_api.ingest.records import Incoming, incoming_of
from kg_api.models.embedding.configuration import DocumentPreview
from kg_api.models.library.batches import DocumentBatch, GivenBatch, IngestedBatch
from kg_api.models.library.conversations import Conversation
from kg_api.models.library.documents import DocumentText, DocumentUpload, Ingested, SourceChanges
from kg_api.parse.beside.references import MAX_REFERENCES, key_of
from kg_api.web.access.session import CSRF_FIELD
from kg_api.web.dependencies import IdempotencyKey, Open
from kg_api.web.limits.strict_json import media_type, parse, read_model, require_json, valid

router = APIRouter(tags=["ingest"])

Taken = TypeVar("Taken")

MAX_FIELDS = 10
IMAGES = "images"
"""The parts of a form that are pictures which the document names."""
NOT_OF_A_DOCUMENT = frozenset({"file", IMAGES, CSRF_FIELD})
"""Fields that say nothing of it; the last is of forms of the page."""
MAX_FIELD_BYTES = 64 * 1024


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(ref_template="#/components/schemas/{model}")


BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": _reference(DocumentText),
                "example": {
                    "ontology": "handbook",
                    "document": "notes/leases.md",
                    "text": "# Leases\n\nA worker renews its lease every ten seconds.\n",
                },
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "ontology"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "The document's file; its name says what it is called.",
                        },
                        "images": {
                            "type": "array",
                            "maxItems": MAX_REFERENCES,
                            "items": {"type": "string", "format": "binary"},
                            "description": (
                                "Pictures that a Markdown file or a page names by relative references; the "
                                "file name of each part is the reference as the document has it."
                            ),
                        },
                        **_reference(DocumentUpload)["properties"],
                    },
                }
            },
        },
    }
}


CONVERSATION = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    name: value for name, value in _reference(Conversation).items() if name != "$defs"
                },
                "example": {
                    "ontology": "talks",
                    "title": "Standup of 1 March",
                    "messages": [
                        {
                            "author": "Ada",
                            "timestamp": "2026-03-01T09:30:00+01:00",
                            "text": "The lease is renewed every ten seconds now.",
                        }
                    ],
                },
            }
        },
    }
}


def _batch() -> dict[str, Any]:
    schema = {name: value for name, value in _reference(DocumentBatch).items() if name != "$defs"}
    documents = {**schema["properties"]["documents"], "items": _reference(DocumentText)}
    example = BODY["requestBody"]["content"]["application/json"]["example"]
    return {
        "schema": {**schema, "properties": {"documents": documents}},
        "example": {"documents": [example, {**example, "document": "notes/workers.md"}]},
    }


BATCH = {"requestBody": {"required": True, "content": {"application/json": _batch()}}}

UNCHANGED_BATCH: dict[int | str, dict[str, Any]] = {
    200: {"model": IngestedBatch, "description": "There is nothing new to embed."}
}
UNCHANGED: dict[int | str, dict[str, Any]] = {
    200: {"model": Ingested, "description": "There is nothing new to embed."}
}


@router.post(
    "/documents", status_code=202, summary="Ingest a document", openapi_extra=BODY, responses=UNCHANGED
)
async def ingest_document(container: Open, request: Request, response: Response) -> Ingested:
    """Store a document; the same one again changes nothing, a changed one keeps its unchanged paragraphs.

    It can be found by full text when this answers (202), by meaning when the job is done.
    200: there is nothing new to embed.
    """
    ingested = await _take(request, container.ingest.ingest_text, container.ingest.ingest_bytes)
    return _set_status(ingested, response)


@router.post(
    "/documents/batch",
    status_code=202,
    summary="Ingest several documents",
    openapi_extra=BATCH,
    responses=UNCHANGED_BATCH,
)
async def ingest_batch(
    container: Open, request: Request, response: Response, key: IdempotencyKey
) -> IngestedBatch:
    """Store many documents as texts, up to 1,000; each has its own outcome, in the order of the documents.

    What is wrong with one concerns no other: it is refused with the problem that `POST /documents` would have
    answered. Of two that have one ontology and name the later one is refused. The body as a whole must be
    proper JSON and no larger than a document may be (KG_API__MAX_DOCUMENT_BYTES).

    Documents are stored in few transactions. If the service becomes unable to store in the middle (429, 503,
    507), those that were not stored have that problem; before the first it is the answer itself. The same
    batch again changes nothing.
    """
    require_json(request)
    batch = await read_model(request, GivenBatch)
    done = await run_in_threadpool(container.ingest.ingest_batch, batch, key)
    if not any(each.ingested and each.ingested.job_id for each in done.outcomes):
        response.status_code = 200
    return done


@router.post(
    "/documents/conversation",
    status_code=202,
    summary="Ingest a conversation",
    openapi_extra=CONVERSATION,
    responses=UNCHANGED,
)
async def ingest_conversation(container: Open, request: Request, response: Response) -> Ingested:
    """Store messages as one Markdown document named by its title; each becomes a section of its own.

    The same again with more messages embeds only what is new. 202 and 200 as for any document.
    """
    require_json(request)
    conversation = await read_model(request, Conversation)

    def taken() -> Ingested:
        document, notes = conversation_document(conversation)
        return container.ingest.ingest_text(document, notes)

    return _set_status(await run_in_threadpool(taken), response)


@router.post("/documents/preview", summary="Preview the chunks and cost of a document", openapi_extra=BODY)
async def preview_document(container: Open, request: Request) -> DocumentPreview:
    """Parse, split and chunk a document as its ingestion would; nothing is stored, embedded or paid."""
    preview = await _take(request, container.ingest.preview_text, container.ingest.preview_bytes)
    config, cost = await run_in_threadpool(container.configure.cost_of_new, preview.record, preview.new)
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


TakeFile = Callable[[bytes, Incoming, Mapping[str, bytes]], Taken]


async def _take(request: Request, text: Callable[[Incoming], Taken], content: TakeFile[Taken]) -> Taken:
    """Read the document that a request brings, as JSON or as a file, and hand it on."""
    kind = media_type(request)
    if kind == "application/json":
        body = await read_model(request, DocumentText)
        return await run_in_threadpool(text, incoming_of(body, body.text))
    if kind == "multipart/form-data":
        return await _from_upload(request, content)
    raise HTTPException(415, "send application/json, or a file as multipart/form-data")


async def _from_upload(request: Request, taken: TakeFile[Taken]) -> Taken:
    bounds = {"max_files": 1 + MAX_REFERENCES, "max_fields": MAX_FIELDS, "max_part_size": MAX_FIELD_BYTES}
    async with request.form(**bounds) as form:
        files = form.getlist("file")
        file = files[0] if len(files) == 1 else None
        if not isinstance(file, UploadFile):
            raise HTTPException(422, "file: the part with the document is missing, or there are several")
        upload = valid(DocumentUpload, _fields(form, file.filename))
        beside = {_reference_of(each): await each.read() for each in _images(form)}
        content = await file.read()
    return await run_in_threadpool(taken, content, incoming_of(upload, ""), beside)


def _images(form: FormData) -> list[UploadFile]:
    images = form.getlist(IMAGES)
    if not all(isinstance(each, UploadFile) for each in images):
        raise HTTPException(
            422, f"{IMAGES}: each part is a file, whose name is the document's reference to it"
        )
    return cast("list[UploadFile]", images)


def _reference_of(image: UploadFile) -> str:
    key = key_of(image.filename or "")
    if key is None:
        raise HTTPException(
            422, f"{IMAGES}: {(image.filename or '')[:100]!r} is no relative reference, such as img/boat.png"
        )
    return key


def _fields(form: FormData, filename: str | None) -> dict[str, Any]:
    given = [(name, value) for name, value in form.multi_items() if name not in NOT_OF_A_DOCUMENT]
    fields: dict[str, Any] = dict(given)
    if len(fields) < len(given):
        raise InvalidInput(f"duplicate field in the form: {', '.join(name[:100] for name, _ in given)}")
    fields.setdefault("document", filename)
    if isinstance(fields.get("metadata"), str):
        fields["metadata"] = parse(fields["metadata"].encode("utf-8", "surrogatepass"))
    return fields
