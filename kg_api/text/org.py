"""Blocks of Org files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from kg_api.schemas.documents import Block, BlockKind
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.lines import find_line_starts, is_blank
from kg_api.text.markdown import FrontMatter, clean_title

_HEADLINE = re.compile(
    r"(?P<stars>\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+)?(?:\[#\w\][ \t]*)?"
    r"(?P<title>.*?)(?:[ \t]+:[\w@#%:]+:)?[ \t]*"
)
_BEGIN = re.compile(r"[ \t]*#\+begin_(?!quote|verse|center|abstract)(\w+)", re.IGNORECASE)  # not prose
_DRAWER = re.compile(r"[ \t]*:[\w-]+:[ \t]*$")
_LINES: tuple[tuple[re.Pattern[str], BlockKind], ...] = (
    (re.compile(r"[ \t]*#\+begin_", re.IGNORECASE), "markup"),
    (re.compile(r"[ \t]*#(?:\+\w+:?|[ \t]|$)|[ \t]*-{5,}[ \t]*$"), "other"),
    (re.compile(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED|CLOCK):"), "markup"),
    (re.compile(r"[ \t]*\|"), "table"),
    (re.compile(r"(?:[ \t]*(?:[-+]|\d+[.)])|[ \t]+\*)[ \t]+"), "list_item"),
)
"""Kinds of lines. All others are paragraphs."""
_KEYWORD = re.compile(
    r"#\+(title|author|date|language|filetags|keywords|description):[ \t]*(.*)", re.IGNORECASE
)
_HEAD_LINE = re.compile(r"#|[ \t]*$")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_HEAD = 20_000


def parse_blocks(text: str) -> list[Block]:
    """Return the blocks, with one block per list item. A headline ends every other block."""
    found, is_open, closing = list[Block](), False, ""
    for start, end in pairwise(find_line_starts(text)):
        line = text[start:end].rstrip("\r\n")
        if headline := _HEADLINE.fullmatch(line):
            found.append(Block("heading", start, end, len(headline["stars"]), clean_title(headline["title"])))
            is_open, closing = False, ""
        elif closing:
            found[-1] = replace(found[-1], end=end)
            closing = "" if line.strip().lower() == closing else closing
        elif is_blank(line):
            is_open = False
        elif begin := _BEGIN.match(line):
            found.append(Block("code", start, end))
            is_open, closing = False, f"#+end_{begin[1].lower()}"
        elif _DRAWER.match(line):
            found.append(Block("markup", start, end))
            is_open, closing = False, ":end:"
        else:
            kind: BlockKind = "paragraph"
            for pattern, matched in _LINES:
                if pattern.match(line):
                    kind = matched
                    break
            before = found[-1].kind if is_open else ""
            if (kind, before) in {("table", "table"), ("paragraph", "paragraph"), ("paragraph", "list_item")}:
                found[-1] = replace(found[-1], end=end)
            else:
                found.append(Block(kind, start, end))
            is_open = True
    return found


def read_keywords(text: str) -> FrontMatter:
    """Return title and metadata from keywords such as `#+TITLE:`. The keywords stay in the text."""
    keywords: dict[str, list[str]] = {}
    for line in text[:_MAX_HEAD].splitlines():
        if not _HEAD_LINE.match(line):
            break
        if (found := _KEYWORD.match(line)) and found[2].strip():
            keywords.setdefault(found[1].lower(), []).append(found[2].strip())
    return FrontMatter(title=" ".join(keywords.pop("title", [])), metadata=_parse_metadata(keywords))


def _parse_metadata(said: Mapping[str, Sequence[str]]) -> dict[str, MetadataValue]:
    found: dict[str, MetadataValue] = {
        key: " ".join(said[key]) for key in ("author", "language", "description") if key in said
    }
    if day := _DAY.search(" ".join(said.get("date", []))):
        found["date"] = day[0]
    tags = " ".join(said.get("filetags", [])).replace(":", " ").split()
    tags += [each.strip() for each in re.split(r"[,;]", " ".join(said.get("keywords", []))) if each.strip()]
    return found | ({"tags": tags} if tags else {})
