"""An embedder whose model runs elsewhere: limits, batches, retries and checks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np

from kg_api.embed.known import RemoteModel, price_of
from kg_api.embed.port import Vectors
from kg_api.embed.tally import spend
from kg_api.embed.text.spans import Span, cut
from kg_api.embed.text.tokenizers import tokenizer_of
from kg_api.embed.text.tokens import Tokenizer, fits, measure, query_pieces, total
from kg_api.embed.vectors import mean_of_pieces, require_text, too_long
from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable
from kg_api.metrics.spending import spend_tokens
from kg_api.models.embedding.spaces import ModelChoice, SpaceIdentity
from kg_api.models.vocabulary import Provider
from kg_api.provider.http import MIB, reply_of_at_most
from kg_api.provider.pace import Pace
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Service
from kg_api.sections import ProviderSettings
from kg_api.settings import Settings

BYTES_A_NUMBER = 32
MAX_BYTES = 256 * MIB
MILLION = 1_000_000
MAX_TOKENS = 300_000
"""OpenAI's limit for all texts of one request together; Nomic publishes none."""
EMBEDDING = Service(
    kind="embed",
    name="an embedding service",
    subject="the embedding provider",
    rejection="it does not take the texts",
    unavailable=EmbeddingUnavailable,
    unusable=EmbeddingFailed,
)


@dataclass(frozen=True, slots=True)
class EmbeddingReply:
    """A provider's reply to one request, checked."""

    vectors: Vectors
    """One row of length 1 per text, in their order."""
    tokens: int | None
    """What the provider bills; None when it does not say."""


class EmbeddingEndpoint(Protocol):
    """One provider's protocol: one call is one HTTP request."""

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> EmbeddingReply:
        """Embed texts, with the prefix or task of passages or of queries.

        Raises:
            RetryableError: it may work later.
            ConfigurationError: the key, the model or the address is wrong.
            InvalidInput: the provider refuses the texts.
            EmbeddingFailed: it answered, but not with usable vectors.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """What one request may hold and how long it may take."""

    texts: int
    tokens: int
    seconds: float
    query_seconds: float
    """For a whole question, tries and waits included."""


class RemoteEmbedder:
    """A model behind HTTP."""

    def __init__(
        self,
        endpoint: EmbeddingEndpoint,
        identity: SpaceIdentity,
        tokenizer: Tokenizer,
        limits: EmbeddingLimits,
        policy: RetryPolicy,
        *,
        pace: Pace,
        bill: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Nothing is asked yet.

        Args:
            endpoint: what is asked.
            identity: of the model.
            tokenizer: counts and cuts as the model does.
            limits: of one request.
            policy: when to ask again.
            pace: of requests for passages; a question is asked at once, and has its own time.
            bill: is given the tokens of each request, probes too.
        """
        self._endpoint = endpoint
        self._identity = identity
        self._tokenizer = tokenizer
        self._limits = limits
        self._policy = policy
        self._pace = pace
        self._bill = bill

    @property
    def identity(self) -> SpaceIdentity:
        """The provider's name for the model, its size and its prefixes, whoever puts them there."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`.

        Raises:
            InvalidInput: a text is blank or too long; none was sent.
            ConfigurationError: the key, the model or the address is wrong.
            EmbeddingUnavailable: the provider does not answer, after all tries; with the time for which it
                asks to be left alone, if it does.
            EmbeddingFailed: the provider answered, but not with usable vectors.
        """
        return self._rows(texts, query=False)

    def embed_query(self, text: str) -> Vectors:
        """See `Embedder`. It takes no longer than the limit for questions, whatever the provider does."""
        return mean_of_pieces(self._rows(self._pieces(text), query=True))

    def embed_probed(self, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
        """See `ProbedEmbedder`."""
        if not query:
            return self._rows([*texts, probe], query=False, probes=1)
        pieces = [self._pieces(text) for text in texts]
        rows = self._rows([*chain.from_iterable(pieces), probe], query=True, probes=1)
        ends = list(accumulate(map(len, pieces)))
        questions = [
            mean_of_pieces(rows[end - len(own) : end]) for own, end in zip(pieces, ends, strict=True)
        ]
        return np.stack([*questions, rows[-1]])

    def spans(self, text: str, before: str = "") -> list[Span]:
        """See `Embedder`."""
        return self._cut(text, self._identity.passage_prefix + before)

    def count_tokens(self, texts: Sequence[str]) -> int:
        """See `Embedder`."""
        return total(self._tokenizer, self._identity.max_tokens, self._identity.passage_prefix, texts)

    def close(self) -> None:
        """See `Embedder`."""
        self._endpoint.close()

    def _pieces(self, text: str) -> list[str]:
        require_text(text)
        return query_pieces(text, self._cut(text, self._identity.query_prefix))

    def _rows(self, texts: Sequence[str], *, query: bool, probes: int = 0) -> Vectors:
        """Embed texts, of which so many at the end are probes, in as many requests as it takes."""
        until = self._policy.clock() + self._limits.query_seconds if query else None
        prefix = self._identity.query_prefix if query else self._identity.passage_prefix
        sizes = [self._size(text, prefix) for text in texts]
        own = [*sizes[: len(sizes) - probes], *[0] * probes]
        vectors = np.empty((len(texts), self._identity.dimensions), dtype=np.float32)
        for batch in self._batches(sizes):
            answer = self._ask(texts[batch], sum(sizes[batch]), query=query, until=until)
            vectors[batch] = answer.vectors
            self._bill(sum(sizes[batch]) if answer.tokens is None else answer.tokens)
            spend(_share(answer.tokens, sum(own[batch]), sum(sizes[batch])))
        return vectors

    def _cut(self, text: str, before: str) -> list[Span]:
        return cut(text, measure(self._tokenizer, self._identity.max_tokens, before))

    def _size(self, text: str, prefix: str) -> int:
        require_text(text)
        if not fits(self._tokenizer, prefix + text, self._identity.max_tokens):
            raise too_long(self._identity.max_tokens)
        return self._tokenizer.count(prefix + text) + self._tokenizer.special

    def _batches(self, sizes: Sequence[int]) -> Iterator[slice]:
        """As many texts in a row as one request may hold."""
        begin = used = 0
        for at, size in enumerate(sizes):
            if at > begin and (at - begin == self._limits.texts or used + size > self._limits.tokens):
                yield slice(begin, at)
                begin, used = at, 0
            used += size
        if sizes:
            yield slice(begin, len(sizes))

    def _ask(self, texts: Sequence[str], tokens: int, *, query: bool, until: float | None) -> EmbeddingReply:
        def once(left: float | None) -> EmbeddingReply:
            seconds = self._limits.seconds if left is None else min(left, self._limits.seconds)
            with (
                reply_of_at_most(max_reply_bytes(len(texts), self._identity.dimensions)),
                nullcontext() if query else self._pace.turn(tokens),
            ):
                return self._endpoint.ask(texts, query=query, seconds=seconds)

        return self._policy.call(once, EMBEDDING.give_up, until, kind=EMBEDDING.kind)


def remote_embedder(
    provider: Provider,
    endpoint: EmbeddingEndpoint,
    model: RemoteModel,
    own: ProviderSettings,
    settings: Settings,
    *,
    policy: RetryPolicy | None,
) -> RemoteEmbedder:
    """The embedder of a provider's model, within the limits that the settings name.

    Raises:
        ConfigurationError, ManagedProcessError: there is no tokenizer; see `tokenizer_of`.
    """
    facts = model.facts
    identity = SpaceIdentity(
        provider=provider,
        model=model.name,
        revision=model.name,
        dimensions=model.dimensions,
        max_tokens=facts.max_tokens,
        query_prefix=facts.query_prefix,
        passage_prefix=facts.passage_prefix,
    )
    limits = EmbeddingLimits(own.batch_size, MAX_TOKENS, own.timeout, settings.embedding.query_seconds)
    policy = policy or RetryPolicy(tries=own.max_retries + 1)
    pace = Pace(settings.embedding.requests_at_once, policy.first_wait)
    bill = _bill_of(own.base_url, price_of(ModelChoice(provider, model.name), settings))
    tokenizer = tokenizer_of(facts, settings)
    return RemoteEmbedder(endpoint, identity, tokenizer, limits, policy, pace=pace, bill=bill)


def _bill_of(address: str, price: float | None) -> Callable[[int], None]:
    """Counts tokens and what they cost, by a price for a million of them; None: nobody knows it."""
    host = urlsplit(address).hostname or "unknown"

    def bill(tokens: int) -> None:
        dollars = None if price is None else tokens * price / MILLION
        spend_tokens(EMBEDDING.kind, host, read=tokens, written=0, dollars=dollars)

    return bill


def max_reply_bytes(texts: int, dimensions: int) -> int:
    """How long a reply with so many vectors can be: a number has up to 25 characters in JSON."""
    return min(texts * dimensions * BYTES_A_NUMBER + MIB, MAX_BYTES)


def _share(billed: int | None, own: int, of: int) -> int:
    """The tokens of some texts of a request: by our count, or as much of what the provider bills."""
    return own if billed is None else round(billed * own / of)
