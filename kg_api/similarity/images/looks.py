"""How a picture looks, in the 64 bits of its perceptual hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MAX_BITS: Final = 6
"""Other sizes and encodings of one picture differ in so many bits at most, other pictures in about 32."""


def differing_bits(one: int, other: int) -> int:
    """In how many bits two hashes differ."""
    return (one ^ other).bit_count()


def look_alike(own: int, hashes: Mapping[str, int]) -> list[str]:
    """Those that look nearly the same, the most alike first."""
    bits = {each: differing_bits(own, other) for each, other in hashes.items()}
    return sorted((each for each in bits if bits[each] <= MAX_BITS), key=lambda each: (bits[each], each))
