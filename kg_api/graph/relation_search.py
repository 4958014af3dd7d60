"""Stances and statements about concepts, and searches to find relationships."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from neo4j.vector import Vector

from kg_api.graph.client import Graph, Row, drop_deleted_rows
from kg_api.graph.concepts import SCANNED
from kg_api.graph.search import Meaning
from kg_api.schemas.base import build_relation_type_id, normalize_concept_name
from kg_api.schemas.concepts import STANCES, RelationshipEnd, RelationshipEvidence, choose_stance
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import Stance
from kg_api.suggestions import MAX_NAMED, format_suggestion


def read_stances(graph: Graph, ontology: str) -> dict[str, Stance]:
    """Read the types of an ontology with a stance for or against, by folded name."""
    rows = graph.search("relations/stances", ontology=ontology, known=list(STANCES))
    stances: dict[str, Stance] = {row["key"]: choose_stance(row["name"], row["stance"]) for row in rows}
    return {key: stance for key, stance in stances.items() if stance != "neutral"}


def read_statements(
    graph: Graph, concept_id: str, *, towards: Collection[str], away: Collection[str]
) -> list[tuple[str, RelationshipEvidence]]:
    """Read the type keys and statements of a concept, highest confidence first."""
    parameters = {"towards": sorted(towards), "away": sorted(away), "scanned": SCANNED}
    rows = graph.search("relations/speaking_of", concept_id=concept_id, **parameters)
    return [(row["type_key"], build_evidence(row)) for row in drop_deleted_rows(rows, Place)]


def build_evidence(row: Row) -> RelationshipEvidence:
    """Build the statement of a source, with the position of its quote in the document."""
    quoted = row["quote_start"] is not None
    return RelationshipEvidence(
        relation_id=row["relation_id"],
        type=row["stated_type"],
        statement=row["statement"],
        quote=row["quote"],
        start=row["start"] + row["quote_start"] if quoted else None,
        end=row["start"] + row["quote_end"] if quoted else None,
        confidence=row["confidence"],
        source=Place.model_validate(row),
    )


# Vector search of relationships, and their statements

MAX_TYPE_NAMES = 10_000  # type names to compare with an unknown name


@dataclass(frozen=True, slots=True)
class StatedRelationship:
    subject: RelationshipEnd
    type: str
    type_key: str
    object: RelationshipEnd
    ontology: str
    stating: int
    evidence: RelationshipEvidence

    @property
    def key(self) -> tuple[str, str, str]:
        return self.subject.concept_id, self.type_key, self.object.concept_id


def find_near_relations(
    graph: Graph, meaning: Meaning, type_keys: Sequence[str] | None, limit: int
) -> dict[str, float]:
    """Find the nearest relationships, with their cosines by id. All filters are used in the vector index."""
    parameters = {
        "vector": Vector.from_numpy(meaning.vector),
        "ontologies": list(meaning.ontologies),
        "property": meaning.space.at("").vector_property,
        "limit": limit,
    }
    space = meaning.space.slug
    if type_keys is None:
        rows = graph.search("relations/search_by_vector", space, **parameters)
    else:
        rows = graph.search("relations/search_by_vector_of_types", space, types=list(type_keys), **parameters)
    return {row["relation_id"]: row["similarity"] for row in rows if row["similarity"] is not None}


def find_near_relations_in_documents(
    graph: Graph, meaning: Meaning, type_keys: Sequence[str] | None, document_ids: Sequence[str], limit: int
) -> tuple[dict[str, float], bool]:
    """Find the nearest relationships that are stated in some documents, with their cosines."""
    # The second value is False if the documents have too many sources or relationships to scan.
    (row,) = graph.search(
        "relations/search_in_documents",
        vector=Vector.from_numpy(meaning.vector),
        ontologies=list(meaning.ontologies),
        property=meaning.space.at("").vector_property,
        types=None if type_keys is None else list(type_keys),
        document_ids=list(document_ids),
        scanned=SCANNED,
        limit=limit,
    )
    return {each["relation_id"]: each["similarity"] for each in row["found"]}, row["whole"]


def read_relations(graph: Graph, relation_ids: Iterable[str]) -> dict[str, StatedRelationship]:
    """Read relationships by id. If one was deleted, it is missing."""
    rows = graph.search("relations/read", ids=list(relation_ids), scanned=SCANNED)
    return {
        row["relation_id"]: StatedRelationship(
            RelationshipEnd(concept_id=row["subject_id"], label=row["subject_label"]),
            row["type"],
            row["type_key"],
            RelationshipEnd(concept_id=row["object_id"], label=row["object_label"]),
            row["ontology"],
            row["stating"],
            build_evidence(row),
        )
        for row in drop_deleted_rows(rows, Place)
    }


def resolve_types(
    graph: Graph, ontologies: Sequence[str], types: Sequence[str] | None
) -> tuple[list[str] | None, str | None]:
    """Resolve the keys of types after merges. None: all."""
    # The second value reports types without relationships, with the nearest names.
    if types is None:
        return None, None
    ids = [build_relation_type_id(ontology, kind) for ontology in ontologies for kind in types]
    rows = graph.search("relations/resolve_types", type_ids=ids)
    known = {row["given"] for row in rows}
    keys = sorted({*(row["key"] for row in rows), *map(normalize_concept_name, types)})
    unknown = [each for each in types if normalize_concept_name(each) not in known]
    if not unknown:
        return keys, None
    names = graph.search("relations/type_names", ontologies=list(ontologies), limit=MAX_TYPE_NAMES)
    named = ", ".join(map(repr, unknown[:MAX_NAMED]))
    near = format_suggestion(unknown, (row["name"] for row in names))
    return keys, f"no relationship is of a type {named}{near}"
