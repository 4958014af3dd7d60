"""How links are proposed in an ontology, and how far that is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from kg_api.schemas.base import Answer, Body, Flag, Page
from kg_api.schemas.concepts import Person
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import MAX_OPEN_PROPOSALS, ProposalKind, ProposalState

Cosine = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Neighbours = Annotated[int, Field(strict=True, ge=1, le=10)]
Hops = Annotated[int, Field(strict=True, ge=1, le=3)]
MostOpen = Annotated[int, Field(strict=True, ge=1, le=MAX_OPEN_PROPOSALS)]


class ProposalConfig(Body):
    """How links are proposed; what is unset or null is as the service's settings say."""

    enabled: Flag | None = None
    """Whether links are proposed by themselves."""
    min_similarity: Cosine | None = None
    """Cosine of sources that are near enough. Null: by what the model's cosines mean."""
    min_concept_similarity: Cosine | None = None
    """Cosine of concepts that are near enough. Null: by what the model's cosines mean."""
    min_contrast: Cosine | None = None
    """By how much the cosine of two sources is over the mean cosine of both with what else is near to them.
    Null: by what the model's cosines mean."""
    min_concept_contrast: Cosine | None = None
    """The same of two concepts."""
    neighbours: Neighbours | None = None
    """Each must be among so many that are nearest to the other."""
    hops: Hops | None = None
    """What is connected by so few steps is not proposed: 1: by a link or a concept that both carry; 2: also
    by concepts that are related; 3: also by those that are related to the same one."""
    max_open: MostOpen | None = None
    """So many open proposals are kept, the best."""


class UsedProposals(Answer):
    """How links are proposed, with the settings of the service."""

    enabled: bool
    min_similarity: float
    min_concept_similarity: float
    min_contrast: float
    min_concept_contrast: float
    neighbours: int
    hops: int
    max_open: int


class ProposalStatus(Answer):
    """How links are proposed in an ontology, and how far that is."""

    ontology: str
    config: ProposalConfig
    used: UsedProposals
    open: int
    accepted: int
    rejected: int
    due: int
    """Sources and concepts that are still to be looked at."""
    dropped: int
    """Weaker proposals that were left out, because `max_open` better ones are there."""
    searched_at: datetime | None
    """When all that was due had been looked at."""
    applied: bool = True
    notes: list[str] = Field(default_factory=list[str])


class ProposalSearch(Answer):
    """What was asked for when links are looked for now."""

    ontology: str
    due: int
    job_id: str | None
    notes: list[str] = Field(default_factory=list[str])


# Links that are proposed, and what becomes of them.


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
