"""How communities of concepts are made."""

from __future__ import annotations

from pydantic import Field

from kg_api.sections import Section


class CommunitySettings(Section):
    """Communities of the concepts of each ontology."""

    enabled: bool = Field(
        default=True, description="Whether communities are detected by themselves when concepts have changed."
    )
    max_size: int = Field(
        default=100,
        ge=10,
        le=100_000,
        description="A community of more concepts is divided on the next level.",
    )
    min_size: int = Field(
        default=3, ge=2, le=1000, description="Communities of fewer concepts are left out, and counted."
    )
    max_concepts: int = Field(
        default=200_000,
        ge=1000,
        le=10_000_000,
        description="Maximum concepts per ontology that are looked at, the most connected first.",
    )
    changed_share: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="Share of an ontology's sources, concepts or relationships that must have changed before "
        "communities are detected again.",
    )
