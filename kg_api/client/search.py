"""Searches, answers, images, concepts, and relationships: methods of the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from kg_api.client.answers import read_page_image, unwrap_event
from kg_api.client.call import (
    MAX_THINKING_SECONDS,
    Call,
    Events,
    build_body,
    build_params,
    build_path,
    fields_of,
    get,
    get_file,
    post,
    put,
)
from kg_api.client.sending import request, stream
from kg_api.errors import InvalidInput
from kg_api.schemas.answers import (
    Answered,
    AnswerEvent,
    AnswerRequest,
    Augmented,
    AugmentRequest,
    HybridHits,
    HybridSearch,
    Statement,
)
from kg_api.schemas.concepts import (
    ConceptContext,
    ConceptDetails,
    ConceptHits,
    ConceptList,
    ConceptMerge,
    ConceptMerges,
    ConceptPaths,
    Decision,
    RelatedConcepts,
    RelationshipHits,
    RelationshipSearch,
    RelationshipType,
    RelationshipTypes,
    TypeMerge,
    TypeMerges,
    TypeMerging,
    TypeProposals,
)
from kg_api.schemas.constructive import (
    ConstructiveQuery,
    ExpandStep,
    FilterStep,
    LimitStep,
    RankStep,
    SeedStep,
    Subgraph,
)
from kg_api.schemas.documents import Message
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.image_search import ImageHits, ImageScope, ImageSearch, RelatedSearch, RelatedSources
from kg_api.schemas.images import PageImage
from kg_api.schemas.search import DocumentReading, ImagePage, Place, SourceHits, SourceSearch, SourceWindow
from kg_api.schemas.similarity import GraphRequest, SimilarSearch, SimilarSources, SourceGraph
from kg_api.schemas.vocabulary import (
    ALIKE,
    USUAL_READ,
    Fusion,
    GroupBy,
    HybridMode,
    SearchMode,
    SourceKind,
    Stance,
)


def get_page(search: SourceSearch) -> Call[SourceHits]:
    """Describe the request to get a page from a search."""
    body = search.model_dump(mode="json", exclude_unset=True)
    return post(SourceHits, "queries", "sources", "search", json=body)


def _answer_events(options: Mapping[str, Any]) -> Events[Statement | Answered]:
    call = post(AnswerEvent, "queries", "answer", json=build_body(AnswerRequest, options, stream=True))
    return Events(call, unwrap_event, silence=MAX_THINKING_SECONDS)


class SearchMethods:
    @request
    def search_sources(
        self,
        query_text: str | None = None,
        *,
        query_vector: Sequence[float] | None = None,
        space: str | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        kinds: Sequence[SourceKind] | None = None,
        mode: SearchMode = "hybrid",
        prefix: bool = False,
        limit: int = 10,
        cursor: str | None = None,
        min_similarity: float | None = None,
        fusion: Fusion = "adaptive",
        rrf_k: int = 60,
        vector_weight: float = 0.7,
        mmr_lambda: float | None = None,
        per_document: int | None = None,
        collapse_duplicates: bool = False,
        group_by: GroupBy = "source",
        rerank: bool = False,
        first_stage_limit: int = 50,
        exact: bool = False,
        hyde: int | Literal["auto"] = 0,
        explain: bool = False,
        concepts: bool = False,
        graph: bool = False,
        include_concepts: bool = False,
        expand_context: bool = False,
        window_size: int = 2,
        token_budget: int | None = None,
    ) -> Call[SourceHits]:
        """Find sources by vectors, full text, or both. You can use the fields in SourceSearch as options."""
        body = build_body(SourceSearch, locals())
        return post(SourceHits, "queries", "sources", "search", json=body)

    @request
    def hybrid_search(
        self,
        query_text: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        kinds: Sequence[SourceKind] | None = None,
        mode: HybridMode = "hybrid",
        concept_limit: int = 5,
        source_limit: int = 10,
        cursor: str | None = None,
        min_similarity: float | None = None,
        rerank: bool = False,
        collapse_duplicates: bool = False,
        explain: bool = False,
        expand_context: bool = False,
        window_size: int = 2,
        token_budget: int | None = None,
    ) -> Call[HybridHits]:
        """Find sources, also using concepts. You can use the fields in HybridSearch as options."""
        return post(HybridHits, "queries", "hybrid", json=build_body(HybridSearch, locals()))

    @request
    def source(self, source_id: str) -> Call[Place]:
        return get(Place, "sources", source_id)

    @request
    def source_context(
        self, source_id: str, *, window_size: int = 2, token_budget: int | None = None
    ) -> Call[SourceWindow]:
        """Get a source with neighbours, up to a token budget if you set one."""
        params = {"window_size": window_size, "token_budget": token_budget}
        return get(SourceWindow, "sources", source_id, "context", **params)

    @request
    def read_document(
        self,
        document_id: str,
        *,
        ontology: str | None = None,
        start: int | None = None,
        token_budget: int = USUAL_READ,
    ) -> Call[DocumentReading]:
        """Read a document from a paragraph, up to the token budget. To read on, pass `next` as `start`."""
        params = {"ontology": ontology, "start": start, "token_budget": token_budget}
        return get(DocumentReading, "reading", document_id, **params)

    @request
    def similar_sources(
        self,
        source_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        min_similarity: float | None = None,
        limit: int = 10,
        same_document: bool = False,
        group_duplicates: bool = True,
        exact: bool = False,
    ) -> Call[SimilarSources]:
        """Find passages that are similar to a source. You can use the fields in SimilarSearch as options."""
        body = build_body(SimilarSearch, locals())
        return post(SimilarSources, "queries", "sources", source_id, "similar", json=body)

    @request
    def cross_document_similarity(
        self, source_id: str, *, limit: int = 10, min_similarity: float | None = None
    ) -> Call[SimilarSources]:
        """Find passages in other documents that are similar to a source, from all ontologies."""
        body = build_body(SimilarSearch, {"limit": limit, "min_similarity": min_similarity})
        return post(SimilarSources, "queries", "sources", source_id, "similar", json=body)

    @request
    def source_graph(
        self,
        source_ids: Sequence[str] | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        min_similarity: float | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        neighbours: int = 5,
        max_nodes: int = 1000,
        across_documents_only: bool = True,
    ) -> Call[SourceGraph]:
        """Get a graph to show similar sources. You can use the fields in GraphRequest as options."""
        body = build_body(GraphRequest, locals())
        return post(SourceGraph, "queries", "sources", "graph", json=body)

    @request
    def augment(
        self,
        text: str | None = None,
        *,
        messages: Sequence[Message | dict[str, Any]] | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        mode: SearchMode = "hybrid",
        chunk_tokens: int = 1800,
        overlap_tokens: int = 150,
        one_query_tokens: int | None = None,
        whole: bool = False,
        per_piece: int = 5,
        min_similarity: float | None = None,
        per_document: int | None = 1,
        limit: int = 5,
        mmr_lambda: float | None = None,
        deduplicate: bool = False,
        exact: bool = False,
        token_budget: int | None = None,
    ) -> Call[Augmented]:
        """Find passages that are relevant to a text or a conversation, as records and as a context block.

        The options are the fields of AugmentRequest. Messages have author, text and an optional timestamp.
        """
        return post(Augmented, "queries", "augment", json=build_body(AugmentRequest, locals()))

    @request
    def answer(
        self,
        question: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 8,
        min_similarity: float | None = None,
        rerank: bool = False,
        hyde: int | Literal["auto"] = 0,
        concepts: bool = False,
        window_size: int = 1,
        token_budget: int = 6000,
    ) -> Call[Answered]:
        """Answer a question with citations, or get the reason why this is not possible.

        The options are the fields of AnswerRequest.
        """
        events = _answer_events(locals())
        return replace(events.call, answer=Answered, events=events)

    @stream
    def stream_answer(
        self,
        question: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 8,
        min_similarity: float | None = None,
        rerank: bool = False,
        hyde: int | Literal["auto"] = 0,
        concepts: bool = False,
        window_size: int = 1,
        token_budget: int = 6000,
    ) -> Events[Statement | Answered]:
        """Yield statements when the model has written them, and then the complete answer."""
        return _answer_events(locals())

    @request
    def images(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> Call[ImagePage]:
        """List images by ontology and document, with the text that is used to find each."""
        return get(ImagePage, "images", ontology=ontology, offset=offset, limit=limit)

    @request
    def image(self, source_id: str) -> Call[bytes]:
        return get_file("images", source_id)

    @request
    def thumbnail(self, source_id: str) -> Call[bytes]:
        """Get an image as WebP, with up to 256 pixels on each side."""
        return get_file("images", source_id, "thumbnail")

    @request
    def page_image(
        self,
        document: str,
        page: int,
        *,
        source_id: str | None = None,
        query: str | None = None,
        width: int | None = None,
        ontology: str | None = None,
    ) -> Call[PageImage]:
        """Get a page from a PDF document as a PNG image.

        Args:
            document: Name, ONTOLOGY/NAME or id of the document.
            page: Page number, from 1.
            source_id: Source to box, such as a hit.
            query: Words to box wherever full-text search finds them.
            width: Width in pixels (default: 1200).
            ontology: Ontology of the document (default: any).
        """
        asked = {"source_id": source_id, "query": query, "width": width, "ontology": ontology}
        path, params = build_path("documents", document, "pages", f"{page}.png"), build_params(**asked)
        return Call("GET", path, PageImage, params=params, convert=partial(read_page_image, page))

    @request
    def related_sources(
        self,
        source_id: str,
        *,
        kinds: Sequence[SourceKind] | None = None,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        same_document: bool = False,
        limit: int = 10,
    ) -> Call[RelatedSources]:
        """Find passages for an image, or images for a passage.

        The options are the fields of RelatedSearch.
        """
        body = build_body(RelatedSearch, locals())
        return post(RelatedSources, "queries", "sources", source_id, "related", json=body)

    @request
    def search_images(
        self,
        query_text: str | None = None,
        *,
        source_id: str | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
    ) -> Call[ImageHits]:
        """Find images using a text or a stored image. You can use the fields in ImageSearch as options."""
        body = build_body(ImageSearch, locals())
        return post(ImageHits, "queries", "images", "search", json=body)

    @request
    def search_by_image(
        self,
        file: bytes,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
    ) -> Call[ImageHits]:
        """Find images using an image file. The file will not be stored.

        You can use the fields in ImageScope as options.
        """
        fields = fields_of(ImageScope, locals())
        files = {"file": ("picture", file)}
        return post(ImageHits, "queries", "images", "search", data=fields, files=files)

    @request
    def search_concepts(
        self,
        query_text: str,
        *,
        ontology: str | None = None,
        ontologies: Sequence[str] | None = None,
        limit: int = 10,
    ) -> Call[ConceptHits]:
        """Find concepts by vectors, full text, and name.

        If `fits` is not set, a hit is only the nearest concept.
        """
        several = None if ontologies is None else list(ontologies)
        if several == []:
            raise InvalidInput("ontologies is empty. Omit the parameter to search all")
        params = {"query_text": query_text, "ontology": ontology, "ontologies": several, "limit": limit}
        return get(ConceptHits, "concepts", "search", **params)

    @request
    def concept(self, concept_id: str, *, limit: int = 20) -> Call[ConceptDetails]:
        """Get a concept with up to `limit` quotes and up to `limit` related concepts."""
        return get(ConceptDetails, "concepts", concept_id, limit=limit)

    @request
    def get_concept_context(
        self, concept_id: str, *, window_size: int = 2, limit: int = 10
    ) -> Call[ConceptContext]:
        """Get the sources that contain a concept, with the neighbours from the same document."""
        return get(ConceptContext, "concepts", concept_id, "context", window_size=window_size, limit=limit)

    @request
    def related_concepts(self, concept_id: str, *, hops: int = 1, limit: int = 50) -> Call[RelatedConcepts]:
        """Find the concepts that can be reached from a concept in `hops` steps."""
        return get(RelatedConcepts, "concepts", concept_id, "related", hops=hops, limit=limit)

    @request
    def concept_paths(
        self, start: str, end: str, *, ontology: str | None = None, hops: int = 4, limit: int = 5
    ) -> Call[ConceptPaths]:
        """Find the shortest paths between two concepts. You can use an id, a name, or a phrase for each."""
        ends = {"from": start, "to": end}
        return get(ConceptPaths, "concepts", "paths", **ends, ontology=ontology, hops=hops, limit=limit)

    @request
    def concepts(self, ontology: str, *, offset: int = 0, limit: int = 100) -> Call[ConceptList]:
        """List the concepts in an ontology, one page at a time. Concepts from more sources are first."""
        return get(ConceptList, "ontologies", ontology, "concepts", offset=offset, limit=limit)

    @request
    def concept_merges(
        self, ontology: str, *, concept_id: str | None = None, offset: int = 0, limit: int = 100
    ) -> Call[ConceptMerges]:
        """List merged concepts with the reasons, the latest first.

        To see the merges into a concept, use `concept_id`.
        """
        asked = {"concept_id": concept_id, "offset": offset, "limit": limit}
        return get(ConceptMerges, "ontologies", ontology, "concept-merges", **asked)

    @request
    def undo_concept_merge(
        self, ontology: str, merge_id: str, *, by: str | None = None
    ) -> Call[ConceptMerge]:
        """Separate merged concepts. They will not be merged again."""
        body = build_body(Decision, locals())
        path = ("ontologies", ontology, "concept-merges", merge_id, "undo")
        return post(ConceptMerge, *path, json=body)

    @request
    def search_relationships(
        self,
        query_text: str,
        *,
        ontologies: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
    ) -> Call[RelationshipHits]:
        """Find relationships that are stated in sources, using vector search."""
        body = build_body(RelationshipSearch, locals())
        return post(RelationshipHits, "relationships", "search", json=body)

    @request
    def constructive_query(
        self,
        steps: Sequence[SeedStep | ExpandStep | FilterStep | RankStep | LimitStep | dict[str, Any]],
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        seconds: float = 10,
    ) -> Call[Subgraph]:
        """Build a subgraph from the steps in a ConstructiveQuery: seed, expand, filter, rank, and limit."""
        body = build_body(ConstructiveQuery, locals())
        return post(Subgraph, "queries", "constructive", json=body)

    @request
    def relationship_types(
        self, ontology: str, *, offset: int = 0, limit: int = 100
    ) -> Call[RelationshipTypes]:
        return get(
            RelationshipTypes, "ontologies", ontology, "relationship-types", offset=offset, limit=limit
        )

    @request
    def propose_relationship_types(
        self, ontology: str, *, min_similarity: float = ALIKE, limit: int = 20
    ) -> Call[TypeProposals]:
        """Find relationship types that may be synonyms. This does not change them."""
        asked = {"min_similarity": min_similarity, "limit": limit}
        path = ("ontologies", ontology, "relationship-types", "proposals")
        return get(TypeProposals, *path, **asked)

    @request
    def merge_relationship_types(
        self, ontology: str, *, into: str, merged: Sequence[str], by: str | None = None, dry_run: bool = False
    ) -> Call[TypeMerge]:
        body = build_body(TypeMerging, locals())
        path = ("ontologies", ontology, "relationship-types", "merges")
        return post(TypeMerge, *path, json=body)

    @request
    def relationship_type_merges(
        self, ontology: str, *, offset: int = 0, limit: int = 100
    ) -> Call[TypeMerges]:
        """List merges of relationship types, with author and time. The latest is first."""
        path = ("ontologies", ontology, "relationship-types", "merges")
        return get(TypeMerges, *path, offset=offset, limit=limit)

    @request
    def undo_type_merge(self, ontology: str, merge_id: str, *, by: str | None = None) -> Call[TypeMerge]:
        body = build_body(Decision, locals())
        path = ("ontologies", ontology, "relationship-types", "merges", merge_id, "undo")
        return post(TypeMerge, *path, json=body)

    @request
    def set_relationship_stance(
        self, ontology: str, kind: str, stance: Stance | None
    ) -> Call[RelationshipType]:
        """Set if a type supports or contradicts. To use the default for its name, pass None."""
        body = {"type": kind, "stance": stance}
        path = ("ontologies", ontology, "relationship-types", "stance")
        return put(RelationshipType, *path, json=body, dry_run=False)
