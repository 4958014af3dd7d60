"""Pictures as they come to models: what is owed to every one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kg_api.embed.image.port import Pixels, Rendering
from kg_api.errors import InvalidInput

CHANNELS = 3


def fits(shape: tuple[int, ...], rendering: Rendering) -> bool:
    """Whether a picture of that shape can come of a rendering."""
    if len(shape) != CHANNELS or shape[2] != CHANNELS:
        return False
    height, width = shape[:2]
    if rendering.fit == "within":
        return 1 <= width <= rendering.width and 1 <= height <= rendering.height
    return (width, height) == (rendering.width, rendering.height)


def require_rendered(images: Sequence[Pixels], rendering: Rendering) -> None:
    """Refuse pictures that were unpacked in another way than the model's.

    Raises:
        InvalidInput: saying which.
    """
    for number, image in enumerate(images):
        if image.dtype != np.uint8 or not fits(image.shape, rendering):
            raise InvalidInput(
                f"picture {number} has shape {image.shape} ({image.dtype}), and {rendering} is wanted"
            )
