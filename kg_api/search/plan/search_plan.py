"""What is asked where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kg_api.graph.search.crowds import CROWDED
from kg_api.graph.search.passages import MAX_CHUNKS, TEXT_INDEX, Filters, SpaceVectors
from kg_api.models.queries.search import SourceSearch
from kg_api.models.vocabulary import SearchMode
from kg_api.search.notes import Notes
from kg_api.search.plan.page import HitPage
from kg_api.search.plan.picture_vectors import PictureVector
from kg_api.search.plan.query_vector import QueryVector
from kg_api.search.plan.scope import Scope
from kg_api.search.plan.similarity import SimilarityFilter
from kg_api.search.plan.wording import Wording
from kg_api.search.timing import Stopwatch
from kg_api.spaces.plans import OntologySnapshot

LANE_DEPTH = 50
"""How many of each lane are fused, at least; the field uses 30 to 50 and more."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """One search, ready to be done: all that the steps behind it know of the request."""

    request: SourceSearch
    known: OntologySnapshot
    """All ontologies."""
    scope: Scope
    filters: Filters = field(default_factory=Filters)
    full_text: Sequence[str] = ()
    """In Lucene syntax; several when the filters name very many documents."""
    words_among: Sequence[str] | None = None
    """Documents that what words find is filtered by, where they are too many for the queries themselves."""
    word_pairs: Sequence[str] = ()
    """Words that stand beside each other in the question."""
    wording: Wording = field(default_factory=Wording)
    """Where `full_text` comes from."""
    words: int = 0
    """How many different words the question has."""
    depth: int = LANE_DEPTH
    """Hits to fetch from each lane."""
    vectors: Sequence[QueryVector] = ()
    """The question's, one for each model."""
    pictures: Sequence[PictureVector] = ()
    """The question's in each space of pictures whose model reads text."""
    hyde_fault: str | None = None
    """Why there are no hypothetical answers, though they were asked for."""
    populating: dict[str, str] = field(default_factory=dict[str, str])
    """Indexes that are not online, and their state."""
    similar: SimilarityFilter = field(default_factory=SimilarityFilter)
    """What is similar enough."""
    page: HitPage = field(default_factory=HitPage)
    """Which of the hits are wanted."""
    concepts_alone: bool = False
    """Whether sources are found through the question's concepts only."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    notes: Notes = field(default_factory=Notes)
    """What could not be done, of all steps."""

    @property
    def image(self) -> bool | None:
        """Whether only pictures are wanted, or only what is none; None: both."""
        return self.filters.image

    @property
    def text(self) -> str:
        """The words asked for; empty when only a vector was given."""
        return self.request.query_text or ""

    @property
    def usable(self) -> dict[str, QueryVector]:
        """The vectors that a lane can be asked with, by the slug of their space."""
        return {vector.space.slug: vector for vector in self.vectors if vector.usable}

    @property
    def pictured(self) -> list[PictureVector]:
        """Those that pictures are looked for by."""
        return [each for each in self.pictures if each.vector is not None]

    @property
    def asks_text(self) -> bool:
        """Whether words are looked for: asked for, or in the place of vectors that are not to be had."""
        if self.concepts_alone or TEXT_INDEX in self.populating:
            return False
        return self.request.mode != "vector" or (len(self.usable) < len(self.vectors) and bool(self.text))

    def candidates(self, filters: Filters) -> int:
        """Passages to ask a vector index for; the nearest of them, by exact cosine, are the lane."""
        crowd = max(1.0, self.known.crowd(filters.ontologies) / CROWDED)
        return min(MAX_CHUNKS, int(LANE_DEPTH * math.sqrt(crowd)))

    @property
    def models(self) -> int:
        """How many vectors are asked with, each one in a lane of its own."""
        return 0 if self.concepts_alone else len(self.usable)

    @property
    def lanes(self) -> int:
        """How many are asked side by side."""
        return self.models + self.asks_text

    @property
    def mode(self) -> SearchMode:
        if self.models and self.asks_text:
            return "hybrid"
        return "vector" if self.models else "text"

    @property
    def space_vectors(self) -> SpaceVectors:
        """The vectors, as lanes take them that find by something else and measure by them."""
        known = {each.space.slug: each.vector for each in self.vectors if each.vector is not None}
        spaces = [each.space for each in self.scope.spaces]
        return SpaceVectors(
            vectors={space.key: known[space.slug] for space in spaces if space.slug in known},
            properties={space.key: space.vector_property for space in spaces},
            spaces=self.scope.elsewhere,
        )

    def worded(self, wording: Wording) -> SearchPlan:
        return replace(self, full_text=wording.queries, wording=wording)

    @property
    def reach(self) -> int:
        """How many hits this page and those before it have."""
        return len(self.page.given) + self.request.limit

    @property
    def deeper(self) -> SearchPlan:
        """The same, with lanes four times as deep; as deep as they go when that is half of the way, or exact.

        An exact lane scans everything at any depth, and a last step of a fifth would gain next to nothing.
        """
        depth = 4 * self.depth
        return replace(self, depth=MAX_CHUNKS if self.request.exact or 2 * depth > MAX_CHUNKS else depth)
