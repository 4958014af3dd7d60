"""Finding relationships by vectors, and reading what states them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neo4j.vector import Vector

from kg_api.graph.concepts.reads import SCANNED
from kg_api.graph.database import Graph, Row
from kg_api.graph.relations.speaking import evidence_of_row
from kg_api.graph.search.concepts import Meaning
from kg_api.models.concepts.relations import RelationshipEnd, RelationshipEvidence
from kg_api.models.identity import concept_name, relation_type_id


@dataclass(frozen=True, slots=True)
class StatedRelationship:
    """What one source states of two concepts."""

    subject: RelationshipEnd
    type: str
    type_key: str
    object: RelationshipEnd
    ontology: str
    stating: int
    """How many sources state the same."""
    evidence: RelationshipEvidence

    @property
    def key(self) -> tuple[str, str, str]:
        """Statements of one key say the same."""
        return self.subject.concept_id, self.type_key, self.object.concept_id


def near_relations(
    graph: Graph, meaning: Meaning, type_keys: Sequence[str] | None, limit: int
) -> dict[str, float]:
    """Ids and cosines of the relationships nearest to a vector; all filters run inside the index."""
    given = {
        "vector": Vector.from_numpy(meaning.vector),
        "ontologies": list(meaning.ontologies),
        "property": meaning.space.at("").vector_property,
        "limit": limit,
    }
    space = meaning.space.slug
    if type_keys is None:
        rows = graph.read("relations/search_by_vector", space, **given)
    else:
        rows = graph.read("relations/search_by_vector_of_types", space, types=list(type_keys), **given)
    return {row["relation_id"]: row["similarity"] for row in rows if row["similarity"] is not None}


def read_relations(graph: Graph, relation_ids: Iterable[str]) -> dict[str, StatedRelationship]:
    """Some relationships by id; one that has gone is missing."""
    rows = graph.read("relations/read", ids=list(relation_ids), scanned=SCANNED)
    return {row["relation_id"]: _stated(row) for row in rows}


def has_relations(graph: Graph, ontologies: Sequence[str]) -> bool:
    """Whether sources of some ontologies state any."""
    return bool(graph.read("relations/any_of", ontologies=list(ontologies)))


def resolve_types(graph: Graph, ontologies: Sequence[str], types: Iterable[str]) -> list[str]:
    """The keys of the types that some mean in some ontologies: of what they were merged into."""
    given = [*types]
    ids = [relation_type_id(ontology, kind) for ontology in ontologies for kind in given]
    known = [row["key"] for row in graph.read("relations/resolve_types", type_ids=ids)]
    return sorted({*known, *map(concept_name, given)})


def _stated(row: Row) -> StatedRelationship:
    return StatedRelationship(
        RelationshipEnd(concept_id=row["subject_id"], label=row["subject_label"]),
        row["type"],
        row["type_key"],
        RelationshipEnd(concept_id=row["object_id"], label=row["object_label"]),
        row["ontology"],
        row["stating"],
        evidence_of_row(row),
    )
