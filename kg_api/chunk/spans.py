"""What the strategies work on and what they give. Offsets are code points of a text, end excluded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
"""(start, end) in code points, end excluded."""
SentenceVectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Vectors of length 1, shape (sentences, dimensions), that tell where the meaning moves."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One source's place. The paragraphs of a document join to its whole text."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    """The path of headings above it, the highest first; paragraphs of one section have the same."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """One chunk: text[start:end], no blank at either end."""

    start: int
    end: int
    parent: tuple[int, int] | None = None
    """The span that is given to the reader in its place; `hierarchical` only."""
