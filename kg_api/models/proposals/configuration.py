"""How links are proposed in an ontology, and how far that is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from kg_api.models.base import Answer, Body, Flag
from kg_api.models.vocabulary import MAX_OPEN_PROPOSALS

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
