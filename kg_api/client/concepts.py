"""Client methods for concepts, relationships, and subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, build_body, get, post, put
from kg_api.client.sending import request
from kg_api.errors import InvalidInput
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
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.vocabulary import ALIKE, Stance


class ConceptMethods:
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
