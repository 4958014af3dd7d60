"""Link proposals."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from kg_api.schemas.base import Answer, Page
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import ProposalKind, ProposalState


class ProposalEnd(Answer):
    concept_id: str | None = None
    label: str | None = None
    quote: str
    quote_start: int
    quote_end: int
    source: Place


class Proposal(Answer):
    proposal_id: str
    ontology: str
    kind: ProposalKind
    state: ProposalState
    score: float
    similarity: float
    reason: str
    ends: list[ProposalEnd] = Field(min_length=2, max_length=2)
    created_at: datetime
    decided_at: datetime | None = None
    decided_by: str | None = None
    notes: list[str] = Field(default_factory=list[str])


class Proposals(Page):
    proposals: list[Proposal]
    searched_at: datetime | None = None
    """Time at which kg finished the search. Null: not finished, or several ontologies."""
