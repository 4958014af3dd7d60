"""The spaces that an augmentation searches, and what is similar enough in each."""

from __future__ import annotations

from dataclasses import dataclass

from kg_api.augment.thresholds import threshold
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.augment import AugmentRequest, Threshold
from kg_api.search.plan.similarity import SimilarityFilter, filter_by
from kg_api.spaces.plans import OntologySnapshot


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
        found = {space.slug: space.at("") for space in (*self.of_ontology.values(), *self._none())}
        return sorted(found.values(), key=lambda space: (space.identity.max_tokens, space.slug))

    def ontologies(self, space: Space) -> list[str]:
        """Those that a space answers."""
        return [name for name, own in self.of_ontology.items() if own.slug == space.slug]

    @property
    def similar(self) -> SimilarityFilter:
        """What is similar enough: of a number that somebody asks for, nothing passes unmeasured."""
        return filter_by(self.thresholds)

    def _none(self) -> list[Space]:
        return [] if self.of_ontology else [self.new]


def resolve_scope(request: AugmentRequest, known: OntologySnapshot) -> AugmentScope:
    """Work out where is searched."""
    answering = {
        name: embedding_state.answering.space for name, embedding_state in known.embedding_states.items()
    }
    names = answering if request.ontologies is None else request.ontologies
    of_ontology = {name: answering.get(name, known.new) for name in names}
    spaces = {space.slug: space for space in (*of_ontology.values(), known.new)}
    thresholds = {slug: threshold(slug, space.identity.model, request) for slug, space in spaces.items()}
    return AugmentScope(of_ontology, known.new, thresholds)
