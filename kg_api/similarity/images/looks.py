"""How a picture looks, in the 64 bits of its perceptual hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from kg_api.embed.image.port import Pixels, Rendering

MAX_BITS: Final = 6
"""Other sizes and encodings of one picture differ in so many bits at most, other pictures in about 32."""
HASHED: Final = Rendering(9, 8, "stretch", "lanczos")
"""The pixels that a difference hash is made of."""
_GREY: Final = np.array([299, 587, 114])
"""ITU-R 601-2, in thousandths: as Pillow makes grey of colours, and so the stored hashes."""


def hash_of(pixels: Pixels) -> int:
    """The difference hash of a picture that was unpacked as `HASHED` says."""
    grey = (pixels.astype(np.int64) @ _GREY) // 1000
    return int.from_bytes(np.packbits(grey[:, 1:] > grey[:, :-1]).tobytes(), "big")


def differing_bits(one: int, other: int) -> int:
    """In how many bits two hashes differ."""
    return (one ^ other).bit_count()


def look_alike(own: int, hashes: Mapping[str, int]) -> list[str]:
    """Those that look nearly the same, the most alike first."""
    bits = {each: differing_bits(own, other) for each, other in hashes.items()}
    return sorted((each for each in bits if bits[each] <= MAX_BITS), key=lambda each: (bits[each], each))
