"""How links are proposed in ontologies that say nothing else."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.vocabulary import MAX_OPEN_PROPOSALS
from kg_api.sections import Section


class ProposalSettings(Section):
    """Links that are proposed between sources, and between concepts, of different documents."""

    enabled: bool = Field(
        default=True,
        description="Whether links are proposed by themselves, in ontologies that say nothing else.",
    )
    min_similarity: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Minimum cosine of two sources; unset: by what the model's cosines mean.",
    )
    min_concept_similarity: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Minimum cosine of two concepts; unset: by what the model's cosines mean.",
    )
    min_contrast: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="By how much the cosine of two sources exceeds the mean cosine of both with what else is "
        "near; unset: by what the model's cosines mean.",
    )
    min_concept_contrast: float | None = Field(
        default=None, ge=-1, le=1, description="The same of two concepts."
    )
    neighbours: int = Field(
        default=1, ge=1, le=10, description="Each must be among so many that are nearest to the other."
    )
    hops: int = Field(
        default=2, ge=1, le=3, description="What is connected by so few steps already is not proposed."
    )
    max_open: int = Field(
        default=500,
        ge=1,
        le=MAX_OPEN_PROPOSALS,
        description="Maximum open proposals per ontology; the best are kept.",
    )
    nodes_a_run: int = Field(
        default=5000,
        ge=1,
        le=1_000_000,
        description="Maximum sources and concepts that one job looks at; the next check goes on.",
    )
