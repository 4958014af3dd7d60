"""Routes for searches, answers, similar and related sources, and reading."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, Final

import anyio
import structlog
from anyio.to_thread import run_sync
from fastapi import HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from sse_starlette import ServerSentEvent
from starlette.datastructures import FormData, UploadFile

from kg_api.access.keys import limit_to_visible
from kg_api.errors import InvalidInput, KgError
from kg_api.graph.library import find_source
from kg_api.schemas.answers import (
    Answered,
    AnswerEvent,
    AnswerRequest,
    Augmented,
    AugmentRequest,
    HybridHits,
    HybridSearch,
)
from kg_api.schemas.image_search import ImageHits, ImageScope, ImageSearch, RelatedSearch, RelatedSources
from kg_api.schemas.search import DocumentReading, Place, SourceHits, SourceSearch, SourceWindow
from kg_api.schemas.similarity import GraphRequest, PassageMap, SimilarSearch, SimilarSources, SourceGraph
from kg_api.schemas.vocabulary import (
    MAX_MAP_POINTS,
    MAX_PARAGRAPH,
    MAX_TOKEN_BUDGET,
    MAX_WINDOW,
    USUAL_MAP_POINTS,
    USUAL_READ,
)
from kg_api.search.answer import Writing
from kg_api.web.shared.dependencies import CalledRead, CalledSource, Ontology, OntologyFilter, Open, SourceId
from kg_api.web.shared.limits import get_media_type, parse_text, read_model, validate
from kg_api.web.shared.openapi import BINARY, request_body
from kg_api.web.shared.problems import build_error_problem
from kg_api.web.shared.routes import Routes, declare_example
from kg_api.web.shared.streams import EventStream

log = structlog.get_logger()


@asynccontextmanager
async def close_answer(writing: Writing) -> AsyncGenerator[None]:
    """Close an answer after the block. This is also done when it is cancelled."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(writing.close)


async def _stream_events(writing: Writing, closing: anyio.Event) -> AsyncGenerator[ServerSentEvent]:
    own_thread = anyio.CapacityLimiter(1)  # do not block threads of other requests
    while not closing.is_set():
        try:
            event = await run_sync(writing.next, limiter=own_thread)
        except KgError as error:
            log.error("answer failed", error=type(error).__name__, detail=str(error))  # noqa: TRY400 - sent to the client
            yield ServerSentEvent(bytes(build_error_problem(error).body).decode(), event="error")
            return
        if event is None:
            return
        if isinstance(event, Answered):
            yield ServerSentEvent(AnswerEvent(answer=event).model_dump_json(include={"answer"}), event="end")
        else:
            told = AnswerEvent(statement=event)
            yield ServerSentEvent(told.model_dump_json(include={"statement"}), event="statement")


# Augmentation and answers

router = Routes("search")


@router.post("/queries/augment", "read", "Find passages relevant to a text or a conversation", filtered=True)
def augment(
    container: Open,
    request: Annotated[AugmentRequest, declare_example(text="A worker lost its lease.", ontology="handbook")],
) -> Augmented:
    """Split a text, search for each piece, and get the best passages as records and as a context block."""
    return container.augment.augment(limit_to_visible(container.graph, request))


ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer. With `stream`, Server-Sent Events `statement` and `end` with an "
        "AnswerEvent as data, or `error` with a Problem.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.post(
    "/queries/answer",
    "read",
    "Answer a question from passages, with citations",
    filtered=True,
    response_model=Answered,
    responses=ANSWERS,
)
def answer(
    container: Open,
    request: Annotated[
        AnswerRequest, declare_example(question="How often is a lease renewed?", ontology="handbook")
    ],
) -> Answered | Response:
    """You get statements with quotes as proof, or `refusal` if there is no passage to use.

    Without a language model (KG_LLM__MODEL), the status is 422. With `stream`: `statement` events, then
    `end`, or `error` with a problem document. A comment every 10 s keeps the connection open.
    """
    request = limit_to_visible(container.graph, request)
    if request.stream:
        writing = container.answer.begin(request)
        return EventStream(partial(_stream_events, writing), close_answer(writing))
    return container.answer.answer(request)


# Image search by text, stored image, or uploaded file


PATH: Final = "/queries/images/search"
MAX_FIELDS = 100
MAX_FIELD_BYTES = 64 * 1024
LISTS: Final = frozenset({"ontology", "documents", "where"})
NUMBERS: Final = frozenset({"limit", "min_similarity"})


BODY = request_body(
    ImageSearch,
    {"query_text": "a red boat", "ontology": "holidays", "limit": 5},
    form=ImageScope,
    required=("file",),
    parts={"file": {**BINARY, "description": "Image to compare with."}},
)


@router.post(PATH, "read", "Search images by text or by an image", filtered=True, openapi_extra=BODY)
async def search_images(container: Open, request: Request) -> ImageHits:
    """Find images using `query_text`, a stored image (`source_id`), or a file that you upload (`file`)."""
    kind, service = get_media_type(request), container.image_search
    if kind == "application/json":
        asked = await read_model(request, ImageSearch)
        return await run_in_threadpool(lambda: service.search(limit_to_visible(container.graph, asked)))
    if kind != "multipart/form-data":
        raise HTTPException(415, "send application/json, or an image as multipart/form-data")
    async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise HTTPException(422, "file: the part with the image is missing")
        content, scope = await file.read(), validate(ImageScope, _parse_form(form))
    return await run_in_threadpool(
        lambda: service.search_like(content, limit_to_visible(container.graph, scope))
    )


def _parse_form(form: FormData) -> dict[str, Any]:
    """Get the form fields, but not the file. To send a list, repeat the field."""
    fields: dict[str, Any] = {}
    for name, value in form.multi_items():
        text = str(value)
        if name in LISTS:
            is_json = name == "where" and text.startswith("{")
            fields.setdefault(name, []).append(parse_text(text) if is_json else value)
        elif name in fields:
            raise InvalidInput(f"duplicate field in the form: {name[:100]}")
        elif name in NUMBERS:
            try:
                fields[name] = parse_text(text)
            except HTTPException:
                raise InvalidInput(f"{name}: {text[:100]!r} is not a number") from None
        elif name != "file":
            fields[name] = value
    return fields


Points = Annotated[
    int,
    Query(ge=1, le=MAX_MAP_POINTS, description="Maximum number of passages. If there are more, a sample."),
]


@router.get(
    "/ontologies/{ontology}/map", "read", ("Get the passages of an ontology as points to show on a map")
)
def get_map(container: Open, ontology: Ontology, limit: Points = USUAL_MAP_POINTS) -> PassageMap:
    """Points are principal components of the vectors. `explained` is their share of the variance."""
    return container.similarity.map(ontology, limit)


@router.post(
    "/queries/sources/{source_id:path}/related", "read", "Find sources related to a source", filtered=True
)
def related_sources(container: Open, source_id: SourceId, request: RelatedSearch) -> RelatedSources:
    """Find neighbours using document, concepts, text, and image. You can see the reason in `through`."""
    return container.related.find_related(source_id, limit_to_visible(container.graph, request))


# Search, similar sources, and context


@router.post(
    "/queries/sources/search", "read", "Search sources using vectors, full text, or both", filtered=True
)
def search_sources(
    container: Open,
    search: Annotated[SourceSearch, declare_example(query_text="lease and heartbeat", ontology="handbook")],
) -> SourceHits:
    """Find the best sources and where they are.

    If a part of the search fails, you can see this in `degraded`.
    """
    return container.search.search(limit_to_visible(container.graph, search))


@router.post("/queries/hybrid", "read", "Search concepts and sources together", filtered=True)
def hybrid_search(
    container: Open, search: Annotated[HybridSearch, declare_example(query_text="type hints", source_limit=5)]
) -> HybridHits:
    return container.hybrid.search(limit_to_visible(container.graph, search))


@router.get(
    "/sources/{source_id:path}/context",
    "read",
    ("Get a source and the sources before and after it"),
    filtered=True,
)
def get_source_context(
    container: Open,
    source_id: CalledSource,
    window_size: Annotated[int, Query(ge=0, le=MAX_WINDOW)] = 2,
    token_budget: Annotated[int | None, Query(ge=1, le=MAX_TOKEN_BUDGET)] = None,
) -> SourceWindow:
    """Get paragraphs before and after, from the same document. `left_out` did not fit into the budget."""
    return container.reading.read_context(source_id, window_size, token_budget)


@router.get("/sources/{source_id:path}", "read", "Get a source", filtered=True)
def get_source(container: Open, source_id: SourceId) -> Place:
    return find_source(container.graph, source_id)


@router.get("/reading/{document_id:path}", "read", "Read a document from a paragraph", filtered=True)
def read_document(
    container: Open,
    document_id: CalledRead,
    ontology: OntologyFilter = None,
    start: Annotated[
        int | None, Query(ge=0, le=MAX_PARAGRAPH, description="First paragraph, from 0.")
    ] = None,
    token_budget: Annotated[
        int, Query(ge=1, le=MAX_TOKEN_BUDGET, description="One paragraph is always returned.")
    ] = USUAL_READ,
) -> DocumentReading:
    """Read up to 200 paragraphs.

    To read on, use `next` as `start`. 404: unknown name. 409: ambiguous name.
    """
    return container.reading.read(document_id, ontology, start, token_budget)


@router.post("/queries/sources/graph", "read", "Get the similarity graph of sources", filtered=True)
def source_graph(
    container: Open,
    request: Annotated[GraphRequest, declare_example(ontology="handbook", neighbours=3, min_similarity=0.7)],
) -> SourceGraph:
    return container.similarity.build_graph(limit_to_visible(container.graph, request))


@router.post("/queries/sources/{source_id:path}/similar", "read", "Find similar sources", filtered=True)
def similar_sources(container: Open, source_id: SourceId, request: SimilarSearch) -> SimilarSources:
    return container.similarity.find_similar(source_id, limit_to_visible(container.graph, request))
