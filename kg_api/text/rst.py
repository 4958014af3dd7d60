"""Blocks and titles of reStructuredText."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kg_api.schemas.documents import Block, BlockKind
from kg_api.text.lines import find_line_starts
from kg_api.text.markdown import clean_title

_BLANK = -1
_TAB = 8


class RstLines:
    """Lines by number. Lookahead past the end returns blank lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = find_line_starts(text)
        self.count = len(self.starts) - 1
        self.indents = array("i", (_indent(text[start:end]) for start, end in pairwise(self.starts)))
        self.indents.extend((_BLANK,) * _LOOKAHEAD)

    def __getitem__(self, line: int) -> str:
        return self.text[self.starts[line] : self.starts[line + 1]].strip() if line < self.count else ""

    def is_blank(self, line: int) -> bool:
        return self.indents[line] == _BLANK

    def find_next_text(self, line: int) -> int:
        """Return the next non-blank line, starting with this one, or `count`."""
        while line < self.count and self.indents[line] == _BLANK:
            line += 1
        return line

    def run_end(self, line: int, deeper_than: int = _BLANK) -> int:
        """Return the end of the consecutive lines with a larger indentation than `deeper_than`."""
        end = line + 1
        while self.indents[end] > deeper_than:
            end += 1
        return end

    def find_body_end(self, line: int, within: int) -> int:
        """Return the end of the lines indented deeper than `within`, including blank lines between them."""
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


# Block parser
#
# The parser follows the reStructuredText specification. It reads each line a few times, so the time is linear
# in the text. Blocks inside list items, notes, and quotations are separate blocks.

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*$")
_ITEM = re.compile(r"(?:[-*+•‣⁃]|:(?![: ])[^:]{1,100}:)(?:\s+|$)")  # bullet or field
_NUMBER = re.compile(r"\(?(?:\d{1,9}|[a-zA-Z]|[ivxlcdmIVXLCDM]{1,9}|#)[.)](?:\s+|$)")
_EXPLICIT = re.compile(r"\.\.(?:\s|$)")
_DIRECTIVE = re.compile(r"\.\.\s+([\w.:+-]*[\w.+-])\s?::(?:\s|$)")
_OWN_PARAGRAPH = re.compile(r"\.\.\s+(?:\[[^\]]+\]|_|\|[^|]+\|\s|[\w.:+-]*[\w.+-]\s?::)|\.\.$")
_TARGET = re.compile(r"\.\.\s+_.+:$")
_GRID_BORDER = re.compile(r"\+-[-+]+\+$")
_TABLE_TOP = re.compile(r"=+(?: +=+)+$")
_TABLE_BORDER = re.compile(r"=+[ =]*$")
_MIN_ADORNMENT_LENGTH = 4  # a shorter adornment must be as long as its title

_PEP_TITLE = re.compile(r"PEP: [^\n]*\n(?:[^\n]+\n){0,9}?Title:([^\n]*(?:\n[ \t]+[^\n]*)*)")

_HEADER = 5000  # characters to search for the title of a PEP

_BODY_KINDS: dict[str, BlockKind] = {
    **dict.fromkeys(("code", "code-block", "sourcecode", "parsed-literal", "math", "raw", "prompt"), "code"),
    **dict.fromkeys(("productionlist", "testcode", "testoutput", "doctest", "graphviz", "mermaid"), "code"),
    **dict.fromkeys(("table", "list-table", "csv-table", "flat-table"), "table"),
}
"""Directives whose content is one block. kg parses the content of others, such as notes and figures."""


def parse_blocks(text: str) -> list[Block]:
    return list(_Scanner(text).scan())


def find_pep_title(text: str) -> str:
    """Return the title in the header of a Python Enhancement Proposal (empty: none)."""
    title = _PEP_TITLE.match("\n".join(text[:_HEADER].splitlines()))
    return clean_title(title[1]) if title else ""


@dataclass(frozen=True, slots=True)
class _Found:
    """Block from the current line to line `end`."""

    kind: BlockKind
    end: int
    level: int = 0
    title: str = ""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines = RstLines(text)
        self.levels: dict[tuple[str, bool], int] = {}
        """Level by style of adornment (character, whether above the title), in order of appearance."""
        self.literal_within: int | None = None
        """Minimum indentation (exclusive) of the literal block after a text that ends with `::`."""

    def scan(self) -> Iterator[Block]:
        starts, begin = self.lines.starts, None
        at = self.lines.find_next_text(0)
        while at < self.lines.count:
            found = self._find(at)
            begin = at if begin is None else begin
            following = self.lines.find_next_text(found.end)
            if following == self.lines.count or not _TARGET.match(self.lines[at]):  # a target names the next
                yield Block(found.kind, starts[begin], starts[found.end], found.level, found.title)
                begin = None
            at = following

    def _find(self, at: int) -> _Found:
        rules = (
            self._scan_literal,
            self._scan_header,
            self._scan_explicit,
            self._match_overlined,
            self._scan_table,
            self._scan_doctest,
        )
        return next(filter(None, (rule(at) for rule in rules)), None) or self._scan_text(at)

    def _scan_literal(self, at: int) -> _Found | None:
        within, self.literal_within = self.literal_within, None
        if within is None or self.lines.indents[at] <= within:
            return None
        return _Found("code", self.lines.find_body_end(at, within))

    def _scan_header(self, at: int) -> _Found | None:
        is_header = self.lines.starts[at] == 0 and self.lines[at].startswith("PEP: ")
        return _Found("markup", self.lines.run_end(at)) if is_header else None

    def _scan_explicit(self, at: int) -> _Found | None:
        line, indent = self.lines[at], self.lines.indents[at]
        if not _EXPLICIT.match(line):
            return None
        directive = _DIRECTIVE.match(line)
        kind = _BODY_KINDS.get(directive[1].lower()) if directive else None
        if kind:
            return _Found(kind, self.lines.find_body_end(at + 1, indent))
        if _OWN_PARAGRAPH.match(line) and (line != ".." or self.lines.is_blank(at + 1)):
            return _Found("markup", self.lines.run_end(at, deeper_than=indent))
        return _Found("other", self.lines.find_body_end(at + 1, indent))  # a comment

    def _match_overlined(self, at: int) -> _Found | None:
        over = _ADORNMENT.match(self.lines[at])
        if not over:
            return None
        title, under = self.lines[at + 1], self.lines[at + 2]
        if title and under == over[0] and self._adorns(under, title):
            return self._build_heading(at + 3, title, over[1], over=True)
        is_transition = len(over[0]) >= _MIN_ADORNMENT_LENGTH and not title
        return _Found("other", at + 1) if is_transition else None

    def _adorns(self, line: str, title: str) -> bool:
        return len(line) >= min(_MIN_ADORNMENT_LENGTH, len(title)) and not _ADORNMENT.match(title)

    def _build_heading(self, end: int, title: str, character: str, *, over: bool) -> _Found:
        level = self.levels.setdefault((character, over), len(self.levels) + 1)
        return _Found("heading", end, level, clean_title(title))

    def _scan_table(self, at: int) -> _Found | None:
        line, indent = self.lines[at], self.lines.indents[at]
        if _GRID_BORDER.match(line):
            end = at + 1
            while self.lines[end].startswith(("+", "|")) and self.lines.indents[end] == indent:
                end += 1
            return _Found("table", end)
        end = self._find_table_end(at) if _TABLE_TOP.match(line) else None
        return _Found("table", end) if end else None

    def _find_table_end(self, at: int) -> int | None:
        """Return the line after the second border below the top, or after a border before a blank line."""
        top, borders = self.lines[at], 0
        for i in range(at + 1, self.lines.count):
            if _TABLE_BORDER.match(self.lines[i]):
                borders += 1
                if len(self.lines[i]) != len(top):
                    return None
                if borders > 1 or self.lines.is_blank(i + 1):
                    return i + 1
        return None

    def _scan_doctest(self, at: int) -> _Found | None:
        return _Found("code", self.lines.run_end(at)) if self.lines[at].startswith(">>>") else None

    def _scan_text(self, at: int) -> _Found:
        line, indent = self.lines[at], self.lines.indents[at]
        marker = _ITEM.match(line)
        following = self.lines[at + 1]
        under = None if marker or indent else _ADORNMENT.match(following)
        if under and not self.lines.indents[at + 1] and self._adorns(following, line):
            return self._build_heading(at + 2, line, under[1], over=False)
        marker = marker or self._match_number(at)
        # Find the end of a paragraph, a list item, or a term with its definition.
        is_item = marker is not None
        indents, end = self.lines.indents, at + 1
        deeper = False
        while not self.lines.is_blank(end) and indents[end] >= indents[at]:
            if indents[end] == indents[at] and (is_item or deeper):
                break
            deeper = indents[end] > indents[at]
            end += 1
        if self.lines[end - 1].endswith("::"):
            alone = end == at + 1 and marker
            self.literal_within = indent + len(marker[0]) if alone and marker else self.lines.indents[end - 1]
        is_definition = indents[at + 1] > indent
        return _Found("list_item" if marker or is_definition else "paragraph", end)

    def _match_number(self, at: int) -> re.Match[str] | None:
        """Match an enumerator before a blank or indented line or another item, but not `A. Einstein was`."""
        following = self.lines[at + 1]
        goes_on = following and self.lines.indents[at + 1] == self.lines.indents[at]
        return None if goes_on and not _NUMBER.match(following) else _NUMBER.match(self.lines[at])
