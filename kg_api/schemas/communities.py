"""Communities of concepts: an overview of what an ontology is about."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from kg_api.schemas.base import Answer, Page
from kg_api.schemas.concepts import Concept
from kg_api.schemas.search import Place


class Community(Answer):
    """Concepts that are in the same passages more often than chance has it."""

    community_id: str
    """Stays as long as the same concepts are in it."""
    name: str
    """The three concepts that are most its own."""
    level: int
    """0: the coarsest."""
    size: int
    """Concepts."""
    parts: int
    """Communities of the next level that it was divided into."""
    parent_id: str | None
    """The community that it is a part of."""
    inside: float
    """Of the weight of its concepts' ties the share within, 0 to 1: how much it stands apart."""
    labels: list[str]
    """Of the concepts that are most its own, ten at most."""


class Communities(Page):
    """Communities of a level, or the parts of one, the largest first."""

    ontology: str
    communities: list[Community]
    level: int
    parent_id: str | None = None
    levels: list[int] = Field(default_factory=list[int])
    """How many communities each level has, from 0."""
    grouped: int = 0
    """Concepts that are in a community."""
    left_out: int = 0
    """Concepts that several sources or relationships tie, and that are in none: their group is too small."""
    concepts: int = 0
    """All that the ontology had; most others are of a single source."""
    computed_at: datetime | None = None
    """When the concepts were read that these are of; null: never yet."""
    changed: float = 0.0
    """The share of sources, concepts or relationships that has changed since, 0 to 1."""


class CommunityConcept(Concept):
    """A concept of a community."""

    weight: float
    """How much it is the community's own, 0 to 1."""


class CommunityPassage(Answer):
    """A passage that says much of what a community is about."""

    weight: float
    """Sum of the weights of the community's concepts that it carries."""
    concepts: int
    """How many of the community's first concepts it carries."""
    source: Place


class CommunityDocument(Answer):
    """A document that says much of what a community is about."""

    document_id: str
    document: str
    title: str
    weight: float
    """Sum of the weights of the community's concepts that its passages carry."""
    concepts: int


class CommunityDetails(Community):
    """A community with its concepts, and where most is said of it."""

    ontology: str
    concepts: list[CommunityConcept]
    """Those first that are most its own."""
    passages: list[CommunityPassage]
    documents: list[CommunityDocument]
    computed_at: datetime | None


class CommunityRequest(Answer):
    """What was asked for when communities are detected now."""

    ontology: str
    job_id: str
