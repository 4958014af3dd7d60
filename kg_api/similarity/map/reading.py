"""What a map is made of, portion by portion: few vectors are held at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.database import Graph, portions
from kg_api.graph.search.similar import vectors_of
from kg_api.models.library.moments import moments_of
from kg_api.models.queries.similarity import MapDocument
from kg_api.spaces.plans import OntologySnapshot

PORTION: Final = 1000
DAY: Final = 10
"""Characters of `2025-01-31`."""


@dataclass(frozen=True, slots=True)
class PassagePortion:
    """Passages with vectors, and what they belong to."""

    source_ids: list[str]
    documents: list[str]
    """Ids."""
    communities: list[str | None]
    """Ids of those that the passages' concepts are most of."""
    vectors: NDArray[np.float32]


def read_passages(
    graph: Graph, ontology: str, limit: int, known: OntologySnapshot, *, grouped: bool
) -> Iterator[PassagePortion]:
    """Those that have a vector, of the first so many by their ids, which are as good as drawn by lot.

    Args:
        graph: where they are.
        ontology: whose.
        limit: so many passages are looked at.
        known: all ontologies.
        grouped: whether there are communities; without any none is looked for.
    """
    after, left = "", limit
    while left > 0:
        wanted = min(left, PORTION)
        rows = graph.read("similar/of_ontology", ontology=ontology, after=after, limit=wanted)
        if not rows:
            return
        after, left = rows[-1]["source_id"], left - len(rows)
        portion = _portion(graph, {row["source_id"]: row["document_id"] for row in rows}, known)
        of = read_communities(graph, ontology, portion.source_ids) if grouped else {}
        yield replace(portion, communities=[of.get(each) for each in portion.source_ids])


def read_communities(graph: Graph, ontology: str, source_ids: Sequence[str]) -> dict[str, str]:
    """By source the community that its concepts are most of; those of none are missing."""
    rows = graph.read("communities/of_sources", ontology=ontology, source_ids=list(source_ids))
    return {row["source_id"]: row["community_id"] for row in rows}


def _portion(graph: Graph, documents: dict[str, str], known: OntologySnapshot) -> PassagePortion:
    """Some passages, their communities left open."""
    found = vectors_of(graph, list(documents), known.answering, known.new)
    parts = {each: found[each] for each in documents if found.get(each)}
    means = [np.mean([part.vector for part in each], axis=0) for each in parts.values()]
    return PassagePortion(
        source_ids=list(parts),
        documents=[documents[each] for each in parts],
        communities=[None] * len(parts),
        vectors=np.array(means, dtype=np.float32),
    )


def read_documents(graph: Graph, document_ids: Sequence[str]) -> list[MapDocument]:
    """What is told of documents, in the order of the ids; one that has gone since has its id alone."""
    rows = [
        row
        for some in portions(document_ids, PORTION)
        for row in graph.read("documents/about", document_ids=list(some))
    ]
    there = {row["document_id"]: row for row in rows}
    return [_document(each, there.get(each)) for each in document_ids]


def _document(document_id: str, row: dict[str, Any] | None) -> MapDocument:
    if row is None:
        return MapDocument(document_id=document_id, document=document_id, title=document_id)
    return MapDocument(
        document_id=document_id,
        document=row["document"],
        title=row["title"],
        date=_day(json.loads(row["metadata"] or "{}").get("date")),
    )


def _day(given: object) -> str | None:
    """When a document says it is of: of several dates the first."""
    found = moments_of(given)
    return found[0].start.isoformat()[:DAY] if found else None
