"""What is known of a generation of communities without looking at it, and how far it is behind. Pure."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from kg_api.graph.communities.concept_graph import OntologySize
from kg_api.model_settings.communities import CommunitySettings
from kg_api.models.identity import digest

VERSION: Final = 1
"""Of the way in which communities are found: another one finds them again."""


class CommunitySummary(BaseModel):
    """Is stored with the ontology, as JSON."""

    mark: str
    """How they were found."""
    levels: list[int]
    """How many communities each level has."""
    grouped: int
    """Concepts that are in one."""
    left_out: int
    """Concepts that were looked at and are in none."""
    concepts: int
    """All that the ontology had."""
    relationships: int
    sources: int

    def changed(self, size: OntologySize) -> float:
        """The share of what they are of that has changed since, 0 to 1: of the kind that changed most.

        Args:
            size: of the ontology now, with what was written since.
        """
        shares = (
            max(size.written, abs(size.sources - self.sources)) / max(self.sources, 1),
            abs(size.concepts - self.concepts) / max(self.concepts, 1),
            abs(size.relationships - self.relationships) / max(self.relationships, 1),
        )
        return min(1.0, max(shares))


def mark_of(settings: CommunitySettings) -> str:
    """Changes when other communities would be found in the same concepts."""
    used = (settings.max_size, settings.min_size, settings.max_concepts)
    return digest("communities", str(VERSION), *map(str, used))
