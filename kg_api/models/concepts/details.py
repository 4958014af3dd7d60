"""A concept with all that is known of it."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.concepts.grounding import Grounding
from kg_api.models.concepts.queries import Concept, Evidence, RelatedConcept, UnverifiedQuote


class ConceptDetails(Concept):
    """A concept with its evidence and what it is related to."""

    evidence: list[Evidence]
    more_evidence: int
    """How many quotes there are beyond those given."""
    unverified: list[UnverifiedQuote] = Field(default_factory=list[UnverifiedQuote])
    """What was quoted for it and proves nothing; as many as there may be of `evidence`."""
    more_unverified: int = 0
    related: list[RelatedConcept]
    more_related: int
    """At least so many more there are: beyond 200 they are not counted."""
    grounding: Grounding | None = None
    """What sources state for and against it; none where no type of relationship says anything of it."""
