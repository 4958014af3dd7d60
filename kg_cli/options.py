"""What several commands let a person choose from."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """How to search."""

    hybrid = "hybrid"
    vector = "vector"
    text = "text"
