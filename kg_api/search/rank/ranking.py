"""What was found, in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kg_api.models.queries.search import LeftOut
from kg_api.search.retrieve.hits import Hit


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits, the best first, and what is said of those that are not among them."""

    hits: Sequence[Hit]
    left_out: LeftOut = field(default_factory=LeftOut)
