"""Blocks to Markdown, and where each page begins in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kg_api.convert.markdown_text import picture, words_before
from kg_api.convert.pdf.blocks import PdfBlock
from kg_api.convert.pdf.layout import Line
from kg_api.convert.pdf.words import Vocabulary, escaped

_MARK = re.compile(r"\S+\s*")
_FENCE = re.compile(r"`{3,}")
_EMPTY_LINE = 1.9
"""Of the usual distance: further apart are two lines of code with an empty one between them."""


def markdown(blocks: Sequence[PdfBlock], pages: int) -> tuple[str, tuple[int, ...], list[int]]:
    """Give the text, and the offsets at which the text of each page, and each block, begin."""
    words = Vocabulary(line.text for block in blocks for line in block.lines)
    parts: list[str] = []
    begins: dict[int, int] = {}
    each: list[int] = []
    offset = 0
    for i, block in enumerate(blocks):
        text = _picture(block, parts) if block.kind == "image" else _block(block, words)
        if not text:
            each.append(offset)
            continue
        if parts:
            tight = block.kind == "item" and i > 0 and blocks[i - 1].kind == "item"
            parts.append("\n" if tight else "\n\n")
            offset += len(parts[-1])
        each.append(offset)
        for page, within in _begins(block, words):
            begins.setdefault(page, offset + within)
        parts.append(text)
        offset += len(text)
    return "".join(parts), _offsets(begins, pages, offset), each


def _picture(block: PdfBlock, parts: Sequence[str]) -> str:
    return picture(block.label or words_before(parts), block.name)


def _begins(block: PdfBlock, words: Vocabulary) -> Iterator[tuple[int, int]]:
    """Its pages, and where each begins in its text: a paragraph may go on over the end of a page."""
    yield block.lines[0].page, 0
    for at, (above, line) in enumerate(pairwise(block.lines), 1):
        if line.page != above.page:
            yield line.page, len(_block(replace(block, lines=block.lines[:at]), words))


def _offsets(begins: dict[int, int], pages: int, end: int) -> tuple[int, ...]:
    """A page on which nothing begins begins where the next text does; the first page at 0."""
    found: list[int] = []
    following = end
    for page in range(pages - 1, -1, -1):
        following = begins.get(page, following)
        found.append(following)
    found.reverse()
    return (0, *found[1:]) if found else ()


def _block(block: PdfBlock, words: Vocabulary) -> str:
    if block.kind == "code":
        return _code(block.lines)
    if block.kind == "table":
        return _table(block.cells, words)
    lines = [line.text for line in block.lines]
    if block.kind == "item":
        text = words.joined([_MARK.sub("", lines[0].lstrip(), count=1), *lines[1:]])
        return f"{block.mark} {escaped(text)}" if text else ""
    text = words.joined(lines)
    if block.kind == "heading":
        return f"{'#' * block.level} {text}" if text else ""
    return escaped(text)


def _table(cells: Sequence[Sequence[str]], words: Vocabulary) -> str:
    """The first row is the head: Markdown has no table without one."""
    rows = [[words.joined(cell.split("\n")).replace("|", "\\|") for cell in row] for row in cells]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _code(lines: Sequence[Line]) -> str:
    left = min(line.left for line in lines)
    width = _letter_width(lines)
    steps = [above.baseline - line.baseline for above, line in pairwise(lines)]
    usual = min((step for step in steps if step > 0.5 * lines[0].size), default=0)
    rows: list[str] = []
    for i, line in enumerate(lines):
        if i and steps[i - 1] > _EMPTY_LINE * usual:
            rows.append("")
        rows.append(_spaced(line, left, width))
    fence = "`" * max(3, *(len(run) + 1 for row in rows for run in _FENCE.findall(row)), 3)
    return "\n".join((fence, *rows, fence))


def _letter_width(lines: Sequence[Line]) -> float:
    pieces = [piece for line in lines for piece in line.pieces]
    longest = max(pieces, key=lambda piece: len(piece.text))
    return max(0.1, (longest.right - longest.left) / max(1, len(longest.text)))


def _spaced(line: Line, left: float, width: float) -> str:
    """Put each piece where it stands, so that indentation and columns of code stay."""
    row = ""
    for piece in line.pieces:
        blanks = max(round((piece.left - left) / width) - len(row), 1 if row else 0)
        row += " " * blanks + piece.text.strip()
    return row.replace("\xad", "").rstrip()
