"""From concepts to the sources that carry them, and from sources to their concepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from kg_api.graph.concepts.rows import IMPORTED
from kg_api.graph.concepts.vectors import NEAREST, near_property
from kg_api.graph.database import Graph
from kg_api.graph.search.passages import Filters, LaneHit, SpaceVectors, to_lane_hit
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.search import CarriedConcept

MAX_CONCEPTS: Final = 300
"""So many concepts, those of most weight, lead to sources; as many are asked for what they are related to."""
MAX_RELATED: Final = 1000
"""A concept with more relationships hands no weight on: each would get less than a thirtieth."""
MAX_SOURCES: Final = 1000
"""A concept in more sources leads to none: it says less than a thirtieth of each."""
MAX_APPEARANCES: Final = 10_000
"""So many appearances are followed in one search, those of the concepts of most weight."""
NEAR_TO: Final = 8
"""Of so many concepts, those of most weight, others that are near in meaning lead to sources too."""
MAX_LINKED: Final = 50
"""Links of a concept that are looked at; what many are near to is not near to all of these."""
NEAR_SHARE: Final = 0.5
"""Of the weight of a concept; those near to it share it by the root of their number."""
MAX_SHOWN: Final = 3
MAX_CARRIED: Final = 10


@dataclass(frozen=True, slots=True)
class Seed:
    """A concept that a search begins with."""

    concept_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class SeedPassage:
    """A source whose concepts share its weight."""

    source_id: str
    weight: float


def near_concepts(
    graph: Graph,
    space: Space,
    ontologies: Sequence[str],
    seeds: Sequence[Seed],
    passages: Sequence[SeedPassage],
    *,
    least: float,
) -> list[Seed]:
    """What is near in meaning to concepts and to those of passages, in their ontology, and its weight.

    Args:
        graph: where they are.
        space: whose vectors are compared.
        ontologies: those that it answers for.
        seeds: concepts.
        passages: sources.
        least: the least cosine.
    """
    rows = graph.read(
        "search/near_concepts",
        space.slug,
        **_begin(seeds, passages),
        ontologies=list(ontologies),
        property=space.at("").vector_property,
        near_property=near_property(space),
        space=space.slug,
        most=NEAR_TO,
        most_linked=MAX_LINKED,
        limit=NEAREST,
        least=least,
        share=NEAR_SHARE,
    )
    return [Seed(row["concept_id"], row["weight"]) for row in rows]


def by_concepts(
    graph: Graph,
    seeds: Sequence[Seed],
    passages: Sequence[SeedPassage],
    filters: Filters,
    asked: SpaceVectors,
    *,
    limit: int,
    near: Sequence[Seed] = (),
) -> list[LaneHit]:
    """The sources that concepts lead to, and those that they are related to in one hop; the best first.

    Args:
        graph: where they are.
        seeds: concepts.
        passages: sources whose concepts share their weight.
        filters: what is wanted.
        asked: the question's vectors.
        limit: so many.
        near: concepts that lead to sources and hand nothing on.
    """
    rows = graph.read(
        "search/by_concepts",
        **_begin(seeds, passages),
        near=[asdict(each) for each in near],
        ontologies=None if filters.ontologies is None else list(filters.ontologies),
        document_ids=None if filters.document_ids is None else list(filters.document_ids),
        image=filters.image,
        most_concepts=MAX_CONCEPTS,
        most_related=MAX_RELATED,
        most_sources=MAX_SOURCES,
        most_appearances=MAX_APPEARANCES,
        most_told=MAX_SHOWN,
        limit=limit,
        **asked.parameters(),
    )
    return [
        to_lane_hit(
            row,
            row["score"],
            without_vector=row["asked"] and row["similarity"] is None,
            through=tuple(CarriedConcept(**each) for each in row["through"]),
        )
        for row in rows[0]["found"]
    ]


def _begin(seeds: Sequence[Seed], passages: Sequence[SeedPassage]) -> dict[str, Any]:
    """What the walk begins with."""
    return {
        "seeds": [asdict(seed) for seed in seeds],
        "passages": [asdict(passage) for passage in passages],
        "imported": IMPORTED,
    }


def concepts_of(graph: Graph, source_ids: Sequence[str]) -> dict[str, list[CarriedConcept]]:
    """The concepts that some sources carry, at most ten each."""
    ids = list(dict.fromkeys(source_ids))
    rows = graph.read("search/concepts_of_sources", source_ids=ids, limit=MAX_CARRIED) if ids else []
    return {row["source_id"]: [CarriedConcept(**each) for each in row["concepts"]] for row in rows}
