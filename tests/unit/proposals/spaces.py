from __future__ import annotations

from kg_api.graph.spaces import Space
from kg_api.schemas.spaces import SimilarityCalibration, SpaceIdentity


def space(related: float = 0.65, unrelated: float = 0.38) -> Space:
    identity = SpaceIdentity("deterministic", "words", "1", 4, 512)
    return Space("default", identity, calibration=SimilarityCalibration(related, unrelated))
