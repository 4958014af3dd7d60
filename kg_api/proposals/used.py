"""How links are proposed in an ontology: what was set for it, else the service's settings."""

from __future__ import annotations

from typing import Final

from kg_api.graph.spaces.registry import Space
from kg_api.model_settings.proposals import ProposalSettings
from kg_api.models.embedding.spaces import USUAL, SimilarityCalibration
from kg_api.models.identity import digest
from kg_api.models.proposals.configuration import ProposalConfig, UsedProposals

VERSION: Final = 1
"""Of the way in which links are looked for: another one looks at everything again."""
SOURCES: Final = 1.55
CONCEPTS: Final = 1.55
"""Where the threshold is between the cosines of unrelated (0) and of related (1) texts (ADR 76)."""
MAX_THRESHOLD: Final = 0.97


def use(config: ProposalConfig, settings: ProposalSettings, space: Space) -> UsedProposals:
    """What holds for an ontology that a space answers."""
    chosen = {**settings.model_dump(), **config.model_dump(exclude_none=True)}
    meant = space.calibration or USUAL
    for name, share in (("min_similarity", SOURCES), ("min_concept_similarity", CONCEPTS)):
        if chosen[name] is None:
            chosen[name] = _threshold(meant, share)
    return UsedProposals.model_validate(chosen)


def mark_of(used: UsedProposals, space: Space) -> str:
    """Changes when proposals would be others: then everything is looked at again."""
    judged = used.model_dump(exclude={"enabled", "max_open"})
    return digest("proposals", str(VERSION), space.key, space.fingerprint, repr(sorted(judged.items())))


def _threshold(meant: SimilarityCalibration, share: float) -> float:
    return round(min(MAX_THRESHOLD, meant.unrelated + share * meant.gap), 3)
