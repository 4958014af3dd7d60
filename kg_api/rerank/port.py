"""What every reranker gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """A model that reads question and passage together."""

    @property
    def name(self) -> str:
        """Who it is: `local:ms-marco-MiniLM-L-12-v2`, `cohere:rerank-v3.5`."""
        ...

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """Say how well each text answers the question, 0 to 1; higher is better.

        Args:
            query: the question, in plain words.
            texts: passages of any length, the likely ones first: they are read in this order, and none is
                cut off.
            seconds: after which it ends, whatever the provider does.

        Returns:
            The scores of the first texts, in the order given: of all of them, or of as many as the time was
            enough for, one at least. For no texts: none.

        Raises:
            RerankUnavailable: not one text was read in time, the provider fails, or the question is too long
                for it. The message says what to do.
        """
        ...

    def close(self) -> None:
        """Close connections and threads; the reranker is not used any more."""
        ...
