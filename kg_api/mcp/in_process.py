"""The library of this process; apart from the port, for it loads the driver and the model's runtime."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kg_api.access.narrowing import narrowed
from kg_api.bootstrap import Container, open_container
from kg_api.graph.documents import library
from kg_api.graph.naming.ontologies import searched
from kg_api.graph.naming.reach import require
from kg_api.images.pages import PageRequest
from kg_api.models.communities.communities import Communities
from kg_api.models.concepts.queries import ConceptContext, ConceptHits
from kg_api.models.images import PageImage
from kg_api.models.library.documents import DocumentContent, DocumentPage, OntologyList
from kg_api.models.pictures.related import RelatedSearch, RelatedSources
from kg_api.models.pictures.search import ImageHits, ImageSearch
from kg_api.models.problems import valid
from kg_api.models.proposals.proposals import Proposals
from kg_api.models.queries.filters import DocumentFilter
from kg_api.models.queries.hybrid import HybridHits, HybridSearch
from kg_api.models.queries.reading import DocumentReading
from kg_api.models.queries.search import SourceHits, SourceSearch
from kg_api.models.queries.similarity import SimilarSearch, SimilarSources
from kg_api.models.queries.windows import SourceContext
from kg_api.models.vocabulary import ProposalKind, ProposalState
from kg_api.settings import Settings
from kg_api.spaces.plans import read_embedding_states


class ContainerLibrary:
    """The library of this process.

    Args:
        container: gives the container, or raises Unavailable while it is not open yet.
    """

    def __init__(self, container: Callable[[], Container]) -> None:
        self._container = container

    def search(self, request: SourceSearch) -> SourceHits:
        container = self._container()
        return container.search.search(narrowed(container.graph, request))

    def hybrid(self, request: HybridSearch) -> HybridHits:
        container = self._container()
        return container.hybrid.search(narrowed(container.graph, request))

    def context(self, source_id: str, window: int) -> SourceContext:
        return self._container().search.context(source_id, window)

    def concepts(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits:
        container = self._container()
        return container.concepts.search(query_text, searched(container.graph, ontologies), limit)

    def concept_context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        return self._container().concepts.context(concept_id, window, limit)

    def similar(self, source_id: str, request: SimilarSearch) -> SimilarSources:
        container = self._container()
        return container.similarity.similar(source_id, narrowed(container.graph, request))

    def images(self, request: ImageSearch) -> ImageHits:
        container = self._container()
        return container.image_search.search(narrowed(container.graph, request))

    def related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        container = self._container()
        return container.related.related(source_id, narrowed(container.graph, request))

    def thumbnail(self, source_id: str) -> bytes:
        return self._container().images.thumbnail(source_id).content

    def document(self, document_id: str) -> DocumentContent:
        return library.find_document(self._container().graph, document_id)

    def reading(
        self, called: str, ontology: str | None, start: int | None, token_budget: int
    ) -> DocumentReading:
        return self._container().search.read(called, ontology, start, token_budget)

    def page(self, document_id: str, page: int, source_id: str, width: int) -> PageImage:
        request = PageRequest(document_id, page, width, source_id=source_id)
        return self._container().pages.image(request)

    def ontologies(self) -> OntologyList:
        graph = self._container().graph
        counted = [embedding_state.counted for embedding_state in read_embedding_states(graph).values()]
        return OntologyList(ontologies=library.list_ontologies(graph, counted))

    def documents(
        self, ontology: str | None, offset: int, limit: int, where: Sequence[str] = ()
    ) -> DocumentPage:
        conditions = valid(DocumentFilter, {"where": list(where)}).where
        graph = self._container().graph
        return library.list_documents(graph, ontology=ontology, offset=offset, limit=limit, where=conditions)

    def communities(self, ontology: str, parent: str | None, offset: int, limit: int) -> Communities:
        require(ontology)
        page = self._container().communities.page
        return page(ontology, level=0, parent=parent, offset=offset, limit=limit)

    def proposals(
        self,
        ontology: str | None,
        kind: ProposalKind | None,
        state: ProposalState | None,
        offset: int,
        limit: int,
    ) -> Proposals:
        return self._container().proposals.page(ontology, kind, state, offset, limit)


class LazyContainer:
    """A container that is opened at the first call: an agent is served at once, and told what is amiss."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening = threading.Lock()
        self._container: Container | None = None

    def get(self) -> Container:
        """The container.

        Raises:
            KgError: it cannot be opened; the next call tries again.
        """
        with self._opening:
            if self._container is None:
                self._container = open_container(self._settings, needs_embedder=False)
            return self._container

    def close(self) -> None:
        """Close it, if it was opened."""
        if self._container is not None:
            self._container.close()
