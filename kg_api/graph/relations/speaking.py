"""What sources state for and against a concept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kg_api.graph.concepts.reads import SCANNED
from kg_api.graph.database import Graph, Row
from kg_api.models.concepts.relations import RelationshipEvidence
from kg_api.models.concepts.vocabulary import STANCES, stance_of
from kg_api.models.queries.places import Place
from kg_api.models.vocabulary import Stance


@dataclass(frozen=True, slots=True)
class SpeakingStatement:
    """What one source states of a concept and another."""

    type_key: str
    outgoing: bool
    """Whether the concept is its subject."""
    evidence: RelationshipEvidence


def read_stances(graph: Graph, ontology: str) -> dict[str, Stance]:
    """By folded name, the types of an ontology that say something for or against."""
    rows = graph.read("relations/stances", ontology=ontology, known=list(STANCES))
    stances: dict[str, Stance] = {row["key"]: stance_of(row["name"], row["stance"]) for row in rows}
    return {key: stance for key, stance in stances.items() if stance != "neutral"}


def read_statements(
    graph: Graph, concept_id: str, *, towards: Collection[str], away: Collection[str]
) -> list[SpeakingStatement]:
    """What is stated of a concept, the surest first.

    Args:
        graph: where it is.
        concept_id: of the concept.
        towards: folded types that speak of the concept they go to.
        away: those that speak of the one they come from.
    """
    asked = {"towards": sorted(towards), "away": sorted(away), "scanned": SCANNED}
    rows = graph.read("relations/speaking_of", concept_id=concept_id, **asked)
    return [SpeakingStatement(row["type_key"], row["outgoing"], evidence_of_row(row)) for row in rows]


def evidence_of_row(row: Row) -> RelationshipEvidence:
    """A source's statement with its place; the quote's is counted in the document."""
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
