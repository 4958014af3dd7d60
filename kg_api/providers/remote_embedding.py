"""Remote embedders for texts and images: batches, limits, retries, and checks."""

from __future__ import annotations

import base64
import binascii
import io
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray
from PIL import Image

from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable, InvalidInput, KgError
from kg_api.providers.embedding_port import (
    Pixels,
    RejectedTexts,
    Rendering,
    TokenizedEmbedder,
    Vectors,
    average_pieces,
    draw_probe_image,
    normalize_vector,
    report_too_long,
    require_text,
    spend,
)
from kg_api.providers.http import MIB, Service
from kg_api.providers.retrying import Limiter, RejectedText, RetryableError, RetryPolicy
from kg_api.providers.tokens import Bytes, Tokenizer, fits
from kg_api.schemas.spaces import SpaceIdentity

log = structlog.get_logger()
ItemT = TypeVar("ItemT", str, bytes)
ItemT_contra = TypeVar("ItemT_contra", str, bytes, contravariant=True)

KNOWN_GOOD = "The library on the hill opens at nine in the morning."
"""Text that can be embedded by every working server."""
MAX_AT_FAULT = 20  # without a success, this many rejected texts mean that the server itself fails
BYTES_PER_NUMBER = 32  # upper limit: JSON needs up to 25 characters
MAX_BYTES = 256 * MIB
EMBEDDING = Service(
    kind="embed",
    name="an embedding service",
    subject="the embedding provider",
    rejection="the texts were rejected",
    unavailable=EmbeddingUnavailable,
    unusable=EmbeddingFailed,
)
PICTURES = Service(
    kind="image",
    name="an embedding service of images",
    subject="the image embedding provider",
    rejection="the images{model} were rejected",
    unavailable=EmbeddingUnavailable,
    unusable=EmbeddingFailed,
    rejected=RejectedText,
)
RENDERING = Rendering(512, 512, "within", "lanczos")
"""Size of images in requests. The input of image models is not larger."""


# Limit of a server, learned from its replies


@dataclass
class ServerTraits:
    """Items that a server accepts in a request for a model."""

    address: str
    batch_setting: str  # environment variable for texts per request, or empty
    max_items: int | None = None
    learning: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)
    """Lock for dividing a rejected request, so that only one thread searches for the limit."""

    def learn_limit(self, max_items: int) -> None:
        """Store the limit of items in a request, and log the setting that avoids rejected requests."""
        with self.learning:
            if self.max_items is None or max_items < self.max_items:
                self.max_items = max_items
                log.warning("embedding server has a smaller limit", note=self.note)

    @property
    def note(self) -> str:
        """The limit as a sentence that names the setting to change."""
        setting = f". Set {self.batch_setting}={self.max_items} to avoid rejected requests"
        noun = "texts" if self.batch_setting else "items"
        limit = f"{self.address} accepts at most {self.max_items} {noun} per request"
        return limit + setting * bool(self.batch_setting)


_known: dict[tuple[str, str], ServerTraits] = {}


def get_server_traits(address: str, model: str, batch_setting: str) -> ServerTraits:
    """Get the traits for a model at a URL. All embedders in the process share them."""
    return _known.setdefault((address, model), ServerTraits(address, batch_setting))


def list_learned() -> list[str]:
    return [traits.note for traits in list(_known.values()) if traits.max_items is not None]


# Requests: as many items as the server accepts, and fewer after a failure


@dataclass(frozen=True, slots=True)
class EmbeddingReply:
    vectors: Vectors  # one row of length 1 per item, in order
    tokens: int | None = None  # billed tokens, or None if the provider does not report them


class Endpoint(Protocol[ItemT_contra]):
    """Protocol of a provider. Each call sends an HTTP request."""

    def ask(
        self, items: Sequence[ItemT_contra], *, query: bool, seconds: float, max_bytes: int
    ) -> EmbeddingReply:
        """Embed texts (with the prefix or task of passages or queries) or JPEG files."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    items: int
    seconds: float
    query_seconds: float  # for a whole query with all retries
    tokens: int = 300_000  # OpenAI's limit for all texts of a request (Nomic publishes none)


@dataclass(slots=True)
class _Call(Generic[ItemT]):
    """Items to embed and their state."""

    items: Sequence[ItemT]
    sizes: Sequence[int]
    first_probe: int  # index of the first probe: tokens of probes are not counted
    query: bool
    deadline: float | None
    vectors: Vectors
    accepted: int = 0
    largest: int = 0  # items of the largest successful request since the last failure
    is_server_working: bool = False  # whether the server embedded a known good item after a failure
    rejected: dict[int, str] = field(default_factory=dict[int, str])  # reason by index


@dataclass(frozen=True, slots=True)
class Batches(Generic[ItemT]):
    """Sender of batches to an endpoint.

    A request that fails permanently is divided until each failing item is alone. All other items are
    embedded, and the accepted batch size is stored in `ServerTraits`.
    """

    endpoint: Endpoint[ItemT]
    service: Service
    dimensions: int
    known_good: Callable[[], ItemT]
    limits: EmbeddingLimits
    policy: RetryPolicy
    limiter: Limiter  # queries ignore this limit
    traits: ServerTraits
    bill: Callable[[int], None] | None = None  # receives the tokens of each request

    def embed(
        self, items: Sequence[ItemT], sizes: Sequence[int], *, query: bool = False, probes: int = 0
    ) -> tuple[Vectors, dict[int, str]]:
        """Return the vectors, and the reasons of failing items by index. The last items are probes."""
        deadline = self.policy.clock() + self.limits.query_seconds if query else None
        vectors = np.empty((len(items), self.dimensions), dtype=np.float32)
        call = _Call(items, sizes, len(items) - probes, query, deadline, vectors)
        self._embed(call, 0, len(items))
        return call.vectors, call.rejected

    def close(self) -> None:
        self.endpoint.close()

    def _embed(  # noqa: C901 - one decision for each way in which a request fails
        self, call: _Call[ItemT], begin: int, end: int, *, dividing: bool = False
    ) -> None:
        while begin < end:
            stop = self._find_batch_end(call.sizes, begin, end)
            failure = self._request(call, slice(begin, stop), is_part=dividing and stop - begin > 1)
            is_rejected = isinstance(failure, (InvalidInput, self.service.rejected))
            if failure is not None and stop - begin == 1:
                # Reject an item that fails alone, unless the whole server fails
                if not is_rejected and not self._is_server_working(query=call.query):
                    raise failure
                call.rejected[begin] = str(failure)
                if not is_rejected and not call.accepted and len(call.rejected) >= MAX_AT_FAULT:
                    raise failure
            elif failure is not None and is_rejected:
                with nullcontext() if call.query else self.traits.learning:
                    if self._find_batch_end(call.sizes, begin, stop) < stop:  # another thread found the limit
                        self._embed(call, begin, stop)
                    else:
                        middle = self._divide(call, begin, stop, failure)
                        if not any(at in call.rejected for at in range(begin, stop)):
                            self.traits.learn_limit(middle - begin)
            elif failure is not None and not dividing:
                # No vectors after all retries. If smaller requests succeed, this request was too large
                call.largest = 0
                self._divide(call, begin, stop, failure)
                if not any(at in call.rejected for at in range(begin, stop)):
                    self.traits.learn_limit(call.largest)
            elif failure is not None:
                self._divide(call, begin, stop, failure)
            begin = stop

    def _divide(self, call: _Call[ItemT], begin: int, stop: int, failure: KgError) -> int:
        """Embed the items of a failed request in two requests, and return the start of the second."""
        if not (call.is_server_working or self._is_server_working(query=call.query)):
            raise failure
        call.is_server_working = True
        log.info("request divided", items=stop - begin, reason=str(failure))
        middle = begin + (stop - begin + 1) // 2
        self._embed(call, begin, middle, dividing=True)
        self._embed(call, middle, stop, dividing=True)
        return middle

    def _request(self, call: _Call[ItemT], part: slice, *, is_part: bool) -> KgError | None:
        """Send a request and store its vectors, or return a failure that an item or the size may have caused.

        With `is_part`, the server has just failed on a larger request, so only rate limits are retried.
        """
        items, errors = call.items[part], list[RetryableError]()

        def attempt(seconds_left: float | None) -> EmbeddingReply:
            seconds = self.limits.seconds if seconds_left is None else min(seconds_left, self.limits.seconds)
            try:
                return self._send(items, query=call.query, seconds=seconds)
            except RetryableError as error:
                errors.append(error)
                if is_part and not error.is_limit:
                    raise self.service.give_up(str(error), None) from None
                raise

        try:
            reply = self.policy.call(attempt, self.service.give_up, call.deadline, kind=self.service.kind)
        except (InvalidInput, self.service.rejected) as failure:
            return failure
        except EmbeddingUnavailable as failure:
            if call.query or not errors or errors[-1].is_limit:
                raise
            return failure
        call.vectors[part] = reply.vectors
        call.accepted += len(items)
        call.largest = max(call.largest, len(items))
        if self.bill is not None:
            token_count = sum(call.sizes[part])
            billed = token_count if reply.tokens is None else reply.tokens
            self.bill(billed)
            spend(
                round(billed * sum(call.sizes[part.start : min(part.stop, call.first_probe)]) / token_count)
            )
        return None

    def _is_server_working(self, *, query: bool) -> bool:
        """Check if the server embeds a known good item: one request with a short timeout."""
        seconds = min(self.limits.seconds, self.limits.query_seconds)
        try:
            reply = self._send([self.known_good()], query=query, seconds=seconds)
        except (RetryableError, KgError):
            return False
        if self.bill is not None:
            self.bill(reply.tokens or 0)
        return True

    def _send(self, items: Sequence[ItemT], *, query: bool, seconds: float) -> EmbeddingReply:
        max_bytes = min(len(items) * self.dimensions * BYTES_PER_NUMBER + MIB, MAX_BYTES)
        with nullcontext() if query else self.limiter.slot():
            return self.endpoint.ask(items, query=query, seconds=seconds, max_bytes=max_bytes)

    def _find_batch_end(self, sizes: Sequence[int], begin: int, end: int) -> int:
        items = min(self.limits.items, self.traits.max_items or self.limits.items)
        stop, used = begin + 1, sizes[begin]
        while stop < end and stop - begin < items and used + sizes[stop] <= self.limits.tokens:
            used += sizes[stop]
            stop += 1
        return stop


class RemoteEmbedder(TokenizedEmbedder):
    """Remote text model. Thread-safe."""

    def __init__(self, batches: Batches[str], identity: SpaceIdentity, tokenizer: Tokenizer) -> None:
        """Configure the embedder without a request. `tokenizer` must count tokens like the model."""
        super().__init__(identity, tokenizer)
        self._batches = batches

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Blank or long texts raise an error before the first request."""
        return self._embed_texts(texts, query=False)

    def embed_query(self, text: str) -> Vectors:
        """Embed a query within the time limit for queries."""
        return average_pieces(self._embed_texts(self._split_pieces(text), query=True))

    def embed_probed(self, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
        if not query:
            return self._embed_texts([*texts, probe], query=False, probes=1)
        pieces = [self._split_pieces(text) for text in texts]
        rows = self._embed_texts([*chain.from_iterable(pieces), probe], query=True, probes=1)
        ends = accumulate(map(len, pieces))
        queries = [
            average_pieces(rows[end - len(query_pieces) : end])
            for query_pieces, end in zip(pieces, ends, strict=True)
        ]
        return np.stack([*queries, rows[-1]])

    def close(self) -> None:
        self._batches.close()

    def _embed_texts(self, texts: Sequence[str], *, query: bool, probes: int = 0) -> Vectors:
        prefix = self._identity.query_prefix if query else self._identity.passage_prefix
        sizes = [self._count_tokens(text, prefix) for text in texts]
        vectors, rejected = self._batches.embed(texts, sizes, query=query, probes=probes)
        if rejected:
            raise RejectedTexts({texts[at]: reason for at, reason in rejected.items()})
        return vectors

    def _count_tokens(self, text: str, prefix: str) -> int:
        require_text(text)
        if not fits(self._tokenizer, prefix + text, self._identity.max_tokens):
            raise report_too_long(self._identity.max_tokens)
        return self._tokenizer.count(prefix + text) + self._tokenizer.special


class RejectedPictures(RejectedText):
    """Error for images that a server rejects although it embeds others."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons


class RemoteImageEmbedder(TokenizedEmbedder):
    """Remote image model. Thread-safe.

    kg encodes images from pixels, so the provider receives no metadata: no place, time or thumbnail.
    """

    rendering = RENDERING

    def __init__(
        self, pictures: Batches[bytes], words: Batches[str], identity: SpaceIdentity, batch_size: int
    ) -> None:
        super().__init__(identity, Bytes())
        self._pictures = pictures
        self._words = words
        self.batch_size = batch_size

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        vectors, rejected = self._pictures.embed([encode_jpeg(image) for image in images], [1] * len(images))
        if rejected:
            raise RejectedPictures(rejected)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query within the time limit for queries."""
        pieces = self._split_pieces(text)
        vectors, rejected = self._words.embed(pieces, [1] * len(pieces), query=True)
        if rejected:
            raise InvalidInput(next(iter(rejected.values())))
        return average_pieces(vectors)

    def close(self) -> None:
        self._pictures.close()
        self._words.close()


def encode_jpeg(pixels: Pixels) -> bytes:
    """Encode an image as JPEG without metadata or chroma subsampling."""
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG", quality=95, subsampling=0)
    return content.getvalue()


def build_valid_image() -> bytes:
    """Build an image that every working server embeds."""
    return encode_jpeg(draw_probe_image(RENDERING))


# Checks of vectors in a reply

INDEXES_WRONG: Final = (
    "the embedding server returned wrong indexes: every `index` must be the "
    "position of a text, or all must be missing;"
)
MAX_SHOWN = 5


def normalize_rows(
    found: Sequence[Any], texts: int, dimensions: int, hint: str, *, what: str = "texts"
) -> Vectors:
    """Check the vectors of a reply and scale them to length 1."""
    if len(found) != texts:
        raise EmbeddingFailed(f"{texts} {what} were sent, but the server returned {len(found)} vectors")
    rows = np.empty((texts, dimensions), dtype=np.float32)
    for i, embedding in enumerate(found):
        vector = _parse_numbers(embedding)
        if vector.ndim > 1:
            raise EmbeddingFailed(
                f"the reply has {len(vector)} vectors for one of the {what}, perhaps one for each "
                "token. Set the pooling of the server so that it returns one vector"
            )
        if vector.shape != (dimensions,):
            raise EmbeddingFailed(
                f"the vectors have {vector.size} dimensions, not {dimensions}. To fix this, {hint}"
            )
        rows[i] = normalize_vector(vector, dimensions)
    return rows


def sort_vectors(indexes: Sequence[object]) -> list[int]:
    """Return the position of each text's vector from the indexes in a reply.

    If one index is missing, it is the only unused position, because servers in Go omit zeros. If several are
    missing, the vectors must be in the order of the texts, and the other indexes must confirm this order.
    """
    shown = str(list(indexes[:MAX_SHOWN]))
    indexes = [_parse_index(index) for index in indexes]
    known = [index for index in indexes if index is not None]
    missing = len(indexes) - len(known)
    if missing == 1:
        absent = set(range(len(indexes))).difference(index for index in known if type(index) is int)
        indexes = [min(absent) if index is None else index for index in indexes]
    elif missing:
        indexes = [at if index is None else index for at, index in enumerate(indexes)]
    positions = {index: at for at, index in enumerate(indexes) if type(index) is int}
    if sorted(positions) != list(range(len(indexes))):
        raise EmbeddingFailed(f"{INDEXES_WRONG} {len(indexes)} texts got {shown}")
    if missing > 1 and any(positions[i] != i for i in positions):
        raise EmbeddingFailed(f"{INDEXES_WRONG} several are missing in {shown}")
    return [positions[i] for i in range(len(indexes))]


def _parse_index(value: object) -> object:
    """Convert an index that a server sends as text or float."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def decode_vector(embedding: object) -> object:
    """Decode base64 of little-endian float32. Other values are returned unchanged."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        raise EmbeddingFailed("a vector in the reply is not base64 of float32 numbers") from None


def get_vector_size(embedding: object) -> int | None:
    """Count the dimensions of a vector in a reply, or return None."""
    try:
        return _parse_numbers(decode_vector(embedding)).size
    except EmbeddingFailed:
        return None


def _parse_numbers(value: object) -> NDArray[np.float64]:
    """Convert a vector to an array. Some servers nest it in a list."""
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise EmbeddingFailed("a vector in the reply is not a list of numbers") from None
    return array[0] if array.ndim > 1 and len(array) == 1 else array
