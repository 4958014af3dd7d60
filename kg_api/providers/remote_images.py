"""Pictures as they leave this machine: made anew from pixels, so that nothing of the stored file goes out.

What a camera or a program wrote beside the pixels (place, time, name, thumbnail) is not in pixels.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from kg_api.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, KgError, ProviderMissing
from kg_api.providers.embedding_port import (
    Pixels,
    Rendering,
    Vectors,
    mean_of_pieces,
    probe_picture,
    require_text,
)
from kg_api.providers.http import JsonClient, Pace, reply_of_at_most
from kg_api.providers.pixels import require_rendered
from kg_api.providers.remote_embedding import EMBEDDING, in_order, max_reply_bytes, plain_vector, unit_rows
from kg_api.providers.retrying import (
    Provider,
    RejectedText,
    RetryableError,
    RetryPolicy,
    Service,
    Variables,
    fields_of,
)
from kg_api.providers.tokens import Bytes, cut, measure, query_pieces
from kg_api.schemas.spaces import ImageModelChoice, SpaceIdentity
from kg_api.schemas.vocabulary import ImageDialect
from kg_api.sections import NomicSettings, OpenAISettings
from kg_api.settings import Settings

_QUALITY = 95
_FULL_COLOUR = 0
"""No pixel shares its colour with another."""


def as_jpeg(pixels: Pixels) -> bytes:
    """As a JPEG file without metadata."""
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG", quality=_QUALITY, subsampling=_FULL_COLOUR)
    return content.getvalue()


def data_url(jpeg: bytes) -> str:
    """As an address that holds the file itself."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


# The picture models of providers that kg knows, and what it takes another one for.

BATCH = 16
"""Pictures a request: some two megabytes."""


@dataclass(frozen=True, slots=True)
class KnownImageModel:
    """What a model takes and gives."""

    dimensions: int
    max_tokens: int
    sizes: tuple[int, ...] = ()
    """Other sizes that its vectors can be shortened to (Matryoshka)."""
    batch: int = BATCH
    query_prefix: str = ""
    text_model: str = ""
    """The model of the same space that reads words, where it is another one."""


NOMIC = {
    f"nomic-embed-vision-{version}": KnownImageModel(
        768, 8192, query_prefix="search_query: ", text_model=f"nomic-embed-text-{version}"
    )
    for version in ("v1.5", "v1")
}
"""The service puts the prefix there itself."""
COHERE = {
    "embed-v4.0": KnownImageModel(1536, 128_000, (256, 512, 1024)),
    "embed-multilingual-v3.0": KnownImageModel(1024, 512, batch=1),
    "embed-english-v3.0": KnownImageModel(1024, 512, batch=1),
}
OPENAI = {
    "jina-clip-v2": KnownImageModel(1024, 8192, (64, 128, 256, 512, 768)),
    "jina-clip-v1": KnownImageModel(768, 8192),
    "openai/clip-vit-base-patch32": KnownImageModel(512, 77),
    "openai/clip-vit-large-patch14": KnownImageModel(768, 77),
}
DEFAULT_MODELS = {"nomic": "nomic-embed-vision-v1.5", "cohere": "embed-v4.0"}


@dataclass(frozen=True, slots=True)
class RemoteImageModel:
    """A model to be asked for over HTTP, with the size of vectors that is wanted."""

    name: str
    facts: KnownImageModel
    dimensions: int

    @property
    def asks_for(self) -> int | None:
        """The size to ask the provider for; None when it is the model's own."""
        return self.dimensions if self.dimensions != self.facts.dimensions else None


def remote_image_model(
    choice: ImageModelChoice, settings: Settings, known: Mapping[str, KnownImageModel]
) -> RemoteImageModel:
    """Say all that has to be known of a provider's model.

    Raises:
        ConfigurationError: no model is named, kg does not know it and its size is not set, or it cannot give
            vectors of that size.
    """
    name = choice.model or DEFAULT_MODELS.get(choice.provider)
    if name is None:
        raise ConfigurationError(
            "KG_IMAGE_EMBEDDING__MODEL is not set where kg runs: set it to the server's model that takes "
            f"pictures, such as {', '.join(known)}"
        )
    facts = known.get(name) or _describe(name, choice, settings)
    wanted = choice.dimensions or facts.dimensions
    if wanted not in {facts.dimensions, *facts.sizes}:
        sizes = ", ".join(map(str, sorted({facts.dimensions, *facts.sizes})))
        raise ConfigurationError(
            f"{name} gives vectors of {sizes} numbers, not {wanted}: correct KG_IMAGE_EMBEDDING__DIMENSIONS "
            "or the space's dimensions, or leave them out"
        )
    return RemoteImageModel(name, facts, wanted)


def _describe(name: str, choice: ImageModelChoice, settings: Settings) -> KnownImageModel:
    own = settings.image_embedding
    if choice.provider == "nomic":
        raise ConfigurationError(
            f"KG_IMAGE_EMBEDDING__MODEL: kg does not know the model {name}; choose one of {', '.join(NOMIC)}"
        )
    if choice.dimensions is None:
        raise ConfigurationError(
            f"kg does not know the picture model {name}: set KG_IMAGE_EMBEDDING__DIMENSIONS (or the space's "
            "dimensions) to the size of its vectors"
        )
    is_own = own.provider == choice.provider and own.model == name  # what is set describes no other
    prefix = own.query_prefix if is_own else ""
    return KnownImageModel(choice.dimensions, own.max_tokens, query_prefix=prefix)


# A picture model that runs elsewhere: batches, retries and checks for all of them.

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


# Nomic's vision models by their documented endpoint, and words by that of the text model of the same space.
#
# Not by its client, for the reasons that text has; a contract test holds the two to the same protocol.

NOMIC_VARIABLES = Variables("KG_IMAGE_EMBEDDING__MODEL", "NOMIC_BASE_URL", "NOMIC_API_KEY")


def open_nomic_images(
    settings: Settings, choice: ImageModelChoice, policy: RetryPolicy | None = None
) -> RemoteImageEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or kg does not know the model.
    """
    own = settings.nomic
    model = remote_image_model(choice, settings, NOMIC)
    if own.api_key is None:
        raise ProviderMissing("NOMIC_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`")
    policy = policy or RetryPolicy(tries=own.max_retries + 1)
    endpoint = NomicImageEndpoint(own, model)
    return remote_image_embedder("nomic", endpoint, model, settings, seconds=own.timeout, policy=policy)


class NomicImageEndpoint:
    """POST /v1/embedding/image as a form with files, and /v1/embedding/text."""

    def __init__(self, settings: NomicSettings, model: RemoteImageModel) -> None:
        self._model = model
        address, key = settings.base_url, settings.api_key
        self._pictures = Provider(PICTURES, NOMIC_VARIABLES, model.name, address, key)
        self._words = Provider(WORDS, NOMIC_VARIABLES, model.facts.text_model, address, key)
        self._image_client = JsonClient(self._pictures, "/v1/embedding/image")
        self._text_client = JsonClient(self._words, "/v1/embedding/text")

    def ask_pictures(self, pictures: Sequence[bytes], seconds: float) -> Vectors:
        files = [("images", ("images", picture, "image/jpeg")) for picture in pictures]
        response = self._image_client.post_form({"model": self._model.name}, files, seconds)
        return self._read(self._image_client.read(response, ()), len(pictures), self._pictures, "pictures")

    def ask_words(self, texts: Sequence[str], seconds: float) -> Vectors:
        """See `ImageEndpoint`. The service puts the prefix there itself, by the task type."""
        body: dict[str, object] = {
            "texts": list(texts),
            "model": self._model.facts.text_model,
            "task_type": "search_query",
            "dimensionality": None,
            "long_text_mode": "mean",
        }
        reply = self._text_client.read(self._text_client.post(body, seconds), texts)
        return self._read(reply, len(texts), self._words, "texts")

    def close(self) -> None:
        self._image_client.close()
        self._text_client.close()

    def _read(self, reply: object, sent: int, provider: Provider, what: str) -> Vectors:
        found = fields_of(reply).get("embeddings")
        if not isinstance(found, list):
            raise provider.no_service()
        return unit_rows(cast("list[Any]", found), sent, self._model.dimensions, HINT, what=what)


# Servers whose /embeddings takes pictures, each in its own way: OpenAI's interface has none for them.

OPENAI_VARIABLES = Variables("KG_IMAGE_EMBEDDING__MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")
_OPENAI_QUOTED = 4000
"""Characters of a picture that an error may repeat: they are struck out of it."""


def open_openai_images(
    settings: Settings, choice: ImageModelChoice, policy: RetryPolicy | None = None
) -> RemoteImageEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: the address is OpenAI's own, whose models take no pictures, or no model is named,
            or its size is not known.
    """
    own, dialect = settings.openai, settings.image_embedding.dialect
    model = remote_image_model(choice, settings, OPENAI)
    if own.needs_key:
        raise ConfigurationError(
            "OpenAI's own embeddings take no pictures: set OPENAI_BASE_URL to a server whose do (Jina, "
            "SGLang, Infinity, vLLM), or KG_IMAGE_EMBEDDING__PROVIDER to another provider"
        )
    policy = policy or RetryPolicy(tries=own.max_retries + 1)
    pictures = 1 if dialect == "vllm" else min(own.batch_size, model.facts.batch)
    endpoint, seconds = OpenAIImageEndpoint(own, model, dialect), own.timeout
    return remote_image_embedder(
        "openai", endpoint, model, settings, seconds=seconds, policy=policy, pictures=pictures
    )


class OpenAIImageEndpoint:
    """POST /embeddings."""

    def __init__(self, settings: OpenAISettings, model: RemoteImageModel, dialect: ImageDialect) -> None:
        self._model = model
        self._dialect: ImageDialect = dialect
        address, key = settings.base_url, settings.api_key
        self._pictures = Provider(PICTURES, OPENAI_VARIABLES, model.name, address, key)
        self._words = Provider(WORDS, OPENAI_VARIABLES, model.name, address, key)
        self._picture_client = JsonClient(self._pictures, "/embeddings")
        self._word_client = JsonClient(self._words, "/embeddings")

    def ask_pictures(self, pictures: Sequence[bytes], seconds: float) -> Vectors:
        urls = [data_url(picture) for picture in pictures]
        response = self._picture_client.post(self._body(pictures_body(urls, self._dialect)), seconds)
        reply = self._picture_client.read(response, [url[:_OPENAI_QUOTED] for url in urls])
        return self._read(reply, len(urls), self._pictures, "pictures")

    def ask_words(self, texts: Sequence[str], seconds: float) -> Vectors:
        prefixed = [self._model.facts.query_prefix + text for text in texts]
        response = self._word_client.post(self._body(words_body(prefixed, self._dialect)), seconds)
        return self._read(self._word_client.read(response, texts), len(texts), self._words, "texts")

    def close(self) -> None:
        self._picture_client.close()
        self._word_client.close()

    def _body(self, given: dict[str, object]) -> dict[str, object]:
        asked = self._model.asks_for
        return {"model": self._model.name, **given, **({"dimensions": asked} if asked else {})}

    def _read(self, reply: object, sent: int, provider: Provider, what: str) -> Vectors:
        data = fields_of(reply).get("data")
        if not isinstance(data, list):
            raise provider.no_service()
        items = [fields_of(item) for item in cast("list[Any]", data)]
        places = in_order([item.get("index") for item in items])
        found = [plain_vector(items[at].get("embedding")) for at in places]
        return unit_rows(found, sent, self._model.dimensions, HINT, what=what)


def pictures_body(urls: Sequence[str], dialect: ImageDialect) -> dict[str, object]:
    """Pictures as a server takes them; `vllm` takes one."""
    match dialect:
        case "jina":
            return {"input": [{"image": url} for url in urls]}
        case "infinity":
            return {"input": list(urls), "modality": "image"}
        case "vllm":
            content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            return {"messages": [{"role": "user", "content": content}]}


def words_body(texts: Sequence[str], dialect: ImageDialect) -> dict[str, object]:
    """Words as a server takes them."""
    match dialect:
        case "jina":
            return {"input": [{"text": text} for text in texts]}
        case "infinity":
            return {"input": list(texts), "modality": "text"}
        case "vllm":
            return {"input": list(texts)}
