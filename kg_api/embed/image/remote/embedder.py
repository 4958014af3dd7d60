"""A picture model that runs elsewhere: batches, retries and checks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image.pixels import require_rendered
from kg_api.embed.image.port import Pixels, Rendering
from kg_api.embed.image.probe import probe_picture
from kg_api.embed.image.remote.encoding import as_jpeg
from kg_api.embed.image.remote.known import RemoteImageModel
from kg_api.embed.port import Vectors
from kg_api.embed.remote.embedder import EMBEDDING, max_reply_bytes
from kg_api.embed.text.spans import cut
from kg_api.embed.text.tokens import Bytes, measure, query_pieces
from kg_api.embed.vectors import mean_of_pieces, require_text
from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable, KgError
from kg_api.models.embedding.spaces import SpaceIdentity
from kg_api.provider.http import reply_of_at_most
from kg_api.provider.pace import Pace
from kg_api.provider.retrying import RetryableError, RetryPolicy
from kg_api.provider.service import RejectedText, Service
from kg_api.settings import Settings

PICTURES = Service(
    kind="image",
    name="an embedding service of pictures",
    subject="the picture embedding provider",
    rejection="it does not take the pictures{model}",
    unavailable=EmbeddingUnavailable,
    unusable=EmbeddingFailed,
    rejected=RejectedText,
)
WORDS = EMBEDDING
RENDERING = Rendering(512, 512, "within", "lanczos")
"""What goes out: the models' own size or more, and no more of a picture than they see."""
HINT = "set KG_IMAGE_EMBEDDING__DIMENSIONS, or the space's dimensions, to what the model gives"


class ImageEndpoint(Protocol):
    """One provider's protocol: one call is one HTTP request."""

    def ask_pictures(self, pictures: Sequence[bytes], seconds: float) -> Vectors:
        """Embed JPEG files; rows of length 1, in their order.

        Raises:
            RetryableError: it may work later.
            RejectedText: the provider refuses them.
            ConfigurationError: the key, the model or the address is wrong.
            EmbeddingFailed: it answered, but not with usable vectors.
        """
        ...

    def ask_words(self, texts: Sequence[str], seconds: float) -> Vectors:
        """Embed words that look for pictures; raises as `ask_pictures`, but InvalidInput for RejectedText."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What one request may hold and how long it may take."""

    pictures: int
    seconds: float
    query_seconds: float
    """For all of a question, tries and waits included."""


class RemoteImageEmbedder:
    """A model behind HTTP. Thread-safe."""

    rendering = RENDERING
    reads_text = True

    def __init__(
        self,
        endpoint: ImageEndpoint,
        identity: SpaceIdentity,
        limits: ImageLimits,
        policy: RetryPolicy,
        *,
        pace: Pace,
    ) -> None:
        """`pace`: of requests for pictures; a question is asked at once, and has its own time."""
        self._endpoint = endpoint
        self._identity = identity
        self._limits = limits
        self._policy = policy
        self._pace = pace

    @property
    def identity(self) -> SpaceIdentity:
        """The provider's name for the model, and its size."""
        return self._identity

    @property
    def batch_size(self) -> int:
        return self._limits.pictures

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        require_rendered(images, RENDERING)
        vectors = np.empty((len(images), self._identity.dimensions), dtype=np.float32)
        for begin in range(0, len(images), self._limits.pictures):
            batch = slice(begin, begin + self._limits.pictures)
            vectors[batch] = self._ask_pictures([as_jpeg(image) for image in images[batch]])
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `ImageEmbedder`. It takes no longer than the limit for questions, whatever happens."""
        require_text(text)
        identity, until = self._identity, self._policy.clock() + self._limits.query_seconds
        spans = cut(text, measure(Bytes(), identity.max_tokens, identity.query_prefix))
        pieces = query_pieces(text, spans)

        def once(seconds: float) -> Vectors:
            return self._endpoint.ask_words(pieces, seconds)

        return mean_of_pieces(self._call(once, len(pieces), WORDS, until))

    def close(self) -> None:
        self._endpoint.close()

    def _ask_pictures(self, pictures: Sequence[bytes]) -> Vectors:
        """Embed pictures; a server that fails on them and embeds another one rejects them.

        Raises:
            RejectedText: it does.
            As `ImageEndpoint.ask_pictures`.
        """
        is_limit = False

        def once(seconds: float) -> Vectors:
            nonlocal is_limit
            try:
                return self._endpoint.ask_pictures(pictures, seconds)
            except RetryableError as error:
                is_limit = error.is_limit
                raise

        try:
            return self._call(once, len(pictures), PICTURES, None)
        except EmbeddingUnavailable as failure:
            if is_limit or not self._is_sound():
                raise
            reason = str(failure)
        raise RejectedText(reason)

    def _is_sound(self) -> bool:
        """Whether the server embeds a drawn picture; it is asked once, and briefly."""
        seconds = min(self._limits.seconds, self._limits.query_seconds)
        try:
            self._endpoint.ask_pictures([as_jpeg(probe_picture(RENDERING))], seconds)
        except (RetryableError, KgError):
            return False
        return True

    def _call(
        self, ask: Callable[[float], Vectors], rows: int, service: Service, until: float | None
    ) -> Vectors:
        def once(left: float | None) -> Vectors:
            seconds = self._limits.seconds if left is None else min(left, self._limits.seconds)
            with (
                reply_of_at_most(max_reply_bytes(rows, self._identity.dimensions)),
                self._pace.turn() if until is None else nullcontext(),
            ):
                return ask(seconds)

        return self._policy.call(once, service.give_up, until, kind=service.kind)


def remote_image_embedder(
    provider: str,
    endpoint: ImageEndpoint,
    model: RemoteImageModel,
    settings: Settings,
    *,
    seconds: float,
    policy: RetryPolicy,
    pictures: int | None = None,
) -> RemoteImageEmbedder:
    """The embedder of a provider's model; `pictures` of one request, unset: as many as the model takes."""
    identity = SpaceIdentity(
        provider=provider,
        model=model.name,
        revision=model.name,
        dimensions=model.dimensions,
        max_tokens=model.facts.max_tokens,
        query_prefix=model.facts.query_prefix,
        modality="image",
    )
    limits = ImageLimits(pictures or model.facts.batch, seconds, settings.embedding.query_seconds)
    pace = Pace(settings.embedding.requests_at_once, policy.first_wait)
    return RemoteImageEmbedder(endpoint, identity, limits, policy, pace=pace)
