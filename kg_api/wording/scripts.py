"""Scripts, as classes of regular expressions name them."""

from __future__ import annotations

from typing import Final

UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Characters of scripts without spaces between words."""
