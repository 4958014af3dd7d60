"""Finding relationships by vectors, and reading what states them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neo4j.vector import Vector

from kg_api.graph.concepts.reads import SCANNED
from kg_api.graph.database import Graph, Row
from kg_api.graph.relations.speaking import evidence_of_row
from kg_api.graph.search.concepts import Meaning
from kg_api.models.concepts.relations import RelationshipEnd, RelationshipEvidence
from kg_api.models.identity import concept_name, relation_type_id
from kg_api.wording.nearest import MAX_NAMED, suggestion

MAX_TYPE_NAMES = 10_000
"""Among which the nearest to a misspelt one is looked for."""


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


@dataclass(frozen=True, slots=True)
class ResolvedTypes:
    keys: Sequence[str] | None
    """None: all."""
    unknown: str | None = None
    """The sentence that there is no relationship of some of them, with the nearest names."""


@dataclass(frozen=True, slots=True)
class NearRelations:
    """Ids and cosines."""

    cosines: Mapping[str, float]
    whole: bool
    """Whether all sources of the documents and all their relationships were looked at."""


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


def near_relations_in(
    graph: Graph, meaning: Meaning, type_keys: Sequence[str] | None, document_ids: Sequence[str], limit: int
) -> NearRelations:
    """The relationships nearest to a vector of those that sources of some documents state."""
    (row,) = graph.read(
        "relations/search_in_documents",
        vector=Vector.from_numpy(meaning.vector),
        ontologies=list(meaning.ontologies),
        property=meaning.space.at("").vector_property,
        types=None if type_keys is None else list(type_keys),
        document_ids=list(document_ids),
        scanned=SCANNED,
        limit=limit,
    )
    cosines = {each["relation_id"]: each["similarity"] for each in row["found"]}
    return NearRelations(cosines, whole=row["whole"])


def read_relations(graph: Graph, relation_ids: Iterable[str]) -> dict[str, StatedRelationship]:
    """Some relationships by id; one that has gone is missing."""
    rows = graph.read("relations/read", ids=list(relation_ids), scanned=SCANNED)
    return {row["relation_id"]: _stated(row) for row in rows}


def has_relations(graph: Graph, ontologies: Sequence[str]) -> bool:
    """Whether sources of some ontologies state any."""
    return bool(graph.read("relations/any_of", ontologies=list(ontologies)))


def resolve_types(graph: Graph, ontologies: Sequence[str], types: Sequence[str] | None) -> ResolvedTypes:
    """The keys of the types that some mean in some ontologies: of what they were merged into; None: all."""
    if types is None:
        return ResolvedTypes(None)
    ids = [relation_type_id(ontology, kind) for ontology in ontologies for kind in types]
    rows = graph.read("relations/resolve_types", type_ids=ids)
    known = {row["given"] for row in rows}
    unknown = [each for each in types if concept_name(each) not in known]
    keys = {*(row["key"] for row in rows), *map(concept_name, types)}
    return ResolvedTypes(sorted(keys), _describe_unknown(graph, ontologies, unknown) if unknown else None)


def _describe_unknown(graph: Graph, ontologies: Sequence[str], unknown: Sequence[str]) -> str:
    rows = graph.read("relations/type_names", ontologies=list(ontologies), limit=MAX_TYPE_NAMES)
    named = ", ".join(map(repr, unknown[:MAX_NAMED]))
    return f"no relationship is of a type {named}{suggestion(unknown, (row['name'] for row in rows))}"


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
