"""The scores that providers answer, to be checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kg_api.errors import RerankUnavailable


def in_order(items: Sequence[tuple[object, object]], texts: int) -> list[float]:
    """Put a reply's (index, score) pairs into the order of the texts.

    Raises:
        RerankUnavailable: an index is missing, foreign or there twice, or a score is no finite number.
    """
    found = dict[int, float]()
    for index, score in items:
        if type(index) is not int or not 0 <= index < texts or index in found:
            raise RerankUnavailable(f"the reranker's reply has a wrong index; {texts} passages were sent")
        found[index] = _number(score)
    if len(found) != texts:
        raise RerankUnavailable(f"the reranker gave {len(found)} scores for {texts} passages")
    return [found[at] for at in range(texts)]


def _number(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise RerankUnavailable("a score in the reranker's reply is no finite number")
    return float(score)
