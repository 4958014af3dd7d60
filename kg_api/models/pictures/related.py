"""Passages that go with a picture, and pictures that go with a passage."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.base import Answer, Body, Flag
from kg_api.models.queries.fields import Kinds, Limit, Ontologies
from kg_api.models.queries.filters import Where
from kg_api.models.queries.places import DescribedPlace, Place
from kg_api.models.queries.search import CarriedConcept, Degradation
from kg_api.models.vocabulary import RelatedLane, SourceKind


class RelatedSearch(Body):
    """What to look for that goes with a source."""

    kinds: Kinds | None = None
    """Of these kinds; unset or null: passages for a picture, pictures for a passage."""
    ontology: Ontologies | None = None
    """Look only in these; unset or null: in all."""
    where: Where | None = None
    """Look only in documents for which all of this holds."""
    same_document: Flag = False
    """Look only in the source's own document."""
    limit: Limit = 10

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are looked into; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology


class RelatedThrough(Answer):
    """One way in which a source was found."""

    lane: RelatedLane
    """`document`: it stands in the same document, the nearer the better; `concepts`: it carries concepts of
    the source or of what stands beside it; `words`: its words are near; `picture_space`: the picture itself
    is near; `link`: somebody accepted a proposed link of the two."""
    rank: int
    """At which place, from 1."""
    distance: int | None = None
    """`document`: how many paragraphs away."""
    similarity: float | None = None
    """Cosine of the two vectors, in `space`."""
    space: str | None = None
    concepts: list[CarriedConcept] = Field(default_factory=list[CarriedConcept])
    """`concepts`: which, at most three, the strongest first."""


class RelatedSource(DescribedPlace):
    """A source that goes with the one asked for."""

    score: float
    """What they are ordered by: reciprocal ranks, summed over the ways in which it was found."""
    through: list[RelatedThrough]


class RelatedSources(Answer):
    """What goes with a source."""

    source: Place
    """The one asked for."""
    kinds: list[SourceKind]
    """Those that were looked for."""
    sources: list[RelatedSource]
    """The best first."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]
