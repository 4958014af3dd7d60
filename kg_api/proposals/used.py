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
SIMILARITY: Final = {"min_similarity": 1.55, "min_concept_similarity": 1.74}
"""Where a threshold is between the cosines of unrelated (0) and of related (1) texts (ADR 76)."""
CONTRAST: Final = {"min_contrast": 0.22, "min_concept_contrast": 0.37}
"""Differences of cosines, by that of related and unrelated texts."""
MAX_THRESHOLD: Final = 0.97


def use(config: ProposalConfig, settings: ProposalSettings, space: Space) -> UsedProposals:
    """What holds for an ontology that a space answers."""
    meant = space.calibration or USUAL
    derived = {name: _cosine(meant, share) for name, share in SIMILARITY.items()}
    derived |= {name: round(share * meant.gap, 3) for name, share in CONTRAST.items()}
    given = {**settings.model_dump(exclude_none=True), **config.model_dump(exclude_none=True)}
    return UsedProposals.model_validate({**derived, **given})


def score_of(contrast: float, space: Space) -> float:
    """What proposals are ordered by: a contrast by the difference of related and unrelated texts, 0 to 1."""
    return max(0.0, min(1.0, contrast / max((space.calibration or USUAL).gap, 1e-6)))


def mark_of(used: UsedProposals, space: Space) -> str:
    """Changes when proposals would be others: then everything is looked at again."""
    judged = used.model_dump(exclude={"enabled", "max_open"})
    return digest("proposals", str(VERSION), space.key, space.fingerprint, repr(sorted(judged.items())))


def _cosine(meant: SimilarityCalibration, share: float) -> float:
    return round(min(MAX_THRESHOLD, meant.toward_related(share)), 3)
