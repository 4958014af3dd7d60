"""Communities as they are shown: always of one whole generation."""

from __future__ import annotations

from typing import Any, Final

from kg_api.errors import NotFound
from kg_api.graph.communities.generations import StoredState, read_state, state_of
from kg_api.graph.database import Graph, Reader, Row
from kg_api.graph.naming.documents import MAX_OFFERED
from kg_api.graph.naming.nodes import only_one
from kg_api.graph.naming.ontologies import unknown_ontology
from kg_api.models.communities.communities import CommunityConcept, CommunityDocument, CommunityPassage
from kg_api.models.queries.places import Place

CENTRAL: Final = 30
"""Concepts of a community by which passages are chosen, those that are most its own."""


def page_of_communities(
    graph: Reader, ontology: str, *, level: int, parent_id: str | None, offset: int, limit: int
) -> tuple[StoredState, list[Row], int]:
    """Communities of a level, or the parts of one, the largest first.

    Returns:
        What is known of their generation, those of the page, and how many there are in all.

    Raises:
        NotFound: there is no such ontology.
    """
    given = {"level": level, "parent_id": parent_id, "offset": offset, "limit": limit}
    rows = graph.read("communities/page", ontology=ontology, **given)
    if not rows:
        raise unknown_ontology(graph, ontology)
    return state_of(rows[0]), rows[0]["found"], rows[0]["total"]


def find_community(graph: Reader, ontology: str, called: str) -> Row:
    """The community of an ontology whose id is, or begins with, some digits; with its `generation`.

    Raises:
        NotFound: there is none, or no such ontology.
        Conflict: there are several.
    """
    rows = graph.read("communities/find", ontology=ontology, prefix=called, limit=MAX_OFFERED)
    found = only_one("community_id", called, [row["community"] for row in rows])
    if found is None:
        read_state(graph, ontology)
        raise NotFound(
            f"{ontology} has no community {called!r}: it may have changed since; "
            f"`kg communities list --ontology {ontology}` shows the existing ones"
        )
    return {**found, "computed_at": rows[0]["at"].to_native()}


def members_of(graph: Graph, community: Row, *, offset: int, limit: int) -> list[CommunityConcept]:
    """Concepts of a community, those first that are most its own."""
    rows = graph.read("communities/members", **_key(community), offset=offset, limit=limit)
    return [CommunityConcept.model_validate(row) for row in rows]


def passages_of(graph: Graph, community: Row, limit: int) -> list[CommunityPassage]:
    """The passages that say most of what a community is about."""
    rows = graph.read("communities/passages", **_key(community), most_concepts=CENTRAL, limit=limit)
    return [
        CommunityPassage(weight=row["weight"], concepts=row["concepts"], source=Place.model_validate(row))
        for row in rows
    ]


def documents_of(graph: Graph, community: Row, limit: int) -> list[CommunityDocument]:
    """The documents that say most of what a community is about."""
    rows = graph.read("communities/documents", **_key(community), most_concepts=CENTRAL, limit=limit)
    return [CommunityDocument.model_validate(row) for row in rows]


def _key(community: Row) -> dict[str, Any]:
    return {name: community[name] for name in ("generation", "community_id")}
