"""Link proposals and their configuration."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from kg_api.schemas.base import Answer, Body, Flag, Page
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import MAX_OPEN_PROPOSALS, ProposalKind, ProposalState

Cosine = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Neighbours = Annotated[int, Field(strict=True, ge=1, le=10)]
Hops = Annotated[int, Field(strict=True, ge=1, le=3)]
MostOpen = Annotated[int, Field(strict=True, ge=1, le=MAX_OPEN_PROPOSALS)]


class ProposalConfig(Body):
    enabled: Flag | None = None
    min_similarity: Cosine | None = None
    """Minimum cosine similarity of sources. Null: calibrated for the model."""
    min_concept_similarity: Cosine | None = None
    min_contrast: Cosine | None = None
    """Minimum difference between the similarity of two sources and their mean similarity to their neighbours.
    Null: calibrated for the model."""
    min_concept_contrast: Cosine | None = None
    neighbours: Neighbours | None = None
    """Number of nearest neighbours. Each node of a pair must be among those of the other."""
    hops: Hops | None = None
    """Maximum length of a path between nodes that need no proposal. 1: a link or shared concept. 2: also
    related concepts. 3: also concepts related to a common concept."""
    max_open: MostOpen | None = None


class UsedProposals(Answer):
    enabled: bool
    min_similarity: float
    min_concept_similarity: float
    min_contrast: float
    min_concept_contrast: float
    neighbours: int
    hops: int
    max_open: int


class ProposalStatus(Answer):
    ontology: str
    config: ProposalConfig
    used: UsedProposals
    open: int
    accepted: int
    rejected: int
    due: int
    dropped: int
    searched_at: datetime | None
    applied: bool = True
    notes: list[str] = Field(default_factory=list[str])


# Proposed links


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
    dropped: int = 0
