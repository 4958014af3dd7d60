"""From concepts to the sources that carry them, and from sources to their concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from kg_api.graph.concepts.rows import IMPORTED
from kg_api.graph.concepts.vectors import near_property
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
MAX_APPEARANCES: Final = 1000
"""So many appearances are followed in one search, those of the concepts of most weight: ten times as many
find nothing more, and take a search of a large ontology its time (docs/benchmarks.md)."""
NEAR_TO: Final = 8
"""Of so many concepts, those of most weight, others that are near in meaning lead to sources too."""
FOLLOWED: Final = 5
"""Of what each is near to, the nearest."""
MAX_LINKED: Final = 8
"""Links of a concept whose ends are compared, the nearest by what was measured when they were linked."""
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


@dataclass(frozen=True, slots=True)
class ConceptNearness:
    """Which concepts are near in meaning: those of a space, in the ontologies that it answers for."""

    space: Space
    ontologies: Sequence[str]
    least: float
    """Cosine."""

    def links(self) -> dict[str, dict[str, Any]]:
        """By ontology, where vectors and links are found, and which are near enough."""
        space, own = self.space, self.space.at("").vector_property
        of = {"space": space.slug, "property": own, "linked": near_property(space), "least": self.least}
        return dict.fromkeys(self.ontologies, of)


def near_concepts(graph: Graph, within: ConceptNearness, concepts: Sequence[Seed]) -> list[Seed]:
    """What the index finds near in meaning to concepts of a space, and its weight."""
    rows = graph.read(
        "search/near_concepts",
        within.space.slug,
        concepts=[asdict(each) for each in concepts],
        property=within.space.at("").vector_property,
        limit=FOLLOWED,
        least=within.least,
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
    nearness: Sequence[ConceptNearness] = (),
) -> list[LaneHit]:
    """The sources that concepts lead to, and those that they are related to or near to; the best first.

    What was not linked with what is near to it yet is looked up in the index first, by a statement for each
    space and the walk's once more.

    Args:
        graph: where they are.
        seeds: concepts.
        passages: sources whose concepts share their weight.
        filters: what is wanted.
        asked: the question's vectors.
        limit: so many.
        nearness: what is near in meaning, by space.
    """
    begin = _begin(seeds, passages)
    given = {**begin, **filters.scope(), **asked.parameters(), **_bounds(), "limit": limit}
    given["near_of"] = {name: of for each in nearness for name, of in each.links().items()}
    given["near_spaces"] = [each.space.slug for each in nearness]
    (row,) = graph.read("search/by_concepts", near=None, **given)
    if unlinked := row["unlinked"]:
        near = [asdict(one) for each in nearness for one in _looked_up(graph, each, unlinked)]
        (row,) = graph.read("search/by_concepts", near=near, **given)
    return [
        to_lane_hit(
            row,
            row["score"],
            without_vector=row["asked"] and row["similarity"] is None,
            through=tuple(CarriedConcept(**each) for each in row["through"]),
        )
        for row in row["found"]
    ]


def _looked_up(graph: Graph, within: ConceptNearness, unlinked: Sequence[Mapping[str, Any]]) -> list[Seed]:
    own = [
        Seed(each["concept_id"], each["weight"]) for each in unlinked if each["space"] == within.space.slug
    ]
    return near_concepts(graph, within, own) if own else []


def _bounds() -> dict[str, float]:
    return {
        "most_concepts": MAX_CONCEPTS,
        "most_related": MAX_RELATED,
        "most_sources": MAX_SOURCES,
        "most_appearances": MAX_APPEARANCES,
        "most_told": MAX_SHOWN,
        "most": NEAR_TO,
        "most_linked": MAX_LINKED,
        "nearest": FOLLOWED,
        "share": NEAR_SHARE,
    }


def _begin(seeds: Sequence[Seed], passages: Sequence[SeedPassage]) -> dict[str, Any]:
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
