"""The library of a running service, for `kg mcp`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from kg_api.client import KgClient
from kg_api.errors import ServiceUnreachable
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.communities import Communities
from kg_api.schemas.concepts import ConceptContext, ConceptHits
from kg_api.schemas.documents import DocumentContent, DocumentPage, OntologyList
from kg_api.schemas.image_search import ImageHits, ImageSearch, RelatedSearch, RelatedSources
from kg_api.schemas.images import PageImage
from kg_api.schemas.proposals import Proposals
from kg_api.schemas.search import DocumentReading, SourceContext, SourceHits, SourceSearch
from kg_api.schemas.similarity import SimilarSearch, SimilarSources
from kg_api.schemas.vocabulary import ProposalKind, ProposalState

T = TypeVar("T")


class ClientLibrary:
    """Asks a kg service (see `kg_api.mcp.library.Library`), looked for anew when it does not answer.

    So an agent may be started before `kg up`, and live through `kg down` and `kg up` on another port.

    Args:
        connect: gives a client, or raises ServiceUnreachable.
    """

    def __init__(self, connect: Callable[[], KgClient]) -> None:
        self._connect = connect
        self._client: KgClient | None = None
        self._changing = threading.Lock()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def search(self, request: SourceSearch) -> SourceHits:
        return self._ask(lambda kg: kg.search_sources(**request.model_dump(exclude_unset=True)))

    def hybrid(self, request: HybridSearch) -> HybridHits:
        """Find concepts and sources."""
        return self._ask(lambda kg: kg.hybrid_search(**request.model_dump(exclude_unset=True)))

    def context(self, source_id: str, window: int) -> SourceContext:
        return self._ask(lambda kg: kg.source_context(source_id, window_size=window))

    def concepts(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits:
        return self._ask(lambda kg: kg.search_concepts(query_text, ontologies=ontologies, limit=limit))

    def concept_context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        """Read the sources that carry a concept among their neighbours."""
        return self._ask(lambda kg: kg.get_concept_context(concept_id, window_size=window, limit=limit))

    def similar(self, source_id: str, request: SimilarSearch) -> SimilarSources:
        """Find sources that are like one."""
        asked = request.model_dump(exclude_unset=True)
        return self._ask(lambda kg: kg.similar_sources(source_id, **asked))

    def images(self, request: ImageSearch) -> ImageHits:
        """Find pictures by words, or those that are like one."""
        return self._ask(lambda kg: kg.search_images(**request.model_dump(exclude_unset=True)))

    def related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        """Find what goes with a source."""
        asked = request.model_dump(exclude_unset=True)
        return self._ask(lambda kg: kg.related_sources(source_id, **asked))

    def thumbnail(self, source_id: str) -> bytes:
        """A picture as WebP of at most 256 pixels a side."""
        return self._ask(lambda kg: kg.thumbnail(source_id))

    def document(self, document_id: str) -> DocumentContent:
        return self._ask(lambda kg: kg.document(document_id))

    def reading(
        self, called: str, ontology: str | None, start: int | None, token_budget: int
    ) -> DocumentReading:
        return self._ask(
            lambda kg: kg.read_document(called, ontology=ontology, start=start, token_budget=token_budget)
        )

    def page(self, document_id: str, page: int, source_id: str, width: int) -> PageImage:
        return self._ask(lambda kg: kg.page_image(document_id, page, source_id=source_id, width=width))

    def ontologies(self) -> OntologyList:
        return self._ask(lambda kg: kg.ontologies())

    def documents(
        self, ontology: str | None, offset: int, limit: int, where: Sequence[str] = ()
    ) -> DocumentPage:
        return self._ask(lambda kg: kg.documents(ontology, where=where, offset=offset, limit=limit))

    def communities(self, ontology: str, parent: str | None, offset: int, limit: int) -> Communities:
        """List communities of an ontology's concepts, or the parts of one."""
        return self._ask(lambda kg: kg.communities(ontology, parent=parent, offset=offset, limit=limit))

    def proposals(
        self,
        ontology: str | None,
        kind: ProposalKind | None,
        state: ProposalState | None,
        offset: int,
        limit: int,
    ) -> Proposals:
        """List proposed links, the best first."""
        return self._ask(
            lambda kg: kg.proposals(ontology, kind=kind, state=state, offset=offset, limit=limit)
        )

    def _ask(self, call: Callable[[KgClient], T]) -> T:
        with self._changing:
            client = self._client = self._client or self._connect()
        try:
            return call(client)
        except ServiceUnreachable:
            with self._changing:
                if self._client is client:
                    self._client = None
            raise
