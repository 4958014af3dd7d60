"""Remote rerankers: Cohere, and servers with a /rerank endpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import accumulate, pairwise
from typing import cast

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.providers.http import MIB, JsonClient, Provider, Reply, Service, Variables, get_fields
from kg_api.providers.rerank import scale_scores
from kg_api.providers.retrying import RetryPolicy
from kg_api.sections import RerankSettings
from kg_api.settings import Settings

RERANKING = Service(
    kind="rerank",
    name="a reranking service",
    subject="the reranker",
    rejection="the passages or the model{model} were rejected. Correct KG_RERANK__MODEL, or lower "
    "KG_RERANK__MAX_CHARACTERS",
    unavailable=RerankUnavailable,
    unusable=RerankUnavailable,
    rejected=RerankUnavailable,
    misconfigured=RerankUnavailable,
)
"""All failures are RerankUnavailable, because a search continues without reranking."""
REQUESTS = 8  # in parallel, for all searches together
POLICY = RetryPolicy(tries=3, first_wait=0.1)  # short waits, because a search waits for the reply
RERANKER_OVERLAP = 0.125
"""Share of a window that overlaps the next one, so that each sentence is complete in one window."""


class RemoteReranker:
    """POST {query, documents} -> results, or TEI's {query, texts} -> a plain list (`speaks_tei`).

    If `speaks_tei` is None, the first reply shows the format.
    """

    def __init__(
        self,
        provider: Provider,
        path: str,
        settings: RerankSettings,
        policy: RetryPolicy,
        *,
        fields: Mapping[str, object],
        speaks_tei: bool | None,
    ) -> None:
        self._provider = provider
        self._client = JsonClient(provider, path)
        self._name = f"{'endpoint' if speaks_tei is None else 'cohere'}:{provider.model or 'default'}"
        self._settings = settings
        self._policy = policy
        self._fields = fields
        self._speaks_tei = speaks_tei
        self._pool = ThreadPoolExecutor(REQUESTS, thread_name_prefix="rerank")

    @property
    def name(self) -> str:
        return self._name

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """Score all texts by parallel requests, which all have to succeed."""
        until = self._policy.clock() + seconds
        cut = [cut_windows(text, self._settings.max_characters) for text in texts]
        pieces = [piece for windowed in cut for piece in windowed]
        each = self._settings.batch_size
        batches = [pieces[at : at + each] for at in range(0, len(pieces), each)]
        futures = [self._pool.submit(copy_context().run, self._ask, query, batch, until) for batch in batches]
        found = [score for future in futures for score in self._await_result(future, until, futures)]
        return select_best_scores(scale_scores(found), [len(windowed) for windowed in cut])

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _ask(self, query: str, texts: Sequence[str], until: float) -> list[float]:
        # Some servers return the passages with each character escaped
        max_bytes = sum(6 * len(text) + 1024 for text in texts) + MIB

        def once(left: float | None) -> list[float]:
            return self._request(query, texts, left or 0.001, max_bytes)

        return self._policy.call(once, RERANKING.give_up, until, kind=RERANKING.kind)

    def _request(self, query: str, texts: Sequence[str], seconds: float, max_bytes: int) -> list[float]:
        """Score texts by one HTTP request, in order, on the provider's scale."""
        speaks_tei = self._speaks_tei is True
        reply = self._post(query, texts, seconds, max_bytes, tei=speaks_tei)
        if self._speaks_tei is None and reply.status in _OTHER_FORM:
            other = self._post(query, texts, seconds, max_bytes, tei=True)
            if other.status not in _OTHER_FORM:
                reply, speaks_tei = other, True
        body = self._client.read(reply)
        found = get_fields(body).get("results", body)
        scores = self._read_scores(
            cast("list[object]", found) if isinstance(found, list) else None, len(texts)
        )
        self._speaks_tei = speaks_tei
        return scores

    def _post(self, query: str, texts: Sequence[str], seconds: float, max_bytes: int, *, tei: bool) -> Reply:
        body: dict[str, object] = {"query": query, "texts": list(texts)}
        if not tei:
            model = {"model": self._provider.model} if self._provider.model else {}
            body = {**model, **self._fields, "query": query, "documents": list(texts), "top_n": len(texts)}
        return self._client.post(body, seconds, max_bytes)

    def _read_scores(self, found: list[object] | None, texts: int) -> list[float]:
        entries = [get_fields(each) for each in found or []]
        if found is None or not all(entries):
            raise self._provider.report_wrong_service()
        pairs = [(each.get("index"), each.get("relevance_score", each.get("score"))) for each in entries]
        return sort_scores(pairs, texts)

    def _await_result(
        self, future: Future[list[float]], until: float, all_asked: Sequence[Future[list[float]]]
    ) -> list[float]:
        """Wait for a result until the deadline."""
        try:
            return future.result(timeout=max(0.0, until - self._policy.clock()))
        except TimeoutError:
            for each in all_asked:
                each.cancel()
            raise RerankUnavailable(
                f"{self._name} did not respond in time. Set KG_RERANK__SECONDS higher"
            ) from None


def cut_windows(text: str, most: int) -> list[str]:
    """Cut a text into overlapping windows of up to `most` characters."""
    step = max(1, most - int(most * RERANKER_OVERLAP))
    starts = range(0, max(1, len(text) - (most - step)), step)
    return [text[at : at + most] for at in starts]


def select_best_scores(scores: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Select the best score of each text, from the scores of all windows and the windows per text."""
    borders = accumulate(counts, initial=0)
    return [max(scores[start:end]) for start, end in pairwise(borders)]


def sort_scores(items: Sequence[tuple[object, object]], texts: int) -> list[float]:
    """Return the scores of (index, score) pairs in the order of the texts.

    A missing index is 0, because servers in Go omit zeros.
    """
    found = dict[int, float]()
    for position, score in items:
        index = 0 if position is None else position
        if type(index) is not int or not 0 <= index < texts or index in found:
            raise RerankUnavailable(f"the reply of the reranker has a wrong index for {texts} passages")
        found[index] = _parse_number(score)
    if len(found) != texts:
        raise RerankUnavailable(f"the reranker returned {len(found)} scores for {texts} passages")
    return [found[at] for at in range(texts)]


def _parse_number(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise RerankUnavailable("a score in the reply of the reranker is not a finite number")
    return float(score)


# Cohere

COHERE_VARIABLES = Variables("KG_RERANK__MODEL", "COHERE_BASE_URL", "COHERE_API_KEY")
COHERE_MODEL = "rerank-v3.5"
COHERE_MAX_TOKENS = 4096  # limit of question and passage, far above the size of a window


def open_cohere(settings: Settings, policy: RetryPolicy = POLICY) -> RemoteReranker:
    """Open the reranker without a request."""
    own = settings.cohere
    if own.api_key is None:
        raise ConfigurationError(
            "COHERE_API_KEY is not set where kg runs. Set it, then run `kg down` and `kg up`"
        )
    model = settings.rerank.model or COHERE_MODEL
    provider = Provider(RERANKING, COHERE_VARIABLES, model, own.base_url, own.api_key)
    fields = {"max_tokens_per_doc": COHERE_MAX_TOKENS}
    return RemoteReranker(provider, "/v2/rerank", settings.rerank, policy, fields=fields, speaks_tei=False)


# Servers with /rerank: like Cohere and Jina (vLLM, Infinity, LiteLLM), or like TEI

ENDPOINT_VARIABLES = Variables("KG_RERANK__MODEL", "KG_RERANK__BASE_URL", "KG_RERANK__API_KEY")
_OTHER_FORM = {400, 422}  # statuses for a missing or unknown field


def open_endpoint(settings: Settings, policy: RetryPolicy = POLICY) -> RemoteReranker:
    """Open the reranker without a request."""
    own = settings.rerank
    provider = Provider(RERANKING, ENDPOINT_VARIABLES, own.model or "", own.base_url or "", own.api_key)
    return RemoteReranker(provider, "/rerank", own, policy, fields={}, speaks_tei=None)
