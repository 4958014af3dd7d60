"""Blocks of Org files. The library orgparse parses headlines with their stars, keywords, and tags."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import orgparse

from kg_api.schemas.documents import Block, BlockKind
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.lines import is_blank, line_starts
from kg_api.text.markdown import FrontMatter, plain_title

_BEGIN = re.compile(r"[ \t]*#\+begin_(\w+)", re.IGNORECASE)
_PROSE = frozenset({"quote", "verse", "center", "abstract"})
"""Org blocks with prose. All other Org blocks contain code."""
_DRAWER = re.compile(r"[ \t]*:[\w-]+:[ \t]*$")
_NOT_READ = re.compile(r"[ \t]*#(?:\+\w+:?|[ \t]|$)")
_PLANNED = re.compile(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED|CLOCK):")
_TABLE = re.compile(r"[ \t]*\|")
_ITEM = re.compile(r"(?:[ \t]*(?:[-+]|\d+[.)])|[ \t]+\*)[ \t]+")
_RULE = re.compile(r"[ \t]*-{5,}[ \t]*$")
_LINES: tuple[tuple[re.Pattern[str], BlockKind], ...] = (
    (_NOT_READ, "other"),
    (_RULE, "other"),
    (_PLANNED, "markup"),
)
"""Lines that are blocks of their own."""
_KEYWORD = re.compile(
    r"#\+(title|author|date|language|filetags|keywords|description):[ \t]*(.*)", re.IGNORECASE
)
_HEAD_LINE = re.compile(r"#|[ \t]*$")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_HEAD = 20_000


def blocks(text: str) -> list[Block]:
    """Return the blocks, with one block per list item."""
    starts = line_starts(text)
    lines = [text[start:end].rstrip("\r\n") for start, end in pairwise(starts)]
    return list(_Lines(lines, starts, _headlines(lines)).blocks())


def read_keywords(text: str) -> FrontMatter:
    """Return title and metadata from keywords such as `#+TITLE:`. The keywords stay in the text."""
    said: dict[str, list[str]] = {}
    for line in text[:_MAX_HEAD].splitlines():
        if not _HEAD_LINE.match(line):
            break
        if (found := _KEYWORD.match(line)) and found[2].strip():
            said.setdefault(found[1].lower(), []).append(found[2].strip())
    return FrontMatter(title=" ".join(said.pop("title", [])), metadata=_metadata(said))


def _metadata(said: Mapping[str, Sequence[str]]) -> dict[str, MetadataValue]:
    found: dict[str, MetadataValue] = {
        key: " ".join(said[key]) for key in ("author", "language", "description") if key in said
    }
    if day := _DAY.search(" ".join(said.get("date", []))):
        found["date"] = day[0]
    tags = " ".join(said.get("filetags", [])).replace(":", " ").split()
    tags += [each.strip() for each in re.split(r"[,;]", " ".join(said.get("keywords", []))) if each.strip()]
    return found | ({"tags": tags} if tags else {})


def _headlines(lines: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return level and title of headlines by line.

    kg replaces other line break characters by spaces, because orgparse would split lines there.
    """
    if not any(line.startswith("*") for line in lines):
        return {}
    nodes = cast("Any", orgparse).loads("\n".join(" ".join(line.splitlines()) for line in lines))[1:]
    return {node.linenumber - 1: (node.level, plain_title(node.heading)) for node in nodes}


class _Lines:
    def __init__(
        self, lines: Sequence[str], starts: Sequence[int], headlines: Mapping[int, tuple[int, str]]
    ) -> None:
        self._lines, self._starts, self._headlines = lines, starts, headlines
        self._headline_lines = sorted(headlines)
        self._ends: dict[str, list[int]] = {}
        for at, line in enumerate(lines):
            if (said := line.strip().lower()).startswith(("#+end_", ":end:")):
                self._ends.setdefault(said, []).append(at)

    def blocks(self) -> Iterator[Block]:
        line = 0
        while line < len(self._lines):
            kind, end = self._next(line)
            if kind is not None:
                level, title = self._headlines.get(line, (0, "")) if kind == "heading" else (0, "")
                yield Block(kind, self._starts[line], self._starts[end], level, title)
            line = end

    def _next(self, line: int) -> tuple[BlockKind | None, int]:
        """Return the kind of the block at this line (None: blank line), and the line after the block."""
        text = self._lines[line]
        if line in self._headlines:
            return "heading", line + 1
        if is_blank(text):
            return None, line + 1
        return self._enclosed(line, text) or self._open(line, text)

    def _enclosed(self, line: int, text: str) -> tuple[BlockKind, int] | None:
        if (found := _BEGIN.match(text)) and (end := self._behind(line, f"#+end_{found[1].lower()}")):
            return ("markup", line + 1) if found[1].lower() in _PROSE else ("code", end)
        if _DRAWER.match(text) and (end := self._behind(line, ":end:")):
            return "markup", end
        return None

    def _open(self, line: int, text: str) -> tuple[BlockKind, int]:
        for pattern, kind in _LINES:
            if pattern.match(text):
                return kind, line + 1
        if _TABLE.match(text):
            return "table", self._table_end(line)
        return ("list_item" if _ITEM.match(text) else "paragraph"), self._prose_end(line)

    def _behind(self, line: int, mark: str) -> int:
        """Return the line after the mark, or 0 if a headline comes first."""
        lines = self._ends.get(mark, [])
        if (at := bisect_right(lines, line)) == len(lines):
            return 0
        headlines = bisect_right(self._headline_lines, lines[at]) - bisect_right(self._headline_lines, line)
        return 0 if headlines else lines[at] + 1

    def _table_end(self, line: int) -> int:
        while line < len(self._lines) and line not in self._headlines and _TABLE.match(self._lines[line]):
            line += 1
        return line

    def _prose_end(self, line: int) -> int:
        line += 1
        while line < len(self._lines) and line not in self._headlines:
            text = self._lines[line]
            if is_blank(text) or any(
                each.match(text) for each in (_BEGIN, _NOT_READ, _TABLE, _ITEM, _DRAWER)
            ):
                break
            line += 1
        return line
