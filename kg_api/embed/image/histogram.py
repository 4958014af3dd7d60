"""Pictures by their colours and edges, without a model: offline, the same everywhere, and blind to meaning.

It finds the original of a picture that was cropped, scaled, encoded again or made grey, and pictures that
look alike. It does not know a cat from a dog. benchmarks/image_embedders.py measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image import features
from kg_api.embed.image.pixels import require_rendered
from kg_api.embed.image.port import Pixels, Rendering
from kg_api.embed.port import Vectors
from kg_api.embed.vectors import unit
from kg_api.errors import ConfigurationError
from kg_api.models.embedding.spaces import SpaceIdentity

MODEL: Final = "colours-and-edges"
REVISION: Final = "1"
"""Another one when its vectors change."""
RENDERING = Rendering(128, 128, "stretch")
WEIGHTS = {"colours": 0.5, "lights": 0.4, "cells": 0.7, "directions": 0.5, "strengths": 0.3}
"""Chosen on sample photographs, whose halves agree on it; see docs/benchmarks.md."""
DIMENSIONS: Final = 240
BATCH = 64


def blocks(pixels: Pixels) -> dict[str, NDArray[np.float64]]:
    """All that is told of a picture, by name, before it is weighted."""
    lab = features.to_lab(pixels)
    return {
        "colours": features.colours(lab),
        "lights": features.lights(lab),
        "cells": features.cells(lab),
        "directions": features.directions(lab),
        "strengths": features.strengths(lab),
    }


class HistogramEmbedder:
    """Histograms of colour, lightness and edges. Thread-safe: it has no state."""

    identity = SpaceIdentity("histogram", MODEL, REVISION, DIMENSIONS, max_tokens=0, modality="image")
    rendering = RENDERING
    reads_text = False
    batch_size = BATCH

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        require_rendered(images, RENDERING)
        vectors = np.empty((len(images), DIMENSIONS), dtype=np.float32)
        for i, image in enumerate(images):
            weighted = [WEIGHTS[name] * block for name, block in blocks(image).items()]
            vectors[i] = unit(np.concatenate(weighted), DIMENSIONS)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 - it reads none
        """See `ImageEmbedder`: it reads no text."""
        raise ConfigurationError(
            f"the picture model {MODEL} (histogram) reads no text; words find pictures by what is written of "
            f"them, or by a model that sees (KG_IMAGE_EMBEDDING__PROVIDER)"
        )

    def close(self) -> None:
        """Nothing is open."""
