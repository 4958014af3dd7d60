"""On which pages a passage stands, and what OCR read of it there. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from kg_api.models.library.word_boxes import WordBox, mean_of, pack


class PagesOfPassage(NamedTuple):
    page: int | None
    last_page: int | None
    ocr_confidence: float | None
    word_boxes: bytes | None


class DocumentPages:
    """Pages of a document and the words that OCR read, by their places in its text."""

    def __init__(self, begins: Sequence[int], words: Sequence[WordBox]) -> None:
        """Args: where each page begins, none of a document without pages; and words in their order."""
        self._begins, self._words = begins, words
        self._starts = [word.start for word in words]
        self._read = {word.page for word in words}

    def of(self, start: int, text: str) -> PagesOfPassage:
        """Of a passage that begins at `start`."""
        end = start + len(text.rstrip())
        first, last = bisect_right(self._begins, start), bisect_left(self._begins, end)
        words = self._words[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        if words:
            return PagesOfPassage(first or None, last or None, mean_of(words), pack(words, start))
        sure = self._page_mean(first) if first == last and first in self._read else None
        return PagesOfPassage(first or None, last or None, sure, None)

    def _page_mean(self, page: int) -> float | None:
        """Of a passage none of whose words was found again, but whose page was read by OCR."""
        return mean_of([word for word in self._words if word.page == page])
