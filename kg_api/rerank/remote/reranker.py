"""A reranker whose model runs elsewhere: requests, retries, time and checks for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

from kg_api.errors import RerankUnavailable
from kg_api.provider.http import MIB, reply_of_at_most
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Service
from kg_api.rerank.blend import as_relevance

RERANKING = Service(
    kind="rerank",
    name="a reranking service",
    subject="the reranker",
    rejection="it does not take the passages or the model{model}; correct KG_RERANK__MODEL, or lower "
    "KG_RERANK__MAX_CHARACTERS or KG_RERANK__BATCH_SIZE",
    unavailable=RerankUnavailable,
    unusable=RerankUnavailable,
    rejected=RerankUnavailable,
    misconfigured=RerankUnavailable,
)
"""A search goes on without it, whatever it fails of."""
REQUESTS = 8
"""At once, of all searches together."""
POLICY = RetryPolicy(tries=3, first_wait=0.1)
"""A search waits for it: the tries are close together, and none begins behind the deadline."""
OVERLAP = 0.125
"""Share of a window that the next one repeats, so that no sentence is torn in both."""


class RerankEndpoint(Protocol):
    """One provider's protocol: one call is one HTTP request."""

    def ask(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Score texts, in their order, on the provider's own scale.

        Raises:
            RetryableError: it may work later.
            RerankUnavailable: it will not.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RerankLimits:
    """What one request may hold."""

    texts: int
    characters: int
    """Of one text."""


class RemoteReranker:
    """A model behind HTTP."""

    def __init__(
        self, endpoint: RerankEndpoint, name: str, limits: RerankLimits, policy: RetryPolicy = POLICY
    ) -> None:
        self._endpoint = endpoint
        self._name = name
        self._limits = limits
        self._policy = policy
        self._pool = ThreadPoolExecutor(REQUESTS, thread_name_prefix="rerank")

    @property
    def name(self) -> str:
        return self._name

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """See `Reranker`. All or nothing: requests go out side by side, and each has to come back."""
        until = self._policy.clock() + seconds
        cut = [windows(text, self._limits.characters) for text in texts]
        pieces = [piece for windowed in cut for piece in windowed]
        each = self._limits.texts
        batches = [pieces[at : at + each] for at in range(0, len(pieces), each)]
        asked = [self._pool.submit(copy_context().run, self._ask, query, batch, until) for batch in batches]
        found = [score for future in asked for score in self._await_result(future, until, asked)]
        return best_of(as_relevance(found), [len(windowed) for windowed in cut])

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._endpoint.close()

    def _ask(self, query: str, texts: Sequence[str], until: float) -> list[float]:
        def once(left: float | None) -> list[float]:
            with reply_of_at_most(_max_reply_bytes(texts)):
                return self._endpoint.ask(query, texts, left or 0.001)

        return self._policy.call(once, RERANKING.give_up, until, kind=RERANKING.kind)

    def _await_result(
        self, future: Future[list[float]], until: float, all_asked: Sequence[Future[list[float]]]
    ) -> list[float]:
        """Wait no longer than until the deadline, whatever the connection does."""
        try:
            return future.result(timeout=max(0.0, until - self._policy.clock()))
        except TimeoutError:
            for each in all_asked:
                each.cancel()
            raise RerankUnavailable(
                f"{self._name} did not answer in time; set KG_RERANK__SECONDS higher"
            ) from None


def _max_reply_bytes(texts: Sequence[str]) -> int:
    """How long a reply can be: some servers send the passages back, each character as an escape."""
    return sum(6 * len(text) + 1024 for text in texts) + MIB


def windows(text: str, most: int) -> list[str]:
    """Cut a text into overlapping windows of at most `most` characters; one that fits is its only window."""
    step = max(1, most - int(most * OVERLAP))
    starts = range(0, max(1, len(text) - (most - step)), step)
    return [text[at : at + most] for at in starts]


def best_of(scores: Sequence[float], counts: Sequence[int]) -> list[float]:
    """The best score of each text, from those of all windows in a row and how many each text has."""
    borders = accumulate(counts, initial=0)
    return [max(scores[start:end]) for start, end in pairwise(borders)]


def in_order(items: Sequence[tuple[object, object]], texts: int) -> list[float]:
    """Put a reply's (index, score) pairs into the order of the texts.

    A missing index is 0: servers written in Go omit zeros.

    Raises:
        RerankUnavailable: an index is out of range or there twice, or a score is no finite number.
    """
    found = dict[int, float]()
    for given, score in items:
        index = 0 if given is None else given
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
