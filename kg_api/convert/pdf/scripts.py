"""Raised and lowered digits next to a number: `10` with a small raised `6` is `10⁶`, not 106.

Only digits that would join a number are treated. Reference marks after words, and letters, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kg_api.convert.markdown_text import lower_text, raise_text

_SMALLER = 0.85
_RAISED, _LOWERED = 0.2, 0.08
"""Of the font size: shifts of a baseline that are no accident of the layout."""
_BEGINS = re.compile(r"[-+−–]?\d")


class SizedText(NamedTuple):
    """Text with its place across the line."""

    text: str
    baseline: float
    size: float


def write_scripts(parts: Sequence[SizedText]) -> list[str]:
    """Return the texts of parts that follow each other closely, with raised and lowered digits marked."""
    texts = [part.text for part in parts]
    for at in range(1, len(parts)):
        before, part = parts[at - 1], parts[at]
        if not (before.text[-1:].isdigit() and _BEGINS.match(part.text)):
            continue
        if shift := _find_shift(part, before):
            texts[at] = _write(part.text, shift)
        elif texts[at - 1] == before.text and (shift := _find_shift(before, part)):
            texts[at - 1] = _write(before.text, shift)
    return texts


def _find_shift(part: SizedText, base: SizedText) -> float:
    """Return how far smaller text stands above its base, or 0 if it is no script of it."""
    shift = part.baseline - base.baseline
    is_script = shift > _RAISED * base.size or shift < -_LOWERED * base.size
    return shift if is_script and part.size < _SMALLER * base.size else 0


def _write(text: str, shift: float) -> str:
    return raise_text(text) if shift > 0 else lower_text(text)
