"""What is similar enough to be a hit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kg_api.models.queries.augment import Threshold


@dataclass(frozen=True, slots=True)
class SimilarityFilter:
    """The least similarity of hits, by the space that they are measured in."""

    least: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the slug of a space; where it is missing, nothing is left out."""
    keep_unmeasured: bool = True
    """Whether hits are kept where the question has no vector: nobody can say how similar they are."""
    keep_carried: bool = False
    """Whether what concepts brought is kept whatever its similarity, beside a hit that is similar enough."""


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
