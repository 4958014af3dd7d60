"""Concepts and what ties them as a page draws them: what its lists say, and nothing else. Pure."""

from __future__ import annotations

from typing import NamedTuple

from kg_api.schemas.concepts import Concept, ConceptDetails, ConceptPaths


class DrawnConcept(NamedTuple):
    key: str
    label: str
    sources: int
    is_end: bool
    """Whether the picture is of it, or of the ways from or to it."""


class DrawnStep(NamedTuple):
    """What ties two of them."""

    subject: str
    type: str
    object: str


class DrawnConcepts(NamedTuple):
    concepts: list[DrawnConcept]
    steps: list[DrawnStep]


def draw_related(concept: ConceptDetails) -> DrawnConcepts:
    """A concept among those that its page lists as related."""
    around = {each.concept.concept_id: each.concept for each in concept.related}
    around.pop(concept.concept_id, None)
    own = concept.concept_id
    steps = [
        DrawnStep(own, each.type, each.concept.concept_id)
        if each.outgoing
        else DrawnStep(each.concept.concept_id, each.type, own)
        for each in concept.related
    ]
    concepts = [_drawn(concept, is_end=True), *(_drawn(each, is_end=False) for each in around.values())]
    return DrawnConcepts(concepts, list(dict.fromkeys(steps)))


def draw_ways(found: ConceptPaths) -> DrawnConcepts:
    """Ways from one concept to another, what they share once; the first and the last are the ends."""
    ends = {found.start.concept_id, found.end.concept_id}
    on_ways = {each.concept_id: each for path in found.paths for each in path.concepts}
    steps = [DrawnStep(each.subject, each.type, each.object) for path in found.paths for each in path.steps]
    concepts = [_drawn(each, is_end=key in ends) for key, each in on_ways.items()]
    return DrawnConcepts(concepts, list(dict.fromkeys(steps)))


def _drawn(concept: Concept, *, is_end: bool) -> DrawnConcept:
    return DrawnConcept(concept.concept_id, concept.label, concept.sources, is_end)
