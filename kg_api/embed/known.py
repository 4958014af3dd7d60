"""The models of providers that kg knows, and what it takes another one for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from kg_api.embed.catalogue import CATALOGUE, DEFAULT
from kg_api.embed.port import Embedder, TokenEmbedder, gives_tokens
from kg_api.errors import ConfigurationError
from kg_api.models.embedding.spaces import ModelChoice, SpaceIdentity
from kg_api.settings import Settings


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What a model takes and gives."""

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
    """Say all that has to be known of a provider's model.

    Raises:
        ConfigurationError: kg does not know the model and its size is not set, or the model cannot give
            vectors of that size.
    """
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
    """The same embedder, if it can embed a text among its neighbours.

    Raises:
        ConfigurationError: it cannot; the message says which can.
    """
    if gives_tokens(embedder):
        return embedder
    told = refusal_of_parts(embedder.identity)
    raise ConfigurationError(told or f"{embedder.identity.model} gives no vectors of tokens here")


def require_packaged_model(name: str) -> str:
    """Check the name of a local model.

    Raises:
        ConfigurationError: there is none by that name.
    """
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
