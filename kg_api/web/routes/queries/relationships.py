"""Relationships: what sources state of concepts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query
from fastapi.openapi.models import Example

from kg_api.access.narrowing import narrowed
from kg_api.models.base import NodeId
from kg_api.models.concepts.relations import RelationshipHits, RelationshipSearch
from kg_api.models.concepts.vocabulary import (
    RelationshipType,
    RelationshipTypes,
    StanceChange,
    TypeMerge,
    TypeMerges,
    TypeMergeUndoing,
    TypeMerging,
    TypeProposals,
)
from kg_api.models.vocabulary import ALIKE, MAX_LIMIT
from kg_api.web.dependencies import Offset, Ontology, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["concepts"], route_class=StrictRoute)

SEARCHES: dict[str, Example] = {
    "by meaning": {"value": {"query_text": "what does a lease need", "limit": 5}},
    "of a type": {
        "value": {"query_text": "lease", "ontologies": ["notes"], "types": ["requires", "depends on"]}
    },
}

MERGES: dict[str, Example] = {
    "two into one": {
        "value": {"into": "requires", "merged": ["needs", "depends on"], "by": "Ada", "dry_run": True}
    }
}
STANCES: dict[str, Example] = {
    "against": {"value": {"type": "casts doubt on", "stance": "contradicts"}},
    "by its name again": {"value": {"type": "casts doubt on", "stance": None}},
}
TYPES = "/ontologies/{ontology}/relationship-types"
MergeId = Annotated[NodeId, Path(description="Id of a merge.")]


@router.post("/relationships/search", summary="Search relationships by what they say")
def search_relationships(
    container: Open, body: Annotated[RelationshipSearch, Body(openapi_examples=SEARCHES)]
) -> RelationshipHits:
    """Give the relationships nearest in meaning: subject, type, object, and the sources that state them.

    They are compared by their vectors only. What several sources state is one hit, with its statements.
    """
    return container.relationships.search(narrowed(container.graph, body))


@router.get(TYPES, summary="List the relationship types of an ontology")
def list_relationship_types(
    container: Open, ontology: Ontology, offset: Offset = 0, limit: PageSize = 100
) -> RelationshipTypes:
    """Give the types that sources state relationships with, the most frequent first."""
    return container.relationship_types.page(ontology, offset, limit)


@router.get(TYPES + "/proposals", summary="Propose relationship types to merge")
def propose_relationship_types(
    container: Open,
    ontology: Ontology,
    min_similarity: Annotated[
        float, Query(ge=0, le=1, description="Minimum cosine similarity of two names.")
    ] = ALIKE,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of proposals.")] = 20,
) -> TypeProposals:
    """Give types whose names are alike, with examples of what is stated with each. Nothing is changed."""
    return container.relationship_types.propose(ontology, min_similarity, limit)


@router.put(TYPES + "/stance", summary="Set what a relationship type speaks for")
def put_stance(
    container: Open, ontology: Ontology, body: Annotated[StanceChange, Body(openapi_examples=STANCES)]
) -> RelationshipType:
    """Say whether a type supports or contradicts; grounding counts no type of which nothing is said."""
    return container.relationship_types.set_stance(ontology, body)


@router.get(TYPES + "/merges", summary="List merges of relationship types")
def list_type_merges(
    container: Open, ontology: Ontology, offset: Offset = 0, limit: PageSize = 100
) -> TypeMerges:
    """Give what was merged, by whom and when, the last first; what was undone stays in the list."""
    return container.relationship_types.merges(ontology, offset, limit)


@router.post(TYPES + "/merges", summary="Merge relationship types")
def merge_relationship_types(
    container: Open, ontology: Ontology, body: Annotated[TypeMerging, Body(openapi_examples=MERGES)]
) -> TypeMerge:
    """Let types be read as another one. What each source states is kept, so that it can be undone.

    What comes in later with a merged type is of the other, too.
    """
    return container.relationship_types.merge(ontology, body)


@router.post(TYPES + "/merges/{merge_id}/undo", summary="Undo a merge of relationship types")
def undo_type_merge(
    container: Open, ontology: Ontology, merge_id: MergeId, body: TypeMergeUndoing
) -> TypeMerge:
    """Let its types be on their own again; doing it twice changes nothing more."""
    return container.relationship_types.undo(ontology, merge_id, body.by)
