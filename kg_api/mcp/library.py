"""Read access to kg for tools, inside the service process. Only this module loads the Neo4j driver."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from mcp_types import CallToolResult, ImageContent, TextContent

from kg_api.access.keys import limit_to_visible
from kg_api.blobs.pages import PageRequest
from kg_api.container import Container
from kg_api.errors import KgError
from kg_api.graph import library
from kg_api.graph.names import list_searched_ontologies
from kg_api.mcp.answers import to_json
from kg_api.mcp.server import to_error
from kg_api.mcp.tool import Tool
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.concepts import ConceptContext, ConceptHits
from kg_api.schemas.documents import DocumentContent, DocumentPage, OntologyList
from kg_api.schemas.filters import DocumentFilter
from kg_api.schemas.image_search import ImageHits, ImageSearch, RelatedSearch, RelatedSources
from kg_api.schemas.images import PageImage
from kg_api.schemas.problems import validate
from kg_api.schemas.search import DocumentReading, SourceContext, SourceHits, SourceSearch
from kg_api.schemas.similarity import SimilarSearch, SimilarSources
from kg_api.spaces.plans import list_ontologies

log = structlog.get_logger()


class Library:
    """Data access of the tools. Every method is thread-safe and may raise any KgError."""

    def __init__(self, container: Callable[[], Container]) -> None:
        self._container = container

    def call(self, tool: Tool[Any], arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool and return its answer as structured content, and as text for older clients.

        Images follow the text. An answer with images omits the structured content, because clients that know
        structured content show nothing else.
        """
        begun = time.perf_counter()
        failure = None
        try:
            answer, images = tool.call(self, arguments)
            pictures = [
                ImageContent(data=base64.b64encode(each.content).decode(), mime_type=each.content_type)
                for each in images
            ]
            result = CallToolResult(
                content=[TextContent(text=to_json(answer)), *pictures],
                structured_content=None if pictures else answer,
            )
        except KgError as error:
            result, failure = to_error(str(error)), type(error).__name__
        except Exception as error:  # request boundary: log a bug without details for the client
            log.exception("unexpected error", tool=tool.name)
            result, failure = to_error(str(KgError())), type(error).__name__
        log.info("tool", tool=tool.name, ms=round((time.perf_counter() - begun) * 1000, 1), error=failure)
        return result

    def search(self, request: SourceSearch) -> SourceHits:
        container = self._container()
        return container.search.search(limit_to_visible(container.graph, request))

    def hybrid(self, request: HybridSearch) -> HybridHits:
        container = self._container()
        return container.hybrid.search(limit_to_visible(container.graph, request))

    def context(self, source_id: str, window: int) -> SourceContext:
        return self._container().reading.read_context(source_id, window)

    def concepts(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits:
        container = self._container()
        return container.concepts.search(
            query_text, list_searched_ontologies(container.graph, ontologies), limit
        )

    def concept_context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        return self._container().concepts.get_context(concept_id, window, limit)

    def similar(self, source_id: str, request: SimilarSearch) -> SimilarSources:
        container = self._container()
        return container.similarity.find_similar(source_id, limit_to_visible(container.graph, request))

    def images(self, request: ImageSearch) -> ImageHits:
        container = self._container()
        return container.image_search.search(limit_to_visible(container.graph, request))

    def related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        container = self._container()
        return container.related.find_related(source_id, limit_to_visible(container.graph, request))

    def thumbnail(self, source_id: str) -> bytes:
        return self._container().files.get_thumbnail(source_id).content

    def document(self, document_id: str) -> DocumentContent:
        return library.find_document(self._container().graph, document_id)

    def reading(
        self, called: str, ontology: str | None, start: int | None, token_budget: int
    ) -> DocumentReading:
        return self._container().reading.read(called, ontology, start, token_budget)

    def page(self, document_id: str, page: int, source_id: str, width: int) -> PageImage:
        request = PageRequest(document_id, page, width, source_id=source_id)
        return self._container().pages.get_image(request)

    def ontologies(self) -> OntologyList:
        return OntologyList(ontologies=list_ontologies(self._container().graph))

    def documents(
        self, ontology: str | None, offset: int, limit: int, where: Sequence[str] = ()
    ) -> DocumentPage:
        conditions = validate(DocumentFilter, {"where": list(where)}).where
        graph = self._container().graph
        return library.list_documents(graph, ontology=ontology, offset=offset, limit=limit, where=conditions)
