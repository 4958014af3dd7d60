"""What asking a language model takes: tokens and money."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kg_api.sections import LlmSettings

MILLION = 1_000_000
_ASCII_A_TOKEN, _OTHER_BYTES_A_TOKEN = 4, 2.5
"""In UTF-8, by cl100k: within 18 % for English, German, Chinese, Arabic and Thai."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote, and the tokens that its server counted; none where it counts none."""

    text: str
    read: int | None = None
    written: int | None = None


def tokens_of(text: str) -> int:
    """About how many tokens a text has."""
    size = len(text.encode(errors="replace"))
    other = size - len(text.encode("ascii", "ignore"))
    return math.ceil((size - other) / _ASCII_A_TOKEN + other / _OTHER_BYTES_A_TOKEN)


def price_of(settings: LlmSettings, read: int, written: int) -> float | None:
    """US dollars for tokens read and written; None where the settings name no price."""
    if settings.price_input is None or settings.price_output is None:
        return None
    return (read * settings.price_input + written * settings.price_output) / MILLION
