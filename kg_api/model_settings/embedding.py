"""Settings of the models that embed; settings.py reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from kg_api.models.vocabulary import ImageDialect, ImageProvider, Provider
from kg_api.sections import Price, Seconds, Section


class EmbeddingSettings(Section):
    """The embedding model of ontologies that name no other."""

    provider: Provider = Field(
        default="local",
        description=(
            "Embedding provider; `deterministic` is for tests only: it hashes words and knows no meaning."
        ),
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Embedding model; unset: the provider's default (openai: OPENAI_EMBED_MODEL).",
    )
    model_folder: Path | None = Field(
        default=None, description="Folder with model.onnx and tokenizer.json to use instead."
    )
    threads: int | None = Field(
        default=None, ge=1, description="Threads for local models; unset: one per core."
    )
    requests_at_once: int = Field(
        default=8,
        ge=1,
        le=64,
        description=(
            "Maximum requests in flight to a remote provider per worker; "
            "fewer when it answers 429 or its rate-limit headers say so."
        ),
    )
    query_seconds: Seconds = Field(
        default=5,
        description=(
            "How long a search waits for the provider, retries included, before it continues without vectors."
        ),
    )
    cache_entries: int = Field(
        default=200_000,
        ge=0,
        le=100_000_000,
        description="Maximum vectors in the embedding cache; 0: no cache.",
    )
    max_tokens: int = Field(
        default=512, ge=64, le=1_000_000, description="Maximum input tokens of a model that kg does not know."
    )
    query_prefix: str = Field(default="", description="Query prefix of a model that kg does not know.")
    passage_prefix: str = Field(default="", description="Passage prefix of a model that kg does not know.")
    price: Price | None = Field(
        default=None, description="Price of a model that kg does not know, in US dollars per million tokens."
    )

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if self.model_folder is not None and (self.model is not None or self.provider != "local"):
            raise ValueError(
                "KG_EMBEDDING__MODEL_FOLDER is a local model of your own: "
                "leave out KG_EMBEDDING__MODEL, and KG_EMBEDDING__PROVIDER unless it is local"
            )
        return self


class ImageEmbeddingSettings(Section):
    """The model of pictures of ontologies that name no other. Keys and addresses are the providers' own."""

    provider: ImageProvider = Field(
        default="histogram",
        description=(
            "Model that embeds pictures: `histogram` compares colours and edges, needs no model and reads no "
            "text; `onnx` is a model in a folder of your own; `nomic`, `openai` (any server whose "
            "/embeddings takes pictures) and `cohere` are asked over HTTP."
        ),
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Picture model; unset: the provider's default. Of `onnx`: a folder in the next one.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Dimensions of its vectors; required for a model that kg does not know.",
    )
    folder: Path | None = Field(
        default=None, description="For `onnx`: folder with a subfolder for each model, described in it."
    )
    dialect: ImageDialect = Field(
        default="jina",
        description=(
            "For `openai`: how the server takes pictures: `jina` as `input: [{image: ...}]` (Jina, SGLang), "
            "`infinity` with `modality`, `vllm` as `messages`, one picture a request."
        ),
    )
    max_tokens: int = Field(
        default=256,
        ge=64,
        le=1_000_000,
        description="Maximum input tokens of a model that kg does not know; each byte is counted as one.",
    )
    query_prefix: str = Field(default="", description="Query prefix of a model that kg does not know.")
