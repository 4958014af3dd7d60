"""Links that are proposed, and what becomes of them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from kg_api.models.base import Answer, Body, Page
from kg_api.models.concepts.vocabulary import Person
from kg_api.models.queries.places import Place
from kg_api.models.vocabulary import ProposalKind, ProposalState


class ProposalDecision(Body):
    """Who decides."""

    by: Person | None = None


class ProposalEnd(Answer):
    """One of the two that would be linked, with the text that speaks for it."""

    concept_id: str | None = None
    """Of a concept."""
    label: str | None = None
    """Of a concept."""
    quote: str
    """The passage that is near to the other's, or what proves the concept: the source's own text."""
    quote_start: int
    """Its first code point in the document's text."""
    quote_end: int
    source: Place
    """Where it stands."""


class Proposal(Answer):
    """A link between two sources, or two concepts, of different documents."""

    proposal_id: str
    ontology: str
    kind: ProposalKind
    state: ProposalState
    score: float
    """What they are ordered by, from 0 to 1."""
    similarity: float
    """Cosine of the two."""
    reason: str
    """Why it is proposed, in words."""
    ends: list[ProposalEnd] = Field(min_length=2, max_length=2)
    created_at: datetime
    decided_at: datetime | None = None
    decided_by: str | None = None
    notes: list[str] = Field(default_factory=list[str])
    """Of a decision: what the proposal was before, where somebody had decided already."""


class Proposals(Page):
    """Proposals, the best first."""

    proposals: list[Proposal]
    searched_at: datetime | None = None
    """When all that was due of the ontology had been looked at; null: not yet, or of several ontologies."""
    dropped: int = 0
    """Weaker open ones that were left out, because as many better ones are there as are kept."""
