"""What every embedding provider gives."""

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
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.settings import Settings

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a longer text, to be embedded as it is meant there. Offsets are code points, end excluded."""

    text: str
    """All that the model reads of what is around the part, and the part itself."""
    start: int
    end: int
    before: str = ""
    """What is read in front of the part when it is read by itself."""

    @property
    def alone(self) -> str:
        """The part as it is read by itself."""
        return self.before + self.text[self.start : self.end]


class RejectedTexts(InvalidInput):
    """Some of the texts are rejected, each by itself; the others were accepted."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """`reasons`: by text. The message is the first, without a text."""
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons

    @classmethod
    def slug(cls) -> str:
        """The name that clients know, which does not tell one text from several."""
        return InvalidInput.slug()


class Embedder(Protocol):
    """One model with its settings. A batch is the primitive; passages and queries are different calls.

    Texts over `identity.max_tokens` are refused, never cut: callers cut them with `spans` first.
    """

    @property
    def identity(self) -> SpaceIdentity:
        """What makes vectors of this model comparable with each other, and with no others."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed texts of at most `max_tokens` tokens.

        Returns:
            float32, shape (len(texts), dimensions), rows of length 1, in the order given.

        Raises:
            InvalidInput: a text is blank or too long, or the provider refuses it.
            RejectedTexts: the provider fails on these; the others are fine.
            ConfigurationError: a provider does not take the key, the model or its dimensions.
            EmbeddingUnavailable: a provider does not answer, after all tries.
            EmbeddingFailed: the model gave NaN, zero or wrongly sized vectors.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a question, with the model's query prefix; one over `max_tokens` is averaged over its spans.

        Of a question of more than 8 spans, 8 that are spread evenly stand for it.

        Returns:
            float32, shape (dimensions,), of length 1.

        Raises:
            InvalidInput: the text is blank, or the provider refuses it.
            ConfigurationError: a provider does not take the key, the model or its dimensions.
            EmbeddingUnavailable: the model does not answer, within KG_EMBEDDING__QUERY_SECONDS.
            EmbeddingFailed: the model gave a NaN, zero or wrongly sized vector.
        """
        ...

    def spans(self, text: str, before: str = "") -> list[tuple[int, int]]:
        """Cut text into pieces that fit `max_tokens` each with `before` in front of them.

        Returns:
            (start, end) offsets in code points, joining to the whole text.

        Raises:
            InvalidInput: `before` alone leaves no room.
        """
        ...

    def count_tokens(self, texts: Sequence[str]) -> int:
        """How many tokens the model reads when these passages are embedded: what a provider bills."""
        ...

    def close(self) -> None:
        """Close connections and threads; the embedder is not used any more."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """A model that gives a vector for each token, so that a part of a text can be embedded within it."""

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        """Embed parts of texts of at most `max_tokens` tokens; each text is read once for all its parts.

        A part is read twice: by itself, and in its text. Its vector depends on both and on nothing beside it.

        Returns:
            float32, shape (len(parts), dimensions), rows of length 1, in the order given.

        Raises:
            InvalidInput: a part is blank, or it or its text is too long.
            EmbeddingFailed: the model gave NaN or zero vectors.
        """
        ...


def gives_tokens(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Whether an embedder can embed a part of a text within it; nothing is asked of the model."""
    return callable(getattr(embedder, "embed_parts", None))


# What every provider owes its callers: usable texts in, usable vectors out.


def require_text(text: str) -> None:
    """Refuse what no model can embed."""
    if not text or text.isspace():
        raise InvalidInput("a blank text cannot be embedded; give it some words or leave it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text is not valid Unicode at character {error.start}") from None


def too_long(max_tokens: int) -> InvalidInput:
    """The error for a text that the model would cut."""
    return InvalidInput(f"the text is longer than the model's {max_tokens} tokens; cut it with `spans` first")


def mean_of_pieces(rows: Vectors) -> Vectors:
    """The vector of a question of several pieces; shape (dimensions,)."""
    return rows[0] if len(rows) == 1 else unit(rows.mean(axis=0, dtype=np.float64), rows.shape[1])


def unit(vector: NDArray[np.floating[Any]], dimensions: int) -> Vectors:
    """Scale to length 1; computed in float64, so that rounding is the same everywhere.

    Returns:
        float32, shape (dimensions,).
    """
    if vector.shape != (dimensions,):
        raise EmbeddingFailed(f"the model gave a vector of shape {vector.shape}, expected ({dimensions},)")
    exact = vector.astype(np.float64)
    length = float(np.linalg.norm(exact))
    if not math.isfinite(length) or length == 0:
        raise EmbeddingFailed("the model gave a vector that is zero or not finite")
    return (exact / length).astype(np.float32)


# How many tokens a call has cost, told by the embedder that knows to the caller that asks.


@dataclass
class TokenTally:
    tokens: int = 0


_current: ContextVar[TokenTally | None] = ContextVar("tally", default=None)


@contextmanager
def counting() -> Generator[TokenTally]:
    """Count the tokens that embedders read for the calling thread; nothing is tokenised a second time."""
    tally = TokenTally()
    token = _current.set(tally)
    try:
        yield tally
    finally:
        _current.reset(token)


def spend(tokens: int) -> None:
    """Tell that so many tokens were read; to be called in the thread of the embedder's caller."""
    tally = _current.get()
    if tally is not None:
        tally.tokens += tokens


# Texts and a probe text, whose vector is known, in one go: the same reply tells which model answers.


def embed_probed(embedder: Embedder, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
    """Embed texts as queries or as passages, and with them, in the last request, the probe.

    An embedder that does not take the probe along is asked for it separately. Its tokens are not counted.

    Returns:
        float32, shape (len(texts) + 1, dimensions): those of the texts in their order, then the probe's.
    """
    together = getattr(embedder, "embed_probed", None)
    if callable(together):
        return cast("Vectors", together(texts, probe, query=query))
    rows = [embedder.embed_query(text) for text in texts] if query else list(embedder.embed_passages(texts))
    with counting():  # apart from what the caller counts
        rows.append(embedder.embed_query(probe) if query else embedder.embed_passages([probe])[0])
    return np.stack(rows)


# The models that come in Maven packages. Another one is an entry here and a lock file beside it.
#
# The figures behind the choice of the default one are in adr/; benchmarks/local_models.py measures them
# again.


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What has to be known about a folder of weights to use them rightly."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1)]
    revision: str
    """Changes when the weights do: their sha256."""
    dimensions: Annotated[int, Field(ge=1)]
    max_tokens: Annotated[int, Field(ge=32)]
    pooling: Literal["cls", "mean"]
    """Whether a text's vector is that of its first token or the mean of all."""
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model and its place in a Maven package."""

    spec: ModelSpec
    lock: str
    """jgo's lock file in this folder: the package and its sha256."""
    weights: str
    """Path inside the package; `spec.revision` is its sha256."""
    tokenizer: str
    tokenizer_sha256: str


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


# The models of providers that kg knows, and what it takes another one for.


@dataclass(frozen=True, slots=True)
class KnownModel:
    dimensions: int
    max_tokens: int
    tokenizer: Literal["cl100k", "wordpiece", "bytes"]
    """`bytes`: unknown, so that each byte counts as a token, which no tokenizer exceeds."""
    query_prefix: str = ""
    passage_prefix: str = ""
    price: float | None = None
    """US dollars for a million tokens; None: not published."""
    shortest: int | None = None
    """Down to how many dimensions it can shorten its vectors (Matryoshka); None: it cannot."""


_NOMIC = KnownModel(
    dimensions=768,
    max_tokens=8192,
    tokenizer="wordpiece",
    query_prefix="search_query: ",
    passage_prefix="search_document: ",
)
NOMIC = {
    "nomic-embed-text-v1.5": replace(_NOMIC, shortest=64),
    "nomic-embed-text-v1": _NOMIC,
}
"""Their own service puts the prefixes there itself; another server leaves that to kg."""

OPENAI = {
    "text-embedding-3-small": KnownModel(1536, 8191, "cl100k", price=0.02, shortest=1),
    "text-embedding-3-large": KnownModel(3072, 8191, "cl100k", price=0.13, shortest=1),
    "text-embedding-ada-002": KnownModel(1536, 8191, "cl100k", price=0.10),
    "nomic-embed-text-v1.5": _NOMIC,  # other servers shorten nothing by themselves
    "nomic-embed-text": replace(_NOMIC, max_tokens=2048),  # as Ollama runs it
}
DEFAULT_MODELS = {"local": DEFAULT.spec.name, "nomic": "nomic-embed-text-v1.5", "deterministic": "word-hash"}
"""That of openai is a setting."""
IN_PROCESS = frozenset({"local", "deterministic", "histogram", "onnx"})
"""Providers whose models run here: once loaded, their weights do not change."""
GIVE_TOKENS = frozenset({"local", "deterministic"})
"""Providers whose models give a vector for each token; an API gives one for a text."""


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model to be asked for over HTTP, with the size of vectors that is wanted."""

    name: str
    facts: KnownModel
    dimensions: int
    """Equal to that of the facts, or shorter."""

    @property
    def asks_for(self) -> int | None:
        """The size to ask the provider for; None when it is the model's own."""
        return self.dimensions if self.dimensions != self.facts.dimensions else None


def remote_model(choice: ModelChoice, settings: Settings) -> RemoteModel:
    """Say all that has to be known of a provider's model."""
    if choice.provider == "nomic":
        name = choice.model or DEFAULT_MODELS["nomic"]
        if name not in NOMIC:
            raise _unknown("KG_EMBEDDING__MODEL", name, NOMIC)
        return RemoteModel(name, NOMIC[name], _size(name, NOMIC[name], choice.dimensions))
    name = choice.model or own_model(settings)
    dimensions = choice.dimensions
    if dimensions is None and name == own_model(settings):
        dimensions = settings.openai.embed_dims
    facts = OPENAI.get(name) or _describe(name, dimensions, settings)
    return RemoteModel(name, facts, _size(name, facts, dimensions))


def own_model(settings: Settings) -> str:
    """The model of the openai provider that the settings name."""
    named = settings.embedding.model if settings.embedding.provider == "openai" else None
    return named or settings.openai.embed_model


def price_of(choice: ModelChoice, settings: Settings) -> float | None:
    """US dollars for a million tokens; 0 where nothing leaves the machine, None when it is not known."""
    if choice.provider in IN_PROCESS:
        return 0.0
    if choice.provider == settings.embedding.provider and settings.embedding.price is not None:
        return settings.embedding.price
    table = NOMIC if choice.provider == "nomic" else OPENAI
    facts = table.get(choice.model or DEFAULT_MODELS.get(choice.provider) or own_model(settings))
    return facts.price if facts else None


def refusal_of_parts(identity: SpaceIdentity) -> str | None:
    """Why a model cannot embed a text among its neighbours; None: it can."""
    if identity.provider in GIVE_TOKENS:
        return None
    return (
        f"context late needs a model that gives a vector for each token, and {identity.model} "
        f"({identity.provider}) gives one for a whole text: choose a space of a local model "
        f"({', '.join(CATALOGUE)}; `kg admin spaces create NAME --provider local` makes one), "
        "or another context"
    )


def require_tokens(embedder: Embedder) -> TokenEmbedder:
    """The same embedder, if it can embed a text among its neighbours."""
    if gives_tokens(embedder):
        return embedder
    told = refusal_of_parts(embedder.identity)
    raise ConfigurationError(told or f"{embedder.identity.model} gives no vectors of tokens here")


def require_packaged_model(name: str) -> str:
    if name not in CATALOGUE:
        raise _unknown("KG_EMBEDDING__MODEL", name, CATALOGUE)
    return name


def _describe(name: str, dimensions: int | None, settings: Settings) -> KnownModel:
    if dimensions is None:
        raise ConfigurationError(
            f"kg does not know the model {name}: set OPENAI_EMBED_DIMS to the size of its vectors "
            f"(and KG_EMBEDDING__MAX_TOKENS to the longest text it takes), or OPENAI_EMBED_MODEL to one of "
            f"{', '.join(OPENAI)}"
        )
    own = settings.embedding
    if name != own_model(settings):  # what is set describes the settings' own model, no other
        return KnownModel(dimensions, 512, "bytes")
    return KnownModel(dimensions, own.max_tokens, "bytes", own.query_prefix, own.passage_prefix, own.price)


def _size(name: str, facts: KnownModel, wanted: int | None) -> int:
    if wanted is None or wanted == facts.dimensions:
        return facts.dimensions
    if facts.shortest is None:
        raise ConfigurationError(
            f"{name} gives vectors of {facts.dimensions} numbers, not {wanted}: correct OPENAI_EMBED_DIMS "
            f"or the space's dimensions, or leave them out"
        )
    if not facts.shortest <= wanted <= facts.dimensions:
        raise ConfigurationError(
            f"{name} gives vectors of {facts.shortest} to {facts.dimensions} numbers, not {wanted}: "
            f"correct OPENAI_EMBED_DIMS or the space's dimensions"
        )
    return wanted


def _unknown(variable: str, name: str, known: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(
        f"{variable}: kg does not know the model {name}; choose one of {', '.join(known)}"
    )


# What every model that sees pictures gives.

Pixels = NDArray[np.uint8]
"""A picture as it is shown: shape (height, width, 3), RGB, upright, what can be seen through on white."""

Fit = Literal["within", "cover", "stretch"]
"""`within`: scaled down until both sides fit, never up; `cover`: scaled until it covers the size, and its
middle cut out; `stretch`: scaled to the size."""
Resample = Literal["nearest", "bilinear", "bicubic", "lanczos"]


@dataclass(frozen=True, slots=True)
class Rendering:
    """How a picture is unpacked for a model."""

    width: int
    height: int
    fit: Fit
    resample: Resample = "bicubic"


class ImageEmbedder(Protocol):
    """One model with its settings; `identity.modality` is "image"."""

    @property
    def identity(self) -> SpaceIdentity:
        """What makes vectors of this model comparable with each other, and with no others.

        `max_tokens` is that of its text tower, 0 where it has none.
        """
        ...

    @property
    def rendering(self) -> Rendering:
        """How it wants pictures to be unpacked."""
        ...

    @property
    def reads_text(self) -> bool:
        """Whether words can be embedded into the same space, so that they find pictures."""
        ...

    @property
    def batch_size(self) -> int:
        """Most pictures that go to it in one call; more are divided by itself."""
        ...

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        """Embed pictures that were unpacked as `rendering` says.

        Returns:
            float32, shape (len(images), dimensions), rows of length 1, in the order given.

        Raises:
            RejectedText: the provider refuses one of them.
            ConfigurationError: a provider does not take the key, the model or its dimensions.
            EmbeddingUnavailable: a provider does not answer, after all tries.
            EmbeddingFailed: the model gave NaN, zero or wrongly sized vectors.
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed words that are to find pictures; what is over `max_tokens` is averaged over its spans.

        Returns:
            float32, shape (dimensions,), of length 1.

        Raises:
            ConfigurationError: it reads no text, or as `embed_images`.
            InvalidInput: the text is blank, or the provider refuses it.
            EmbeddingUnavailable, EmbeddingFailed: as `embed_images`.
        """
        ...

    def close(self) -> None:
        """Close connections and threads; the embedder is not used any more."""
        ...


# A picture whose vector shows that a model is still the same.

_SKY, _GROUND, _HORIZON = (70, 130, 220), (60, 140, 50), 0.6
_SUN, _SUN_AT, _SUN_RADIUS = (250, 210, 40), (0.8, 0.2), 0.1
_HOUSE, _HOUSE_AT, _HOUSE_HALF = (230, 220, 200), (0.4, 0.6), 0.16
_ROOF, _ROOF_TOP, _ROOF_HEIGHT = (180, 50, 40), 0.24, 0.2


def probe_picture(rendering: Rendering) -> Pixels:
    """Draw a house in a field under the sun, in the size that a rendering gives; always the same bytes.

    It is drawn and not read: nothing has to be unpacked, and no file can be lost.
    """
    down, across = np.mgrid[0 : rendering.height, 0 : rendering.width]
    y, x = (2 * down + 1) / (2 * rendering.height), (2 * across + 1) / (2 * rendering.width)
    drawn = np.where((y < _HORIZON)[..., None], _SKY, _GROUND) * (0.6 + 0.4 * y)[..., None]
    drawn[np.hypot(x - _SUN_AT[0], y - _SUN_AT[1]) < _SUN_RADIUS] = _SUN
    drawn[np.maximum(abs(x - _HOUSE_AT[0]), abs(y - _HOUSE_AT[1])) < _HOUSE_HALF] = _HOUSE
    below = y - _ROOF_TOP
    drawn[(abs(x - _HOUSE_AT[0]) < below) & (below < _ROOF_HEIGHT)] = _ROOF
    return drawn.astype(np.uint8)
