"""The spaces that an augmentation searches, and what is similar enough in each. Pure.

The same number means different things to different models.
"""

from __future__ import annotations

from dataclasses import dataclass

from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.augment import AugmentRequest, Threshold
from kg_api.search.plan.similarity import SimilarityFilter, filter_by
from kg_api.spaces.plans import OntologySnapshot

DEFAULT = 0.7
MEASURED = {
    "bge-small-en-v1.5": 0.70,
    "all-MiniLM-L6-v2": 0.50,
    "e5-small-v2": 0.85,
}
"""By model, where as many of the passages that belong to a text pass (62 %) as with 0.7 in bge-small-en-v1.5.

Of passages that do not, 0.1 to 0.6 % pass on encyclopaedia text and 3 to 17 % within one technical subject.
"""


@dataclass(frozen=True, slots=True)
class AugmentScope:
    """Spaces by the ontologies that they answer."""

    of_ontology: dict[str, Space]
    new: Space
    """That of ontologies that are not there."""
    thresholds: dict[str, Threshold]
    """By space."""

    @property
    def spaces(self) -> list[Space]:
        """One for each model, that with the shortest texts first."""
        found = {space.slug: space.at("") for space in self.of_ontology.values() or [self.new]}
        return sorted(found.values(), key=lambda space: (space.identity.max_tokens, space.slug))

    def ontologies(self, space: Space) -> list[str]:
        return [name for name, own in self.of_ontology.items() if own.slug == space.slug]

    @property
    def similar(self) -> SimilarityFilter:
        """What is similar enough: of a number that somebody asks for, nothing passes unmeasured."""
        return filter_by(self.thresholds)


def resolve_scope(request: AugmentRequest, known: OntologySnapshot) -> AugmentScope:
    """Work out where is searched."""
    names = known.embedding_states if request.ontologies is None else request.ontologies
    of_ontology = {name: known.space_of(name) for name in names}
    spaces = {space.slug: space for space in (*of_ontology.values(), known.new)}
    thresholds = {slug: threshold(slug, space.identity.model, request) for slug, space in spaces.items()}
    return AugmentScope(of_ontology, known.new, thresholds)


def threshold(space: str, model: str, request: AugmentRequest) -> Threshold:
    """The least similarity in a space: what is asked for, else what was measured, else 0.7."""
    if request.mode == "text":
        return Threshold(space=space, min_similarity=None, source="none")
    if request.min_similarity is not None:
        return Threshold(space=space, min_similarity=request.min_similarity, source="request")
    if model in MEASURED:
        return Threshold(space=space, min_similarity=MEASURED[model], source="model")
    return Threshold(space=space, min_similarity=DEFAULT, source="default")
