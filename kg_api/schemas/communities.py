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
    level: int
    size: int
    parts: int
    parent_id: str | None
    inside: float
    """Of the weight of its concepts' ties the share within, 0 to 1: how much it stands apart."""
    labels: list[str]


class Communities(Page):
    ontology: str
    communities: list[Community]
    level: int
    parent_id: str | None = None
    levels: list[int] = Field(default_factory=list[int])
    """How many communities each level has, from 0."""
    grouped: int = 0
    left_out: int = 0
    """Concepts that several sources or relationships tie, and that are in none: their group is too small."""
    concepts: int = 0
    computed_at: datetime | None = None
    """When the concepts were read that these are of; null: never yet."""
    changed: float = 0.0
    """The share of sources, concepts or relationships that has changed since, 0 to 1."""


class CommunityConcept(Concept):
    weight: float


class CommunityPassage(Answer):
    weight: float
    concepts: int
    source: Place


class CommunityDocument(Answer):
    document_id: str
    document: str
    title: str
    weight: float
    concepts: int


class CommunityDetails(Community):
    ontology: str
    concepts: list[CommunityConcept]
    passages: list[CommunityPassage]
    documents: list[CommunityDocument]
    computed_at: datetime | None


class CommunityRequest(Answer):
    ontology: str
    job_id: str
