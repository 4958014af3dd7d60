"""Grounding of a concept: evidence for and against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from types import MappingProxyType
from typing import Final, NamedTuple

from kg_api.graph.client import Graph
from kg_api.graph.relation_search import read_stances, read_statements
from kg_api.schemas.concepts import Concept, Grounding, RelationshipEvidence
from kg_api.schemas.vocabulary import Stance

PRIOR_WEIGHT: Final = 2.0
"""W in Jøsang's opinions: the weight of uncertainty, equal to two sources (the uniform Beta(1, 1))."""
BASE_RATE: Final = 0.5  # a: expectation without evidence
AWAY: Final[frozenset[Stance]] = frozenset({"supported by", "contradicted by"})
"""Stances about the subject of a relationship."""
SIDES: Final[Mapping[Stance, Stance]] = MappingProxyType(
    {
        "supports": "supports",
        "supported by": "supports",
        "contradicts": "contradicts",
        "contradicted by": "contradicts",
    }
)
"""Stance towards the concept, at either end of the relationship."""


class Opinion(NamedTuple):
    """Binomial opinion of subjective logic."""

    supporting: float
    contradicting: float
    belief: float
    disbelief: float
    uncertainty: float
    strength: float  # belief plus its share of the uncertainty


def form_opinion(supporting: float, contradicting: float) -> Opinion:
    weight = supporting + contradicting + PRIOR_WEIGHT
    belief, disbelief, uncertainty = supporting / weight, contradicting / weight, PRIOR_WEIGHT / weight
    strength = belief + BASE_RATE * uncertainty
    return Opinion(supporting, contradicting, belief, disbelief, uncertainty, strength)


def compute_grounding(graph: Graph, concept: Concept, limit: int) -> Grounding | None:
    """Return the evidence for and against a concept, or None if there is none."""
    stances = read_stances(graph, concept.ontology)
    if not stances:
        return None
    away = {key for key, stance in stances.items() if stance in AWAY}
    towards = stances.keys() - away
    stated = read_statements(graph, concept.concept_id, towards=towards, away=away)
    if not stated:
        return None
    sides: dict[Stance, list[RelationshipEvidence]] = {"supports": [], "contradicts": []}
    for type_key, statements in stated:
        sides[SIDES[stances[type_key]]].append(statements)
    supporting, contradicting = sides["supports"], sides["contradicts"]
    opinion = form_opinion(_sum_confidence(supporting), _sum_confidence(contradicting))
    return Grounding(
        **opinion._asdict(),
        supporting_evidence=supporting[:limit],
        contradicting_evidence=contradicting[:limit],
        more_evidence=sum(max(0, len(side) - limit) for side in (supporting, contradicting)),
    )


def _sum_confidence(side: Iterable[RelationshipEvidence]) -> float:
    """Count each source once, with its highest confidence. Repetition adds no evidence."""
    surest = dict[str, float]()
    for each in side:
        surest[each.source.source_id] = max(each.confidence, surest.get(each.source.source_id, 0.0))
    return fsum(surest.values())
