"""Comparisons of saved results, each made once: with many questions they are work for seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from cachetools import LRUCache

from kg_api.errors import InvalidInput, Unavailable
from kg_api.models.evaluation import Comparison, EvalResult
from kg_api.wording.plural import pluralize

if TYPE_CHECKING:
    from kg_api.evaluate.scores.comparing import PairDifference

MAX_SCORES: Final = 50_000
"""Questions times results times measures: some seconds of work."""
MAIN_METRICS: Final = 4
"""At most so many are compared where none is named."""
KEPT_COMPARISONS: Final = 16
KEPT_DIFFERENCES: Final = 4000
"""Of two results in one measure: whoever asks for the same ones in another order asks for these."""

Stored = tuple[str, tuple[int, int]]
"""A result's name, and which version of its file it is."""


class Comparisons:
    """Makes comparisons one at a time; whoever comes meanwhile is asked to come again."""

    def __init__(self) -> None:
        """Nothing is compared yet."""
        self._made: LRUCache[Any, Comparison] = LRUCache(KEPT_COMPARISONS)
        self._differences: LRUCache[Any, PairDifference] = LRUCache(KEPT_DIFFERENCES)
        self._known, self._busy = Lock(), Lock()

    def find(
        self,
        stored: Sequence[Stored],
        metrics: Sequence[str] | None,
        against: str,
        read: Callable[[], Sequence[EvalResult]],
    ) -> Comparison:
        """Compare results, or give what was made of the same before.

        Args:
            stored: which ones.
            metrics: each once; None: the main ones.
            against: `first`, `best` in the first metric, or a label.
            read: gives the results, in the order of `stored`.

        Raises:
            InvalidInput: they cannot be compared.
            Unavailable: another comparison is being made.
        """
        key = (tuple(stored), None if metrics is None else tuple(metrics), against)
        with self._known:
            known = self._made.get(key)
        if known is not None:
            return known
        if not self._busy.acquire(blocking=False):
            raise Unavailable("other results are being compared at this moment; try again in some seconds")
        try:
            made = self._compare(stored, read(), metrics, against)
        finally:
            self._busy.release()
        with self._known:
            self._made[key] = made
        return made

    def _compare(
        self,
        stored: Sequence[Stored],
        results: Sequence[EvalResult],
        metrics: Sequence[str] | None,
        against: str,
    ) -> Comparison:
        from kg_api.evaluate.scores import comparing  # noqa: PLC0415 - scipy.stats takes 1 s and 60 MB

        identity = {id(result): each for result, each in zip(results, stored, strict=True)}

        def differ(one: EvalResult, base: EvalResult, metric: str) -> PairDifference:
            key = (identity[id(one)], identity[id(base)], metric)
            if (known := self._differences.get(key)) is None:
                known = self._differences[key] = comparing.pair_difference(one, base, metric)
            return known

        found = comparing.compare(results, metrics, against, differ)
        named = dict(zip(found.labels, [name for name, _ in stored], strict=True))
        return found.model_copy(update={"results": named})


def require_few(questions: int, results: int, metrics: Sequence[str] | None) -> None:
    """Refuse what would keep the service busy for long.

    Raises:
        InvalidInput: there are too many scores to compare.
    """
    measures = MAIN_METRICS if metrics is None else len(metrics)
    if questions * results * measures > MAX_SCORES:
        raise InvalidInput(
            f"{pluralize(questions, 'question')} of {pluralize(results, 'result')} in "
            f"{pluralize(measures, 'measure')} are too many to compare here: compare fewer results or "
            "measures at once, or use `kg eval compare` on the command line"
        )
