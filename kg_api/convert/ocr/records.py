"""What OCR finds on a picture. Places are pixels from its upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""Shades of grey, row by row."""


class OcrFailed(Exception):
    """It cannot read this picture; the reason is meant for people."""


@dataclass(frozen=True, slots=True)
class PixelWord:
    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    """From 0 to 1, as the engine says."""


@dataclass(frozen=True, slots=True)
class PixelLine:
    words: tuple[PixelWord, ...]
    baseline: float
    size: float
    """Of its letters, as a font's size is told."""

    @property
    def confidence(self) -> float:
        """By letters."""
        return mean_confidence([(word.text, word.confidence) for word in self.words])


def mean_confidence(words: Sequence[tuple[str, float]]) -> float:
    """The mean of words with their confidence, by letters."""
    letters = sum(len(text) for text, _ in words)
    return sum(len(text) * confidence for text, confidence in words) / max(1, letters)


class OcrEngine(Protocol):
    """Reads pictures."""

    @property
    def name(self) -> str:
        """As people know it, with its languages."""
        ...

    def read(self, picture: Picture, seconds: float) -> list[PixelLine]:
        """Find the lines of a picture.

        Args:
            picture: at about 200 dpi.
            seconds: that it may take; not every engine can be stopped.

        Raises:
            OcrFailed: saying why.
        """
        ...
