"""What is similar enough to be a hit: decided before the best are taken, so no answer gets shorter. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.graph.passages import Found
from kg_api.models.augment import Threshold
from kg_api.models.search import LeftOut
from kg_api.search.lanes import Lanes
from kg_api.search.ranking import Hit


@dataclass(frozen=True, slots=True)
class SimilarityFilter:
    """The least similarity of hits, by the space that they are measured in."""

    least: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the slug of a space; where it is missing, nothing is left out."""
    keep_unmeasured: bool = True
    """Whether hits are kept where the question has no vector: nobody can say how similar they are."""
    keep_carried: bool = False
    """Whether what concepts brought is kept whatever its similarity, beside a hit that is similar enough."""

    def bind(self, blind: Collection[str], space_of: Callable[[str], str]) -> BoundFilter:
        """For one question.

        Args:
            blind: the spaces in which it has no vector.
            space_of: the space that an ontology answers by.
        """
        return BoundFilter(self, frozenset(blind), space_of)


def filter_by(thresholds: Mapping[str, Threshold], *, keep_carried: bool = False) -> SimilarityFilter:
    """The filter for what is shown to a language model, which reads no notes.

    So nothing passes a number that somebody asked for without being measured.

    Args:
        thresholds: by the slug of a space.
        keep_carried: whether to keep what concepts brought beside a hit that is similar enough.
    """
    least = {slug: each.min_similarity for slug, each in thresholds.items()}
    return SimilarityFilter(
        {slug: value for slug, value in least.items() if value is not None},
        keep_unmeasured=not any(each.source == "request" for each in thresholds.values()),
        keep_carried=keep_carried,
    )


@dataclass(frozen=True, slots=True)
class Filtered:
    """Hits that are similar enough, and what is told of the others."""

    hits: list[Hit]
    left_out: LeftOut


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter, for the vectors of one question."""

    similar: SimilarityFilter
    blind: frozenset[str]
    space_of: Callable[[str], str]

    def passes(self, hit: Hit) -> bool:
        """Whether a hit is similar enough by itself."""
        slug, similarity = self.space_of(hit.found.place.ontology), hit.found.similarity
        least = self.similar.least.get(slug)
        if least is None:
            return True
        if slug in self.blind:
            return self.similar.keep_unmeasured
        return similarity is not None and similarity >= least

    def strict(self, hits: Iterable[Hit]) -> list[Hit]:
        """The hits that are similar enough by themselves, in their order."""
        return [hit for hit in hits if self.passes(hit)]

    def apply(self, hits: Sequence[Hit]) -> Filtered:
        """The hits that are to be kept, in their order."""
        beside = self.similar.keep_carried and any(self.passes(hit) for hit in hits)
        keep = [self.passes(hit) or (beside and bool(hit.found.through)) for hit in hits]
        lost = [hit.found.similarity for hit, kept in zip(hits, keep, strict=True) if not kept]
        measured = [similarity for similarity in lost if similarity is not None]
        return Filtered(
            [hit for hit, kept in zip(hits, keep, strict=True) if kept],
            LeftOut(
                below_similarity=len(measured),
                without_vector=len(lost) - len(measured),
                nearest=max(measured, default=None),
            ),
        )

    def may_hide(self, lanes: Lanes, spaces: Iterable[str]) -> bool:
        """Whether deeper lanes may hold more that is similar enough.

        They do not where a lane of vectors reaches below the least similarity: it is ordered by that.
        """
        return any(self._may_hide(slug, lanes.vectors.get(slug)) for slug in spaces)

    def _may_hide(self, slug: str, lane: Sequence[Found] | None) -> bool:
        least = self.similar.least.get(slug)
        if least is None:
            return True
        if slug in self.blind:
            return self.similar.keep_unmeasured
        if not lane:
            return lane is None  # an empty one was asked: nothing has a vector yet
        furthest = lane[-1].similarity
        return furthest is None or furthest >= least
