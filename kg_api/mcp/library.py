"""What the tools ask for. Two ship: the container of this process, and the client of a service elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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


class Library(Protocol):
    """The reading half of kg. Every method may raise any error of kg_api.errors; all may run in threads."""

    def search(self, request: SourceSearch) -> SourceHits: ...

    def hybrid(self, request: HybridSearch) -> HybridHits:
        """Find concepts and sources."""
        ...

    def context(self, source_id: str, window: int) -> SourceContext: ...

    def concepts(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits: ...

    def concept_context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        """Read the sources that carry a concept among their neighbours."""
        ...

    def similar(self, source_id: str, request: SimilarSearch) -> SimilarSources:
        """Find sources that are like one."""
        ...

    def images(self, request: ImageSearch) -> ImageHits:
        """Find pictures by words, or those that are like one."""
        ...

    def related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        """Find what goes with a source."""
        ...

    def thumbnail(self, source_id: str) -> bytes:
        """A picture as WebP of at most 256 pixels a side."""
        ...

    def document(self, document_id: str) -> DocumentContent: ...

    def reading(
        self, called: str, ontology: str | None, start: int | None, token_budget: int
    ) -> DocumentReading:
        """Read a document from a paragraph on."""
        ...

    def page(self, document_id: str, page: int, source_id: str, width: int) -> PageImage:
        """See a page of a PDF, with the words of a source boxed."""
        ...

    def ontologies(self) -> OntologyList: ...

    def documents(
        self, ontology: str | None, offset: int, limit: int, where: Sequence[str] = ()
    ) -> DocumentPage:
        """List documents for which conditions hold, by ontology and name."""
        ...

    def communities(self, ontology: str, parent: str | None, offset: int, limit: int) -> Communities:
        """List communities of an ontology's concepts, or the parts of one."""
        ...

    def proposals(
        self,
        ontology: str | None,
        kind: ProposalKind | None,
        state: ProposalState | None,
        offset: int,
        limit: int,
    ) -> Proposals:
        """List proposed links, the best first."""
        ...
