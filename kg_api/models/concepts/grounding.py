"""How well a concept is grounded: what sources state for it, and against it."""

from __future__ import annotations

from kg_api.models.base import Answer
from kg_api.models.concepts.relations import RelationshipEvidence


class Grounding(Answer):
    """What sources state for and against a concept, as an opinion of subjective logic.

    Jøsang, Subjective Logic (Springer 2016), chapter 3: of r for and s against, belief is r / (r + s + 2),
    disbelief s / (r + s + 2), uncertainty 2 / (r + s + 2). Each source counts once on each side, by its
    surest statement.
    """

    strength: float
    """Belief and half of the uncertainty: the mean of Beta(r + 1, s + 1). 0.5: as much is stated for it as
    against it, or nothing."""
    belief: float
    disbelief: float
    uncertainty: float
    """1: nothing is known; it falls with each source."""
    supporting: float
    """r: the confidences of the sources that speak for it, together."""
    contradicting: float
    """s: of those that speak against it."""
    supporting_evidence: list[RelationshipEvidence]
    contradicting_evidence: list[RelationshipEvidence]
    more_evidence: int
    """Statements on either side beyond those given."""
