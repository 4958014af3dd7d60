"""Communities of concepts, which give an overview of an ontology."""

from __future__ import annotations

from datetime import datetime

from kg_api.schemas.base import Answer, Page
from kg_api.schemas.concepts import Concept
from kg_api.schemas.search import Place


class Community(Answer):
    """Concepts that occur in the same passages more often than by chance."""

    community_id: str
    """Id that is stable while the community has the same concepts."""
    name: str
    size: int
    """Number of concepts at the detection."""
    labels: list[str]


class Communities(Page):
    ontology: str
    communities: list[Community]
    grouped: int = 0
    left_out: int = 0
    """Connected concepts that are in no community because their group is too small."""
    concepts: int = 0
    computed_at: datetime | None = None
    """Time at which kg read the concepts. Null: no detection has run."""
    changed: float = 0.0
    """Share of sources, concepts, or relationships that has changed since the detection, 0 to 1."""


class CommunityConcept(Concept):
    weight: float


class CommunityPassage(Answer):
    weight: float
    concepts: int
    source: Place


class CommunityDetails(Community):
    ontology: str
    concepts: list[CommunityConcept]
    passages: list[CommunityPassage]
    computed_at: datetime | None
