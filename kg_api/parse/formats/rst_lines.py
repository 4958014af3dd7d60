"""The lines of an RST text and how far they are indented."""

from __future__ import annotations

from array import array
from itertools import pairwise

from kg_api.parse.lines import line_starts

_BLANK = -1
_TAB = 8


class RstLines:
    """Lines by number. Past the end there are blank lines, so that looking ahead needs no care."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = line_starts(text)
        self.count = len(self.starts) - 1
        self.indents = array("i", (_indent(text[start:end]) for start, end in pairwise(self.starts)))
        self.indents.extend((_BLANK,) * _LOOKAHEAD)

    def __getitem__(self, line: int) -> str:
        """The line without the white space around it."""
        return self.text[self.starts[line] : self.starts[line + 1]].strip() if line < self.count else ""

    def is_blank(self, line: int) -> bool:
        """Whether there is white space only."""
        return self.indents[line] == _BLANK

    def next_text(self, line: int) -> int:
        """The first line from this one on that is not blank, or `count`."""
        while line < self.count and self.indents[line] == _BLANK:
            line += 1
        return line

    def run_end(self, line: int, deeper_than: int = _BLANK) -> int:
        """The line after the last that follows without a blank one, and is indented deeper than given."""
        end = line + 1
        while self.indents[end] > deeper_than:
            end += 1
        return end

    def body_end(self, line: int, within: int) -> int:
        """The line after the last, from this one on, that is indented deeper than `within`."""
        end = line
        while line < self.count and (self.indents[line] == _BLANK or self.indents[line] > within):
            line += 1
            if self.indents[line - 1] != _BLANK:
                end = line
        return end


def _indent(line: str) -> int:
    body = line.lstrip()
    return len(line[: len(line) - len(body)].expandtabs(_TAB)) if body else _BLANK


_LOOKAHEAD = 3
