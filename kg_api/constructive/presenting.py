"""What a query has built, read for the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kg_api.constructive.working_set import WorkingEdge, WorkingNode, WorkingSet
from kg_api.graph.concepts.reads import concepts_of
from kg_api.graph.database import Graph
from kg_api.graph.search.similar import places_of
from kg_api.graph.traversal.evidence import documents_of, quotes_of, statements_of
from kg_api.models.concepts.queries import Concept
from kg_api.models.constructive.subgraph import (
    AnyNode,
    DocumentFacts,
    EdgeQuote,
    SubgraphConcept,
    SubgraphDocument,
    SubgraphEdge,
    SubgraphSource,
)
from kg_api.models.queries.places import DescribedPlace

MAX_WAYS = 3

Quotes = Mapping[tuple[str, str], Sequence[EdgeQuote]]


@dataclass(frozen=True, slots=True)
class ReadNodes:
    """What nodes are, by id; one that has gone meanwhile is missing."""

    concepts: Mapping[str, Concept]
    sources: Mapping[str, DescribedPlace]
    documents: Mapping[str, DocumentFacts]

    def __contains__(self, identity: str) -> bool:
        return identity in self.concepts or identity in self.sources or identity in self.documents


def present(graph: Graph, built: WorkingSet) -> tuple[list[AnyNode], list[SubgraphEdge]]:
    """Nodes, the best first, and the edges between them with what proves them."""
    read = _read(graph, built)
    there = [node for node in built.ranked() if node.id in read]
    edges = [edge for edge in built.edges.values() if all(end in read for end in edge.ends)]
    statements = statements_of(graph, [each for edge in edges for each in edge.relation_ids[:MAX_WAYS]])
    quotes = quotes_of(graph, read.sources) if any(edge.kind == "appears_in" for edge in edges) else {}
    nodes = [_node(node, rank, read) for rank, node in enumerate(there, start=1)]
    return nodes, [_edge(edge, statements, quotes) for edge in edges]


def _read(graph: Graph, built: WorkingSet) -> ReadNodes:
    sources = [node.id for node in built.of("passage", "image")]
    documents = [node.id for node in built.of("document")]
    return ReadNodes(
        concepts_of(graph, (node.id for node in built.of("concept"))),
        {place.source_id: place for place in places_of(graph, sources)} if sources else {},
        documents_of(graph, documents) if documents else {},
    )


def _node(node: WorkingNode, rank: int, read: ReadNodes) -> AnyNode:
    ways = node.ways
    shared: dict[str, Any] = {
        "id": node.id,
        "rank": rank,
        "score": node.score,
        "similarity": node.similarity,
        "reached": ways[:MAX_WAYS],
        "more_reached": max(0, len(ways) - MAX_WAYS),
    }
    if node.kind == "concept":
        return SubgraphConcept(kind="concept", concept=read.concepts[node.id], **shared)
    if node.kind == "document":
        return SubgraphDocument(kind="document", document=read.documents[node.id], **shared)
    return SubgraphSource(kind=node.kind, source=read.sources[node.id], **shared)


def _edge(edge: WorkingEdge, statements: Mapping[str, EdgeQuote], quotes: Quotes) -> SubgraphEdge:
    said = [statements[each] for each in edge.relation_ids[:MAX_WAYS] if each in statements]
    return SubgraphEdge(
        kind=edge.kind,
        subject=edge.subject,
        type=edge.type,
        object=edge.object,
        steps=edge.steps,
        sources=edge.support,
        verified=edge.verified,
        quotes=[*quotes.get((edge.subject, edge.object), ())] if edge.kind == "appears_in" else said,
    )
