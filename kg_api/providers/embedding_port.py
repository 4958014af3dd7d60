"""Interfaces and model facts to use with all embedding providers."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.providers.tokens import Span, Tokenizer, count_tokens, cut, query_pieces
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.settings import EmbeddingSettings, Settings
from kg_api.wording import are, pluralize

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Part of a longer text. Offsets are code points, and the end is not included."""

    text: str  # the part with its context
    start: int
    end: int
    before: str = ""  # prefix of the part if it is embedded alone

    @property
    def separate_text(self) -> str:
        return self.before + self.text[self.start : self.end]


class RejectedTexts(InvalidInput):
    """Error for texts that are rejected separately. Other texts in the batch can be used."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """Set the reasons by text. The first reason is used as the message, without a text."""
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons

    @classmethod
    def slug(cls) -> str:
        """Return the slug of the error, the same for one text and for several."""
        return InvalidInput.slug()


class Embedder(Protocol):
    """Interface to use a model with its settings. Vectors are float32 rows of length 1, in the given order.

    Blank texts, and texts above `identity.max_tokens`, raise InvalidInput. Callers cut long texts with
    `spans`. RejectedTexts names the texts that only the provider rejects. EmbeddingUnavailable is temporary.
    """

    @property
    def identity(self) -> SpaceIdentity:
        """Key of the space. Only vectors with the same identity can be compared."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a query. If it is long, use the mean from up to 8 evenly spaced spans.

        The time limit is KG_EMBEDDING__QUERY_SECONDS.
        """
        ...

    def spans(self, text: str, before: str = "") -> list[Span]:
        """Cut text into spans that join to the whole text and can be embedded after `before`."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Count the tokens that you pay for to embed these passages."""
        ...

    def close(self) -> None:
        """Close connections and threads. You cannot use the embedder after this."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """Interface to use a model with token vectors. It can embed a part of a text in its context."""

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        """Embed parts from texts that have up to `max_tokens` tokens. Each text is only read once.

        A part is read alone and in its text. Its vector depends only on both.
        """
        ...


def is_token_embedder(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Check if an embedder returns token vectors. This does not send a request."""
    return callable(getattr(embedder, "embed_parts", None))


class TokenizedEmbedder:
    """Base class for embedders that use the model's tokenizer to cut and count."""

    def __init__(self, identity: SpaceIdentity, tokenizer: Tokenizer) -> None:
        self._identity = identity
        self._tokenizer = tokenizer

    @property
    def identity(self) -> SpaceIdentity:
        return self._identity

    def spans(self, text: str, before: str = "") -> list[Span]:
        return self._cut(text, self._identity.passage_prefix + before)

    def count_tokens(self, texts: Sequence[str]) -> int:
        return count_tokens(self._tokenizer, self._identity.max_tokens, self._identity.passage_prefix, texts)

    def _cut(self, text: str, before: str) -> list[Span]:
        return cut(self._tokenizer, self._identity.max_tokens, before, text)

    def _split_pieces(self, text: str) -> list[str]:
        require_text(text)
        return query_pieces(text, self._cut(text, self._identity.query_prefix))


# Checks of texts and vectors


def require_text(text: str) -> None:
    """Raise an error if a text cannot be embedded by any model."""
    if not text or text.isspace():
        raise InvalidInput("a blank text cannot be embedded. Add words or omit the text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text is not valid Unicode at character {error.start}") from None


def report_too_long(max_tokens: int) -> InvalidInput:
    """Build the error for a text that would be truncated."""
    return InvalidInput(
        f"the text is longer than the {max_tokens} tokens of the model. Split the text with `spans` first"
    )


def average_pieces(rows: Vectors) -> Vectors:
    """Compute the mean vector for the pieces in a query, shape (dimensions,)."""
    return rows[0] if len(rows) == 1 else normalize_vector(rows.mean(axis=0, dtype=np.float64), rows.shape[1])


def normalize_vector(vector: NDArray[np.floating[Any]], dimensions: int) -> Vectors:
    """Scale to length 1 in float64, so that rounding is equal on all machines."""
    if vector.shape != (dimensions,):
        raise EmbeddingFailed(
            f"the model returned a vector of shape {vector.shape}, expected ({dimensions},)"
        )
    exact = vector.astype(np.float64)
    length = float(np.linalg.norm(exact))
    if not math.isfinite(length) or length == 0:
        raise EmbeddingFailed("the model returned a vector that is zero or not finite")
    return (exact / length).astype(np.float32)


# Tokens of a call, reported by the embedder to its caller


@dataclass
class TokenTally:
    tokens: int = 0


_current: ContextVar[TokenTally | None] = ContextVar("tally", default=None)


@contextmanager
def counting() -> Generator[TokenTally]:
    """Count the tokens that are used by embedders in the calling thread."""
    tally = TokenTally()
    token = _current.set(tally)
    try:
        yield tally
    finally:
        _current.reset(token)


def spend(tokens: int) -> None:
    """Add tokens to the count of the calling thread, which must be the one that calls the embedder."""
    tally = _current.get()
    if tally is not None:
        tally.tokens += tokens


# Probe: a text with a known vector, embedded with other texts to identify the model


def embed_probed(embedder: Embedder, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
    """Embed texts as queries or passages, and the probe in the last request.

    If the embedder cannot combine them, the probe has its own request. Its tokens are not counted.
    """
    together = getattr(embedder, "embed_probed", None)
    if callable(together):
        return cast("Vectors", together(texts, probe, query=query))
    rows = [embedder.embed_query(text) for text in texts] if query else list(embedder.embed_passages(texts))
    with counting():  # excluded from the caller's count
        rows.append(embedder.embed_query(probe) if query else embedder.embed_passages([probe])[0])
    return np.stack(rows)


Languages = tuple[str, ...]
"""English names for the languages that can be used with a model. Empty: many, or unknown."""


# Models in Maven packages. A new model needs an entry here and a lock file in models/.
#
# The measurements behind the default are in adr/. benchmarks/local_models.py repeats them.


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Properties for a model's weights."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1)]
    revision: str  # sha256 of the weights
    dimensions: Annotated[int, Field(ge=1)]
    max_tokens: Annotated[int, Field(ge=32)]
    pooling: Literal["cls", "mean"]  # vector of the first token, or mean of all tokens
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """Model, with the files in a Maven package."""

    spec: ModelSpec
    lock: str  # lock file of jgo in models/: the package and its sha256
    weights: str  # path in the package, with the sha256 in `spec.revision`
    tokenizer: str
    tokenizer_sha256: str
    languages: Languages = ("english",)


BGE_SMALL = PackagedModel(
    spec=ModelSpec(
        name="bge-small-en-v1.5",
        revision="6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        dimensions=384,
        max_tokens=512,
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
    ),
    lock="bge-small-en-v1.5-q.lock.toml",
    weights="bge-small-en-v1.5-q.onnx",
    tokenizer="bge-small-en-v1.5-q-tokenizer.json",
    tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
MINILM = PackagedModel(
    spec=ModelSpec(
        name="all-MiniLM-L6-v2",
        revision="afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
        dimensions=384,
        max_tokens=256,
        pooling="mean",
    ),
    lock="all-minilm-l6-v2-q.lock.toml",
    weights="all-minilm-l6-v2-q.onnx",
    tokenizer="all-minilm-l6-v2-q-tokenizer.json",
    tokenizer_sha256="da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
)
E5_SMALL = PackagedModel(
    spec=ModelSpec(
        name="e5-small-v2",
        revision="7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
        dimensions=384,
        max_tokens=512,
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
    ),
    lock="e5-small-v2-q.lock.toml",
    weights="e5-small-v2-q.onnx",
    tokenizer="e5-small-v2-q-tokenizer.json",
    tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
CATALOGUE = {model.spec.name: model for model in (BGE_SMALL, MINILM, E5_SMALL)}
DEFAULT = BGE_SMALL


# Known models of providers


@dataclass(frozen=True, slots=True)
class KnownModel:
    dimensions: int
    max_tokens: int
    tokenizer: Literal["cl100k", "wordpiece", "bytes"] = "bytes"
    """`bytes`: unknown. One token per byte is an upper limit for all tokenizers."""
    query_prefix: str = ""
    passage_prefix: str = ""
    price: float | None = None  # US dollars per million tokens, None if not published
    shortest: int | None = None  # minimum dimensions of shortened vectors (Matryoshka), None if fixed
    languages: Languages = ()
    sizes: tuple[int, ...] = ()  # other dimensions, if the model has only some
    text_model: str = ""  # other model for texts in the space of an image model


_NOMIC = KnownModel(
    dimensions=768,
    max_tokens=8192,
    tokenizer="wordpiece",
    query_prefix="search_query: ",
    passage_prefix="search_document: ",
    languages=("english",),
)
NOMIC = {"nomic-embed-text-v1.5": replace(_NOMIC, shortest=64), "nomic-embed-text-v1": _NOMIC}
"""Nomic's service adds the prefixes. This is not the case for other servers."""

OPENAI = {
    "text-embedding-3-small": KnownModel(1536, 8191, "cl100k", price=0.02, shortest=1),
    "text-embedding-3-large": KnownModel(3072, 8191, "cl100k", price=0.13, shortest=1),
    "text-embedding-ada-002": KnownModel(1536, 8191, "cl100k", price=0.10),
    "nomic-embed-text-v1.5": _NOMIC,  # other servers cannot shorten vectors
    "nomic-embed-text": replace(_NOMIC, max_tokens=2048),  # limit of Ollama
}
TEXT_MODELS = {"nomic": NOMIC, "openai": OPENAI}
IMAGE_MODELS = {
    "nomic": {
        f"nomic-embed-vision-{version}": KnownModel(
            768, 8192, query_prefix="search_query: ", text_model=f"nomic-embed-text-{version}"
        )
        for version in ("v1.5", "v1")
    },
    "openai": {
        "jina-clip-v2": KnownModel(1024, 8192, sizes=(64, 128, 256, 512, 768)),
        "jina-clip-v1": KnownModel(768, 8192),
        "openai/clip-vit-base-patch32": KnownModel(512, 77),
        "openai/clip-vit-large-patch14": KnownModel(768, 77),
    },
}
DEFAULT_MODELS = {"local": DEFAULT.spec.name, "nomic": "nomic-embed-text-v1.5", "deterministic": "word-hash"}
"""Without openai, whose default is a setting."""
DEFAULT_IMAGE_MODELS = {"nomic": "nomic-embed-vision-v1.5"}
IN_PROCESS = frozenset({"local", "deterministic", "histogram", "onnx"})
"""Providers to run models in the process. If weights are loaded, they do not change."""
GIVE_TOKENS = frozenset({"local", "deterministic"})
"""Providers that return token vectors. APIs return one vector for a text."""


MIN_UNKNOWN = 0.05
"""Share of documents that a language needs to be counted. For short texts, 2 % are detected wrongly."""


def knows_language(model: str, language: str) -> bool:
    """Check if a language can be used with a model. If the model is unknown, this is true."""
    languages = _list_languages(model)
    return not languages or language in languages


def describe_unknown_languages(model: str, documents: Mapping[str, int]) -> list[str]:
    """Add a note if you cannot use the model for languages that are in the documents.

    `documents` contains the number of documents by language, or by `unknown`.
    """
    total = sum(documents.values())
    others = {
        name: count
        for name, count in sorted(documents.items(), key=lambda each: (-each[1], each[0]))
        if name != "unknown" and count >= MIN_UNKNOWN * total and not knows_language(model, name)
    }
    named = " or ".join(map(str.capitalize, others))
    unknown = sum(others.values())
    note = f"{unknown} of {pluralize(total, 'document')} {are(unknown)} {named}"
    return [f"{note}; {advise_on_languages(model)}"] if others else []


def advise_on_languages(model: str) -> str:
    """Describe the languages of a model, and suggest a model for other texts."""
    supported = " and ".join(map(str.capitalize, _list_languages(model)))
    return (
        f"{model} supports {supported}. Full-text search finds such texts, but vector search may miss them. "
        "To switch the model, see docs/operations/models.md"
    )


def _list_languages(model: str) -> Languages:
    known = CATALOGUE.get(model) or NOMIC.get(model) or OPENAI.get(model)
    return known.languages if known else ()


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """Remote model, with the size to request for vectors."""

    name: str
    facts: KnownModel
    dimensions: int  # equal to or below the dimensions of the facts

    @property
    def requested_dimensions(self) -> int | None:
        """Size to request for vectors. None: use the model's default."""
        return self.dimensions if self.dimensions != self.facts.dimensions else None


def build_remote_model(choice: ModelChoice, settings: Settings) -> RemoteModel:
    """Build the facts for a text or image model from a provider."""
    own, known, dimensions = settings.embedding, TEXT_MODELS.get(choice.provider, OPENAI), choice.dimensions
    variable, size_variable = "KG_EMBEDDING__MODEL", "OPENAI_EMBED_DIMS"
    name = choice.model or DEFAULT_MODELS.get(choice.provider) or own_model(settings)
    is_own = choice.provider == "openai" and name == own_model(settings)
    if choice.modality == "image":
        own, known = settings.image_embedding, IMAGE_MODELS[choice.provider]
        variable, size_variable = "KG_IMAGE_EMBEDDING__MODEL", "KG_IMAGE_EMBEDDING__DIMENSIONS"
        name = choice.model or DEFAULT_IMAGE_MODELS.get(choice.provider) or ""
        is_own = own.provider == choice.provider and own.model == name
    elif dimensions is None and is_own:
        dimensions = settings.openai.embed_dims
    if not name:
        raise ConfigurationError(
            f"{variable} is not set for the service. Set it to the server's image model, such as "
            f"{', '.join(known)}"
        )
    facts = known.get(name)
    if facts is None and choice.provider == "nomic":
        raise _report_unknown(variable, name, known)
    if facts is None and dimensions is None:
        raise ConfigurationError(
            f"kg does not know the model {name}: set {size_variable} (or the space's dimensions) to the size "
            f"of its vectors, or choose one of {', '.join(known)}"
        )
    if facts is None:  # the settings describe only their own model
        max_tokens = own.max_tokens if is_own or choice.modality == "image" else 512
        facts = KnownModel(dimensions or 0, max_tokens, query_prefix=own.query_prefix if is_own else "")
        if is_own and isinstance(own, EmbeddingSettings):
            facts = replace(facts, passage_prefix=own.passage_prefix, price=own.price)
    return RemoteModel(name, facts, _choose_size(name, facts, dimensions, size_variable))


def own_model(settings: Settings) -> str:
    """Get the model to use for the openai provider."""
    named = settings.embedding.model if settings.embedding.provider == "openai" else None
    return named or settings.openai.embed_model


def get_price(choice: ModelChoice, settings: Settings) -> float | None:
    """Get US dollars for a million tokens. On this machine, this is 0. None if unknown."""
    if choice.provider in IN_PROCESS:
        return 0.0
    if choice.provider == settings.embedding.provider and settings.embedding.price is not None:
        return settings.embedding.price
    table = TEXT_MODELS.get(choice.provider, OPENAI)
    facts = table.get(choice.model or DEFAULT_MODELS.get(choice.provider) or own_model(settings))
    return facts.price if facts else None


def describe_part_rejection(identity: SpaceIdentity) -> str | None:
    """Get the reason if a model cannot be used to embed a text in its context."""
    if identity.provider in GIVE_TOKENS:
        return None
    return (
        f"chunk context `late` needs a vector for each token, but {identity.model} "
        f"({identity.provider}) returns one for a whole text. Choose a space of a local model "
        f"({', '.join(CATALOGUE)}; `kg admin spaces create NAME --provider local` adds one), or "
        "another chunk context"
    )


def require_tokens(embedder: Embedder) -> TokenEmbedder:
    """Check if an embedder has token vectors. If not, raise an error."""
    if is_token_embedder(embedder):
        return embedder
    reason = describe_part_rejection(embedder.identity)
    raise ConfigurationError(reason or f"{embedder.identity.model} returns no token vectors here")


def require_packaged_model(name: str) -> str:
    if name not in CATALOGUE:
        raise _report_unknown("KG_EMBEDDING__MODEL", name, CATALOGUE)
    return name


def _choose_size(name: str, facts: KnownModel, wanted: int | None, variable: str) -> int:
    most, least = facts.dimensions, facts.shortest
    if wanted is None or wanted in {most, *facts.sizes} or (least is not None and least <= wanted <= most):
        return wanted or most
    sizes = f"{least} to {most}" if least else ", ".join(map(str, sorted({most, *facts.sizes})))
    raise ConfigurationError(
        f"{name} returns vectors of {sizes} dimensions, not {wanted}. Correct {variable} or the space's "
        "dimensions, or omit them."
    )


def _report_unknown(variable: str, name: str, known: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(f"{variable}: unknown model {name}. Choose one of {', '.join(known)}")


# Interface of image models

Pixels = NDArray[np.uint8]
"""Image to show: shape (height, width, 3), RGB, upright, transparency on white."""

Fit = Literal["within", "cover", "stretch"]
"""Method of resizing.

`within` scales down until both sides fit. `cover` scales to cover the size and crops the middle. `stretch`
scales both sides to the size.
"""
Resample = Literal["nearest", "bilinear", "bicubic", "lanczos"]


@dataclass(frozen=True, slots=True)
class Rendering:
    """Size and method to use when an image is decoded for a model."""

    width: int
    height: int
    fit: Fit
    resample: Resample = "bicubic"


class ImageEmbedder(Protocol):
    """Interface to use an image model with its settings. `identity.modality` is "image".

    Vectors and errors are as in `Embedder`. An image that a provider rejects raises RejectedText.
    """

    @property
    def identity(self) -> SpaceIdentity:
        """Key of the space. `max_tokens` is the limit of the text tower, or 0 without one."""
        ...

    @property
    def rendering(self) -> Rendering: ...

    @property
    def batch_size(self) -> int:
        """Images to use in a call. Larger calls are divided."""
        ...

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        """Embed images that have the size from `rendering`."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query to find images. A model that reads no text raises ConfigurationError."""
        ...

    def close(self) -> None: ...


# Probe image: its vector shows whether a model is unchanged

_SKY, _GROUND, _HORIZON = (70, 130, 220), (60, 140, 50), 0.6
_SUN, _SUN_AT, _SUN_RADIUS = (250, 210, 40), (0.8, 0.2), 0.1
_HOUSE, _HOUSE_AT, _HOUSE_HALF = (230, 220, 200), (0.4, 0.6), 0.16
_ROOF, _ROOF_TOP, _ROOF_HEIGHT = (180, 50, 40), 0.24, 0.2


def draw_probe_image(rendering: Rendering) -> Pixels:
    """Draw a house in a field under the sun, in the size of a rendering. The bytes are always the same.

    A drawing needs no file and no decoder.
    """
    down, across = np.mgrid[0 : rendering.height, 0 : rendering.width]
    y, x = (2 * down + 1) / (2 * rendering.height), (2 * across + 1) / (2 * rendering.width)
    drawn = np.where((y < _HORIZON)[..., None], _SKY, _GROUND) * (0.6 + 0.4 * y)[..., None]
    drawn[np.hypot(x - _SUN_AT[0], y - _SUN_AT[1]) < _SUN_RADIUS] = _SUN
    drawn[np.maximum(abs(x - _HOUSE_AT[0]), abs(y - _HOUSE_AT[1])) < _HOUSE_HALF] = _HOUSE
    below = y - _ROOF_TOP
    drawn[(abs(x - _HOUSE_AT[0]) < below) & (below < _ROOF_HEIGHT)] = _ROOF
    return drawn.astype(np.uint8)
