"""The models that come in Maven packages. Another one is an entry here and a lock file beside it.

The figures behind the choice of the default one are in adr/; benchmarks/local_models.py measures them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field


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
