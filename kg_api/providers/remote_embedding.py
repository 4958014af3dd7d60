"""An embedder whose model runs elsewhere: limits, batches, retries and checks for all of them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any, Final, Protocol, cast
from urllib.parse import urlsplit

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable, InvalidInput, KgError, ProviderMissing
from kg_api.metrics import spend_tokens
from kg_api.providers.embedding_port import (
    RejectedTexts,
    RemoteModel,
    Vectors,
    mean_of_pieces,
    price_of,
    remote_model,
    require_text,
    spend,
    too_long,
    unit,
)
from kg_api.providers.http import MIB, JsonClient, Pace, reply_of_at_most
from kg_api.providers.model_files import tokenizer_of
from kg_api.providers.retrying import Provider as ServiceProvider
from kg_api.providers.retrying import RetryableError, RetryPolicy, Service, Variables, fields_of
from kg_api.providers.server_traits import ServerTraits, traits_of
from kg_api.providers.tokens import Span, Tokenizer, cut, fits, measure, query_pieces, total
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.schemas.vocabulary import Provider
from kg_api.sections import NomicSettings, ProviderSettings
from kg_api.settings import Settings

log = structlog.get_logger()

KNOWN_GOOD = "The library on the hill opens at nine in the morning."
"""A text that every server embeds which embeds at all."""
MAX_AT_FAULT = 20
"""Texts that a server fails on before it embeds any: more are no matter of single texts."""
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

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """What one request may hold and how long it may take."""

    texts: int
    tokens: int
    seconds: float
    query_seconds: float
    """For a whole question, tries and waits included."""


@dataclass(slots=True)
class _Call:
    """Texts to embed, and what has become of them so far."""

    texts: Sequence[str]
    sizes: Sequence[int]
    """Tokens of each."""
    probes: int
    """So many at the end are probes, whose tokens are not counted as spent."""
    query: bool
    until: float | None
    vectors: Vectors
    accepted: int = 0
    largest: int = 0
    """Texts of the largest request that passed since a request failed after all tries."""
    is_sound: bool = False
    """Whether the server was seen to embed another text after a failure."""
    rejected: dict[str, str] = field(default_factory=dict[str, str])
    """Reason by text."""


class RemoteEmbedder:
    """A model behind HTTP.

    A request that fails for good is divided until each text that the server fails on is alone: the others are
    embedded, and the size that the server accepts is remembered (`ServerTraits`).
    """

    def __init__(
        self,
        endpoint: EmbeddingEndpoint,
        identity: SpaceIdentity,
        tokenizer: Tokenizer,
        limits: EmbeddingLimits,
        policy: RetryPolicy,
        *,
        pace: Pace,
        traits: ServerTraits,
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
            traits: what the process has learned of the server.
            bill: is given the tokens of each request, probes too.
        """
        self._endpoint = endpoint
        self._identity = identity
        self._tokenizer = tokenizer
        self._limits = limits
        self._policy = policy
        self._pace = pace
        self._traits = traits
        self._bill = bill

    @property
    def identity(self) -> SpaceIdentity:
        """The provider's name for the model, its size and its prefixes, whoever puts them there."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`.

        Raises:
            InvalidInput: a text is blank or too long; none was sent.
            RejectedTexts: the server fails on some texts and embeds others.
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
        return self._cut(text, self._identity.passage_prefix + before)

    def count_tokens(self, texts: Sequence[str]) -> int:
        return total(self._tokenizer, self._identity.max_tokens, self._identity.passage_prefix, texts)

    def close(self) -> None:
        self._endpoint.close()

    def _pieces(self, text: str) -> list[str]:
        require_text(text)
        return query_pieces(text, self._cut(text, self._identity.query_prefix))

    def _rows(self, texts: Sequence[str], *, query: bool, probes: int = 0) -> Vectors:
        """Embed texts, of which so many at the end are probes, in as many requests as it takes."""
        prefix = self._identity.query_prefix if query else self._identity.passage_prefix
        call = _Call(
            texts,
            [self._size(text, prefix) for text in texts],
            probes,
            query,
            self._policy.clock() + self._limits.query_seconds if query else None,
            np.empty((len(texts), self._identity.dimensions), dtype=np.float32),
        )
        self._embed(call, 0, len(texts))
        if call.rejected:
            raise RejectedTexts(call.rejected)
        return call.vectors

    def _embed(self, call: _Call, begin: int, end: int, *, dividing: bool = False) -> None:
        """Embed the texts between two places, in as many requests as the server takes."""
        while begin < end:
            stop = self._fit(call.sizes, begin, end)
            failure = self._request(call, slice(begin, stop), is_part=dividing and stop - begin > 1)
            if failure is not None and stop - begin == 1:
                # Note that a text is at fault which failed alone; raise its failure if the server is
                is_unanswered = isinstance(failure, EmbeddingUnavailable)
                if is_unanswered and not self._is_sound(query=call.query):
                    raise failure
                call.rejected[call.texts[begin]] = str(failure)
                if is_unanswered and not call.accepted and len(call.rejected) >= MAX_AT_FAULT:
                    raise failure
            elif isinstance(failure, InvalidInput) and not call.query:
                with self._traits.learning:
                    self._divide(call, begin, stop, failure)
            elif isinstance(failure, EmbeddingUnavailable) and not dividing:
                self._divide_unanswered(call, begin, stop, failure)
            elif failure is not None:
                self._divide(call, begin, stop, failure)
            begin = stop

    def _divide_unanswered(self, call: _Call, begin: int, stop: int, failure: EmbeddingUnavailable) -> None:
        """Divide a request that got no vectors in all its tries, as one too large for memory or a timeout.

        If its parts pass, its size is at fault. A part is sent once, so its failure may be chance.
        """
        before, call.largest = len(call.rejected), 0
        self._divide(call, begin, stop, failure)
        if len(call.rejected) == before:
            self._traits.learn(max_texts=call.largest)

    def _divide(
        self, call: _Call, begin: int, stop: int, failure: InvalidInput | EmbeddingUnavailable
    ) -> None:
        """Embed what a failed request had in smaller ones: its size, a text or the server is at fault."""
        sizes, is_rejected = call.sizes[begin:stop], isinstance(failure, InvalidInput)
        if is_rejected:
            has_learned = self._fit(call.sizes, begin, stop) < stop  # another thread, meanwhile
            message = str(failure).partition(EMBEDDING.rejection)[2]
            if has_learned or self._traits.learn_named_limit(message, sizes):
                self._embed(call, begin, stop)
                return
        if not (call.is_sound or self._is_sound(query=call.query)):
            raise failure
        call.is_sound = True
        log.info("request divided", texts=len(sizes), reason=str(failure))
        before, middle = len(call.rejected), begin + (len(sizes) + 1) // 2
        self._embed(call, begin, middle, dividing=True)
        self._embed(call, middle, stop, dividing=True)
        if is_rejected and len(call.rejected) == before:
            self._traits.learn(max_texts=middle - begin)

    def _request(
        self, call: _Call, part: slice, *, is_part: bool
    ) -> InvalidInput | EmbeddingUnavailable | None:
        """Send a request and keep its vectors; give the failure that a text in it, or its size, may explain.

        `is_part`: the server has just failed on what this is a part of, so it is asked once (but for limits).
        """
        texts, sizes = call.texts[part], call.sizes[part]
        last: RetryableError | None = None

        def once(left: float | None) -> EmbeddingReply:
            nonlocal last
            seconds = self._limits.seconds if left is None else min(left, self._limits.seconds)
            try:
                return self._send(texts, sum(sizes), query=call.query, seconds=seconds)
            except RetryableError as error:
                last = error
                if is_part and not error.is_limit:
                    raise EMBEDDING.give_up(str(error), None) from None
                raise

        try:
            answer = self._policy.call(once, EMBEDDING.give_up, call.until, kind=EMBEDDING.kind)
        except InvalidInput as failure:
            return failure
        except EmbeddingUnavailable as failure:
            if call.query or last is None or last.is_limit:
                raise
            return failure
        call.vectors[part] = answer.vectors
        call.accepted += len(texts)
        call.largest = max(call.largest, len(texts))
        counted = sum(sizes)
        billed = counted if answer.tokens is None else answer.tokens
        self._bill(billed)
        own = sum(call.sizes[part.start : min(part.stop, len(call.texts) - call.probes)])
        spend(round(billed * own / counted))
        return None

    def _is_sound(self, *, query: bool) -> bool:
        """Whether the server embeds a text that is known to be good; it is asked once, and briefly."""
        tokens = self._tokenizer.count(KNOWN_GOOD)
        seconds = min(self._limits.seconds, self._limits.query_seconds)
        try:
            answer = self._send([KNOWN_GOOD], tokens, query=query, seconds=seconds)
        except (RetryableError, KgError):
            return False
        self._bill(tokens if answer.tokens is None else answer.tokens)
        return True

    def _send(self, texts: Sequence[str], tokens: int, *, query: bool, seconds: float) -> EmbeddingReply:
        with (
            reply_of_at_most(max_reply_bytes(len(texts), self._identity.dimensions)),
            nullcontext() if query else self._pace.turn(tokens),
        ):
            return self._endpoint.ask(texts, query=query, seconds=seconds)

    def _cut(self, text: str, before: str) -> list[Span]:
        return cut(text, measure(self._tokenizer, self._identity.max_tokens, before))

    def _size(self, text: str, prefix: str) -> int:
        require_text(text)
        if not fits(self._tokenizer, prefix + text, self._identity.max_tokens):
            raise too_long(self._identity.max_tokens)
        return self._tokenizer.count(prefix + text) + self._tokenizer.special

    def _fit(self, sizes: Sequence[int], begin: int, end: int) -> int:
        """Where a request ends that begins at a place: it has as many texts as the server takes."""
        texts = min(self._limits.texts, self._traits.max_texts or self._limits.texts)
        tokens = min(self._limits.tokens, self._traits.max_tokens or self._limits.tokens)
        stop, used = begin + 1, sizes[begin]
        while stop < end and stop - begin < texts and used + sizes[stop] <= tokens:
            used += sizes[stop]
            stop += 1
        return stop


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
    return RemoteEmbedder(
        endpoint,
        identity,
        tokenizer,
        limits,
        policy,
        pace=pace,
        traits=traits_of_model(provider, own, model),
        bill=bill,
    )


def traits_of_model(provider: Provider, own: ProviderSettings, model: RemoteModel) -> ServerTraits:
    """What the process has learned of the server of a provider's model."""
    return traits_of(own.base_url, model.name, f"{provider.upper()}_BATCH_SIZE")


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


# The vectors that providers answer, to be checked.

INDEXES_WRONG: Final = (
    "the embedding server does not say which vector is of which text: in its reply every `index` must be the "
    "place of a text, or all must be left out;"
)
MAX_SHOWN = 5


def unit_rows(
    found: Sequence[Any], texts: int, dimensions: int, hint: str, *, what: str = "texts"
) -> Vectors:
    """Check a reply's vectors and scale them to length 1.

    Args:
        found: one per text, in the order of the texts; numbers of any kind.
        texts: how many were sent.
        dimensions: the size that is wanted.
        hint: what to do about another size.
        what: was sent, if no texts.

    Returns:
        float32, shape (texts, dimensions).

    Raises:
        EmbeddingFailed: saying what is wrong with them.
    """
    if len(found) != texts:
        raise EmbeddingFailed(f"{texts} {what} were sent and {len(found)} vectors came back")
    rows = np.empty((texts, dimensions), dtype=np.float32)
    for i, each in enumerate(found):
        vector = _numbers(each)
        if vector.ndim > 1:
            raise EmbeddingFailed(
                f"the reply has {len(vector)} vectors for one of the {what}, perhaps one for each token: "
                "set the server's pooling so that it returns one"
            )
        if vector.shape != (dimensions,):
            raise EmbeddingFailed(f"the vectors have {vector.size} numbers, not {dimensions}; {hint}")
        rows[i] = unit(vector, dimensions)
    return rows


def in_order(indexes: Sequence[object]) -> list[int]:
    """Where each text's vector stands in a reply whose vectors carry their text's index.

    A single missing index is the one that the others leave: servers written in Go omit zeros. With several
    missing, the list is in the order of the texts, which the others must confirm.

    Raises:
        EmbeddingFailed: an index is no number of a text, is there twice, or the order cannot be known.
    """
    said = str(list(indexes[:MAX_SHOWN]))
    indexes = [_index(each) for each in indexes]
    known = [index for index in indexes if index is not None]
    missing = len(indexes) - len(known)
    if missing == 1:
        absent = set(range(len(indexes))).difference(each for each in known if type(each) is int)
        indexes = [min(absent) if index is None else index for index in indexes]
    elif missing:
        indexes = [at if index is None else index for at, index in enumerate(indexes)]
    places = {index: at for at, index in enumerate(indexes) if type(index) is int}
    if sorted(places) != list(range(len(indexes))):
        raise EmbeddingFailed(f"{INDEXES_WRONG} {len(indexes)} texts got {said}")
    if missing > 1 and any(places[i] != i for i in places):
        raise EmbeddingFailed(f"{INDEXES_WRONG} several are missing in {said}")
    return [places[i] for i in range(len(indexes))]


def _index(value: object) -> object:
    """Return an index as a number if a server sends it as text or as a float."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plain_vector(embedding: object) -> object:
    """Base64 of little-endian float32 as its numbers; anything else as it is: many servers know no base64.

    Raises:
        EmbeddingFailed: it is a text of another kind.
    """
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        raise EmbeddingFailed("a vector in the reply is not base64 of float32 numbers") from None


def vector_size(embedding: object) -> int | None:
    """How many numbers a vector in a reply has; None if it is none."""
    try:
        return _numbers(plain_vector(embedding)).size
    except EmbeddingFailed:
        return None


def _numbers(value: object) -> NDArray[np.float64]:
    """A vector as numbers; some servers put it into a list of its own."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise EmbeddingFailed("a vector in the reply is not a list of numbers") from None
    if found.ndim == 0:
        raise EmbeddingFailed("a vector in the reply is not a list of numbers")
    return found[0] if found.ndim > 1 and len(found) == 1 else found


# Nomic's embedding service by its documented endpoint.
#
# Not by its client: that takes the key from a file of its own only, sends ten texts a request, and
# retries for
# 31 s without regard to Retry-After. A contract test holds the two to the same protocol.

VARIABLES = Variables("KG_EMBEDDING__MODEL", "NOMIC_BASE_URL", "NOMIC_API_KEY")


def open_nomic(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or kg does not know the model.
        ManagedProcessError: the tokenizer, which comes with the packaged model, cannot be fetched.
    """
    own = settings.nomic
    model = remote_model(choice, settings)
    if own.api_key is None:
        raise ProviderMissing("NOMIC_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`")
    return remote_embedder("nomic", NomicEndpoint(own, model), model, own, settings, policy=policy)


class NomicEndpoint:
    """POST /v1/embedding/text. The service puts the prefix there itself, by the task type."""

    def __init__(self, settings: NomicSettings, model: RemoteModel) -> None:
        self._model = model
        self._provider = ServiceProvider(
            EMBEDDING, VARIABLES, model.name, settings.base_url, settings.api_key
        )
        self._client = JsonClient(self._provider, "/v1/embedding/text")

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> EmbeddingReply:
        body: dict[str, object] = {
            "texts": list(texts),
            "model": self._model.name,
            "task_type": "search_query" if query else "search_document",
            "dimensionality": self._model.asks_for,
            "long_text_mode": "mean",  # should its tokenizer ever count more than ours, nothing is cut off
        }
        reply = self._client.read(self._client.post(body, seconds), texts)
        fields = fields_of(reply)
        found = fields.get("embeddings")
        if not isinstance(found, list):
            raise self._provider.no_service()
        hint = "correct the space's dimensions"
        vectors = unit_rows(cast("list[Any]", found), len(texts), self._model.dimensions, hint)
        return EmbeddingReply(vectors, _tokens(fields.get("usage")))

    def close(self) -> None:
        self._client.close()


def _tokens(usage: object) -> int | None:
    total = fields_of(usage).get("total_tokens")
    return total if type(total) is int and total > 0 else None
