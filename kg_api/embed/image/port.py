"""What every model that sees pictures gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Vectors
from kg_api.models.embedding.spaces import SpaceIdentity

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
