"""Markdown (CommonMark and tables), block level only, by markdown-it-py."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kg_api.models.library.parsing import Block, BlockKind
from kg_api.parse.formats.titles import plain_title
from kg_api.parse.lines import line_starts

_LEAVES: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "html_block": "markup",
    "hr": "other",
}
_WINDOW = 2_000
_MAX_WINDOW_LENGTH = 16_000
"""Lines parsed at once: a line of a list makes 6 tokens of 300 bytes, one of a table 3 for each cell."""
_MAX_ROW_LENGTH = 100_000
"""Characters of a line above which nothing is read as a table: each cell makes three tokens."""

_CODE_IN_HTML = re.compile(r"<(?:pre|script|style|textarea|!|\?)", re.IGNORECASE)


def blocks(text: str, begin: int = 0) -> list[Block]:
    """Find the blocks of a Markdown text; those of lists and quotations are given one by one.

    Args:
        text: the text.
        begin: where its first line stands, behind the front matter.
    """
    starts = line_starts(text)
    found: list[Block] = []
    for line, tokens in _windows(text, starts, bisect_left(starts, begin)):
        found += _leaves(tokens, starts, line)
    return found


def _windows(text: str, starts: Sequence[int], line: int) -> Iterator[tuple[int, list[Token]]]:
    """Parse a large text part by part, each from a block's first line on, so that memory stays small."""
    lines, size = len(starts) - 1, _WINDOW
    while line < lines:
        stop = min(line + size, lines)
        tokens = _parse(text, starts, line, stop)
        last, begin = _last_block(tokens)
        if stop < lines and begin > 0:  # the window may have cut its last block: begin again with that
            yield line, tokens[:last]
            line, size = line + begin, _WINDOW
        elif stop < lines and tokens and (size < _MAX_WINDOW_LENGTH or tokens[0].type == "fence"):
            size *= 2
        else:  # the end, or a table or paragraph without end, which goes on as a new one
            yield line, tokens
            line, size = stop, _WINDOW


def _parse(text: str, starts: Sequence[int], line: int, stop: int) -> list[Token]:
    longest = max(starts[i + 1] - starts[i] for i in range(line, stop))
    parser = MarkdownIt("commonmark").disable(["inline", "reference"])
    if longest <= _MAX_ROW_LENGTH:
        parser.enable("table")
    return parser.parse(text[starts[line] : starts[stop]])


def _last_block(tokens: Sequence[Token]) -> tuple[int, int]:
    """The last top-level block, or item of a top-level list: its place in `tokens`, and its line."""
    for i in range(len(tokens) - 1, -1, -1):
        place, token = tokens[i].map, tokens[i]
        if place and (token.level == 0 or (token.level == 1 and token.type == "list_item_open")):
            return i, place[0]
    return 0, 0


def _leaves(tokens: Sequence[Token], starts: Sequence[int], line: int) -> Iterator[Block]:
    lists = 0
    for i, token in enumerate(tokens):
        lists += token.nesting if token.tag in {"ul", "ol"} else 0
        kind = _LEAVES.get(token.type)
        if kind is None or token.map is None:
            continue
        start, end = (starts[line + at] for at in token.map)
        if kind == "markup" and _CODE_IN_HTML.search(token.content):
            kind = "other"
        if kind == "heading" and token.level == 0:
            yield Block(kind, start, end, int(token.tag[1]), plain_title(tokens[i + 1].content))
        elif kind in {"heading", "paragraph"}:
            yield Block("list_item" if lists else "paragraph", start, end)
        else:
            yield Block(kind, start, end)
