"""How a rendering is asked of a process that converts files, and how what it answers is looked at."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np

from kg_api.embed.image.pixels import CHANNELS, fits
from kg_api.embed.image.port import Fit, Pixels, Rendering, Resample
from kg_api.errors import UnreadableDocument
from kg_api.models.images import RenderedImage

MAX_SIDE = 1536
"""Pixels: so large a picture fits into an answer."""


def write_rendering(rendering: Rendering) -> str:
    """A rendering in a few characters.

    Raises:
        ValueError: it asks for nothing, or for more than an answer holds.
    """
    sides = (rendering.width, rendering.height)
    if min(sides) < 1 or max(sides) > MAX_SIDE:
        raise ValueError(f"pictures are rendered with sides of 1 to {MAX_SIDE} pixels, not {sides}")
    return f"{rendering.width}.{rendering.height}.{rendering.fit}.{rendering.resample}"


def read_rendering(form: str) -> Rendering:
    """The rendering that `write_rendering` wrote.

    Raises:
        ValueError: it did not.
    """
    width, height, fit, resample = form.split(".")
    if fit not in get_args(Fit) or resample not in get_args(Resample):
        raise ValueError(f"{form} is not a rendering")
    return Rendering(int(width), int(height), cast("Fit", fit), cast("Resample", resample))


def checked_pixels(answer: RenderedImage, rendering: Rendering) -> Pixels:
    """The pixels of an answer; whoever has taken over that process can give no others than were asked for.

    Raises:
        UnreadableDocument: their size is another one, or their number does not fit it.
    """
    shape = (answer.height, answer.width, CHANNELS)
    if not fits(shape, rendering) or len(answer.pixels) != answer.height * answer.width * CHANNELS:
        raise UnreadableDocument("its parser gave other pixels than were asked for; save it again")
    return np.frombuffer(answer.pixels, dtype=np.uint8).reshape(shape)
