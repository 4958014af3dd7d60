"""What the lanes of a search found, and that in an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.graph.search.carried import Seed
from kg_api.graph.search.passages import LaneHit
from kg_api.search.plan.wording import Wording
from kg_api.search.retrieve.hits import Hit


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found, by lane."""

    lanes: Mapping[str, Sequence[LaneHit]] = field(default_factory=dict[str, Sequence[LaneHit]])
    """Those that were asked, by name, each with the best first. Similarities of two models cannot be
    compared, so each model has a lane: `vector:` and its space."""
    cut: bool = False
    """Whether a lane was asked for as many as it gave: there may be more."""
    seeds: Sequence[Seed] = ()
    """The question's own concepts."""
    fused: Sequence[Hit] | None = None
    """All that the lanes found in one order, where concepts go on from the best of it."""
    carried: Sequence[LaneHit] = ()
    """What they led to, the best first."""
    wording: Wording | None = None
    """The words that were looked for in the end, where they are not the plan's."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits, the best first, and what is said of those that are not among them."""

    hits: Sequence[Hit]
    lost: Sequence[Hit] = ()
    """Those that are not similar enough."""
    more: bool = False
    """Whether there may be others behind them."""
