"""Reading concepts: what proves them, where they stand, and what they are related to. Never their vectors.

A concept that very many sources carry has very many neighbours. So every step looks at so many
relationships of a concept at most, and takes so many neighbours, and says so where there are more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Row
from kg_api.graph.naming.nodes import identify_concept
from kg_api.graph.naming.reach import reaches
from kg_api.models.concepts.queries import Concept, Evidence, UnverifiedQuote
from kg_api.models.queries.places import Place

SCANNED = 10_000
"""Relationships of one concept that are looked at in one step."""
SCANNED_IN_ALL = 50_000
"""And of all concepts of a step together."""
MAX_SOURCES = 100
"""Sources that are named for one relationship."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Appearance:
    """A source that carries a concept, and the quotes it has of it."""

    place: Place
    quotes: list[Evidence]
    unverified: list[str] = field(default_factory=list[str])
    """What was quoted and proves nothing."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A concept that another is related to."""

    of: str
    """The id of the concept that was asked about."""
    concept: Concept
    type: str
    outgoing: bool
    confidence: float
    sources: list[str]
    support: int
    """How many sources state it, also where not all are named."""


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """What is stated of two concepts."""

    subject: str
    type: str
    object: str
    sources: list[str]


@dataclass(frozen=True, slots=True)
class ReachedConcept:
    """The neighbours of a concept, the nearest first."""

    neighbours: list[str]
    cut: bool
    """There are more of them."""


def concepts_of(graph: Graph, concept_ids: Iterable[str]) -> dict[str, Concept]:
    """Some concepts by id; what is not there is missing."""
    ids = list(dict.fromkeys(concept_ids))
    rows = graph.read("concepts/read_by_ids", concept_ids=ids) if ids else []
    return {row["concept_id"]: Concept.model_validate(row) for row in rows if reaches(row["ontology"])}


def find_concept(graph: Graph, concept_id: str) -> Concept:
    """One concept, by its id or at least eight digits that only this id begins with.

    Raises:
        NotFound: there is none by that id.
        Conflict: several ids begin so.
    """
    found = concepts_of(graph, [concept_id])
    if not found and (whole := identify_concept(graph, concept_id)):
        found = concepts_of(graph, [whole])
    if not found:
        raise NotFound(
            f"there is no concept {concept_id!r}; it may have been merged with another, or its documents "
            "have changed: `kg concept search` finds it"
        )
    return next(iter(found.values()))


def page_of_concepts(graph: Graph, ontology: str, offset: int, limit: int) -> tuple[list[Concept], int]:
    """One page of an ontology's concepts, those of most sources first, and how many there are in all."""
    rows = graph.read("concepts/read_page", ontology=ontology, offset=offset, limit=limit)
    total = graph.read("concepts/read_count", ontology=ontology)[0]["total"]
    return [Concept.model_validate(row) for row in rows], total


def evidence_of(graph: Graph, concept_id: str, limit: int) -> list[Evidence]:
    """Quotes that prove a concept, the surest first."""
    rows = graph.read("concepts/read_evidence", concept_id=concept_id, limit=limit)
    return [_evidence(Place.model_validate(row), row, row["quote_start"], row["quote_end"]) for row in rows]


def count_evidence(graph: Graph, concept_id: str) -> int:
    """How many quotes prove a concept."""
    rows = graph.read("concepts/count_evidence", concept_id=concept_id)
    return rows[0]["quotes"] if rows else 0


def read_unverified(graph: Graph, concept_id: str, limit: int) -> tuple[list[UnverifiedQuote], int]:
    """What was quoted for a concept and proves nothing, in reading order; and how much there is in all."""
    rows = graph.read("concepts/read_unverified", concept_id=concept_id, limit=limit)
    return [UnverifiedQuote.model_validate(row) for row in rows], rows[0]["total"] if rows else 0


def appearances(graph: Graph, concept_id: str, limit: int) -> list[Appearance]:
    """The sources that carry a concept, those with a true quote first."""
    rows = graph.read("concepts/appearances", concept_id=concept_id, limit=limit)
    return [_appearance(row) for row in rows]


def relations_of(graph: Graph, concept_ids: Sequence[str], limit: int) -> list[Relation]:
    """What some concepts are stated to be related to, at most so many of each; what most state first."""
    rows = graph.read(
        "concepts/related",
        concept_ids=list(concept_ids),
        scanned=_share(concept_ids),
        limit=limit,
        most_sources=MAX_SOURCES,
    )
    return [_relation(row, row["of"]) for row in rows]


def appearing_with(graph: Graph, concept_id: str, kind: str, limit: int) -> list[Relation]:
    """The concepts that appear in the same sources as one, as relations of some type."""
    rows = graph.read(
        "concepts/appearing_with",
        concept_id=concept_id,
        scanned=SCANNED,
        limit=limit,
        most_sources=MAX_SOURCES,
    )
    usual = {"type": kind, "outgoing": True, "confidence": 1.0}
    return [_relation({**row, **usual}, concept_id) for row in rows]


def expand_related(graph: Graph, concept_ids: Sequence[str], fan_out: int) -> dict[str, ReachedConcept]:
    """One step along what is stated."""
    rows = graph.read(
        "concepts/expand_related", concept_ids=list(concept_ids), fan_out=fan_out, scanned=_share(concept_ids)
    )
    return _to_reached(rows)


def expand_appearing(graph: Graph, concept_ids: Sequence[str], fan_out: int) -> dict[str, ReachedConcept]:
    """One step to the concepts that appear in the same sources."""
    rows = graph.read(
        "concepts/expand_appearing",
        concept_ids=list(concept_ids),
        fan_out=fan_out,
        scanned=_share(concept_ids),
    )
    return _to_reached(rows)


def statements_between(graph: Graph, pairs: Sequence[Pair]) -> dict[Pair, StatedRelation]:
    """By pair of concepts what most sources state of them; a pair of which nothing is stated is missing."""
    rows = graph.read(
        "concepts/statements_between", pairs=_lists(pairs), scanned=SCANNED, most_sources=MAX_SOURCES
    )
    return {(row["first"], row["second"]): _between(row) for row in rows}


def statements_among(
    graph: Graph, concept_ids: Sequence[str], limit: int
) -> tuple[list[StatedRelation], bool]:
    """What is stated of some concepts among themselves, by most sources first; and whether it is not all."""
    rows = graph.read(
        "concepts/statements_among",
        concept_ids=list(concept_ids),
        scanned=_share(concept_ids),
        most_sources=MAX_SOURCES,
        limit=limit,
    )
    stated = [StatedRelation(row["subject"], row["type"], row["object"], row["stated"]) for row in rows]
    return stated, len(rows) >= limit or any(row["cut"] for row in rows)


def sources_shared(graph: Graph, pairs: Sequence[Pair]) -> dict[Pair, list[str]]:
    """By pair of concepts the sources in which both appear."""
    rows = graph.read("concepts/sources_shared", pairs=_lists(pairs), most_sources=MAX_SOURCES)
    return {(row["first"], row["second"]): sorted(row["shared"]) for row in rows}


def _share(concept_ids: Sequence[str]) -> int:
    """How many relationships of each are looked at."""
    return max(1, min(SCANNED, SCANNED_IN_ALL // max(1, len(concept_ids))))


def _appearance(row: Row) -> Appearance:
    place = Place.model_validate(row)
    quotes = [_evidence(place, each, each["start"], each["end"]) for each in row["quotes"]]
    return Appearance(place, quotes, row["unverified"])


def _evidence(place: Place, quote: Mapping[str, Any], start: int, end: int) -> Evidence:
    """A quote's place is stored within its source, so that it stays true when the source moves."""
    return Evidence(
        instance_id=quote["instance_id"],
        quote=quote["quote"],
        start=place.start + start,
        end=place.start + end,
        score=quote["score"],
        source=place,
    )


def _relation(row: Mapping[str, Any], of: str) -> Relation:
    told = {name: row[name] for name in ("type", "outgoing", "confidence", "support")}
    return Relation(of=of, concept=Concept.model_validate(row), sources=row["stated"], **told)


def _to_reached(rows: Iterable[Row]) -> dict[str, ReachedConcept]:
    return {row["concept_id"]: ReachedConcept(row["neighbours"], row["cut"]) for row in rows}


def _between(row: Row) -> StatedRelation:
    subject, target = row["first"], row["second"]
    if not row["forward"]:
        subject, target = target, subject
    return StatedRelation(subject, row["type"], target, row["stated"])


def _lists(pairs: Sequence[Pair]) -> list[list[str]]:
    return [list(pair) for pair in pairs]
