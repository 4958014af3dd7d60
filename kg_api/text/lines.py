"""Lines and blank parts of a text. Offsets are code points."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

NEWLINE = re.compile(r"\r\n|\n|\r")  # line ends in every parser of kg
_VISIBLE = re.compile(
    # Anything except whitespace, control and format characters, and invisible fillers.
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def find_line_starts(text: str) -> Sequence[int]:
    """Return the start of each line and the text length, so line i is text[starts[i]:starts[i + 1]]."""
    starts = array("Q", [0])  # 8 bytes per line (a list: 36)
    starts.extend(newline.end() for newline in NEWLINE.finditer(text))
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def is_blank(text: str, start: int = 0, end: int | None = None) -> bool:
    """Check if text[start:end] has only whitespace and zero-width characters."""
    return _VISIBLE.search(text, start, len(text) if end is None else end) is None
