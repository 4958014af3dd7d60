"""Items of lists with the numbers that Office shows."""

from __future__ import annotations

import re

from kg_api.convert.markdown_text import MarkdownWriter, paragraph

_MARKDOWN_NUMBER = re.compile(r"[0-9]{1,9}[.)]")
_MAX_LEVELS = 6
"""Lists in lists: Markdown's parser ends at ten."""
BULLET = "•"


class ListWriter:
    """Writes items, each indented below the item of the level above."""

    def __init__(self, writer: MarkdownWriter) -> None:
        self._writer = writer
        self._open: list[tuple[int, str, bool]] = []
        """Levels with the indent of what belongs to their last item, and whether that has a bullet."""

    @property
    def indent(self) -> str:
        """The indent of blocks that belong to the last item."""
        return self._open[-1][1] if self._open else ""

    def close(self) -> None:
        """End the list: the next item stands for itself."""
        self._open.clear()

    def write(self, level: int, number: str, text: str) -> None:
        """Write an item; `1.1` and `(a)` are no markers of Markdown, so they begin a paragraph."""
        bulleted = number == BULLET
        while self._open and self._open[-1][0] >= level:
            before, _, was_bulleted = self._open.pop()
            if before == level and was_bulleted != bulleted:  # another list, which begins after a blank line
                self._writer.end_list()
        indent = self.indent
        if bulleted:
            marker = "- "
        elif _MARKDOWN_NUMBER.fullmatch(number) and text.strip():
            marker = f"{number} "
        else:
            marker = ""
        if marker:
            self._writer.item(text, indent, marker)
        else:
            self._writer.add(paragraph(f"{number} {text}"), indent)
        within = indent + " " * len(marker)
        if len(self._open) < _MAX_LEVELS:
            self._open.append((level, within, bulleted))
