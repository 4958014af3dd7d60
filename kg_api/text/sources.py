"""From a parsed document to its sources: spans in reading order that join to the whole text.

A section decides alone which paragraphs to join, so an edit moves no border beyond its section.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from kg_api.schemas.documents import Block, BlockKind, ParsedDocument, SourceBlock, SourceSpan
from kg_api.text.cutting import LINES, cut, prose_levels, words
from kg_api.text.lines import is_blank


@dataclass(frozen=True, slots=True)
class SplitLimits:
    """Sizes of sources in words, as `words` counts them."""

    join_below: int = 40
    """A piece below this is joined with its neighbours in the section; so are list items of any size."""
    enough: int = 100  # joining ends when this is reached
    most: int = 200  # joining does not go beyond this, and what is split is split into pieces of at most this
    split_above: int = 250  # a paragraph above this is split
    split_code_above: int = 400  # code and tables above this are split: they lose more by it than prose


# From a parsed document to its sources: paragraph-level spans in reading order that join to the whole text.
#
# What lies together is decided within one section only, so that an edit moves no border beyond it.

SPLITTER_VERSION = "2"  # part of a document's hash; another version means other sources from the same text
_DEFAULTS = SplitLimits()
_TAIL = 100  # characters in which the end of a piece is looked for behind the blanks
_WHOLE: frozenset[BlockKind] = frozenset({"code", "program", "table"})
_BY_LINES: frozenset[BlockKind] = frozenset({"code", "program", "table", "markup", "other"})
_JOINED: frozenset[BlockKind] = frozenset({"list_item", "code", "program", "table", "markup", "other"})
"""Kinds that are joined with their neighbours whatever their size."""


@dataclass(slots=True)
class _Piece:
    """text[start:end]: a block, a part of a long one, or several joined."""

    kind: BlockKind
    start: int
    end: int
    size: int
    leads: bool = False  # it ends with a colon: what follows belongs to it

    def take(self, other: _Piece) -> None:
        """Grow by the piece that follows."""
        self.kind, self.end, self.leads = other.kind, other.end, other.leads
        self.size += other.size


@dataclass(slots=True)
class _Section:
    """Headings that follow each other, as one piece, and what lies below the last of them."""

    path: tuple[str, ...] = ()
    head: _Piece | None = None
    body: list[_Piece] = field(default_factory=list[_Piece])


def split(document: ParsedDocument, limits: SplitLimits = _DEFAULTS) -> list[SourceSpan]:
    """Split a document into sources.

    The first span starts at `body`, each next one where the former ends, the last ends at len(text). Blank
    text belongs to the source before it. A blank document has no sources.
    """
    if is_blank(document.text, document.body, len(document.text)):
        return []
    sections = list(_sections(document, limits))
    sources = [(piece, section.path) for section in sections for piece in _join(section, limits)]
    if len(sources) > 1 and not sections[-1].body:  # the document ends with headings
        (before, _), (last, _) = sources[-2:]
        if before.size + last.size <= limits.split_above:
            before.take(last)
            sources.pop()
    spans = [SourceSpan(piece.start, piece.end, path) for piece, path in sources]
    # Give spans in which nothing can be seen to the one before, or to the next at the beginning
    kept: list[SourceSpan] = []
    start = document.body
    for span in spans:
        if not is_blank(document.text, span.start, span.end):
            kept.append(replace(span, start=start))
        elif kept:
            kept[-1] = replace(kept[-1], end=span.end)
        start = kept[-1].end if kept else document.body
    return kept


def blocks_of(document: ParsedDocument, spans: Sequence[SourceSpan]) -> list[tuple[SourceBlock, ...]]:
    """The blocks of each source; what is in no block belongs to the one before it, or to the first."""
    blocks = document.blocks or (Block("paragraph", 0, len(document.text)),)
    starts = [block.start for block in blocks]
    found: list[tuple[SourceBlock, ...]] = []
    for span in spans:
        first = max(bisect_right(starts, span.start) - 1, 0)
        within = blocks[first : bisect_left(starts, span.end)]
        found.append(tuple(SourceBlock(each.kind, max(each.start - span.start, 0)) for each in within))
    return found


def _sections(document: ParsedDocument, limits: SplitLimits) -> Iterator[_Section]:
    above: list[Block] = []
    section = _Section()
    for block, start, end in _extents(document):
        pieces = _pieces(document.text, block.kind, start, end, limits)
        if block.scope is not None:
            if section.body:
                yield section
            section = _Section(block.scope)
        if block.kind != "heading":
            section.body += pieces
            continue
        above = [*takewhile(lambda heading, level=block.level: heading.level < level, above), block]
        for piece in pieces:
            if section.body or (section.head and section.head.size + piece.size > limits.most):
                yield section
                section = _Section()
            section.path = tuple(heading.title for heading in above)
            if section.head:
                section.head.take(piece)
            else:
                section.head = piece
    yield section


def _extents(document: ParsedDocument) -> Iterator[tuple[Block, int, int]]:
    """Let the blocks take the blank text behind them, and the first the text before it, so that they tile."""
    text = document.text
    blocks = [block for block in document.blocks if not is_blank(text, block.start, block.end)]
    blocks = blocks or [Block("paragraph", document.body, len(text))]
    borders = [document.body, *(block.start for block in blocks[1:]), len(text)]
    return zip(blocks, borders[:-1], borders[1:], strict=True)


def _pieces(text: str, kind: BlockKind, start: int, end: int, limits: SplitLimits) -> list[_Piece]:
    size = words(text, start, end)
    above = limits.split_code_above if kind in _WHOLE else limits.split_above
    spans = [(start, end)]
    if size > above and kind != "image":
        levels = LINES if kind in _BY_LINES else prose_levels(text, start, end, size)
        spans = cut(text, (start, end), size, levels, above=above, most=limits.most)
    return [_Piece(kind, *span, words(text, *span), _leads(text, *span)) for span in spans]


def _leads(text: str, start: int, end: int) -> bool:
    return text[max(start, end - _TAIL) : end].rstrip().endswith((":", "："))


def _join(section: _Section, limits: SplitLimits) -> list[_Piece]:
    joined = section.body
    for rule in (_is_led, _belong_together, _is_rest):
        joined = _merge(joined, rule, limits)
    if section.head is None:
        return joined
    if not joined:
        return [section.head]
    section.head.take(joined[0])
    return [section.head, *joined[1:]]


def _merge(
    pieces: list[_Piece], together: Callable[[_Piece, _Piece, SplitLimits], bool], limits: SplitLimits
) -> list[_Piece]:
    merged: list[_Piece] = []
    for piece in pieces:
        apart = piece.kind == "image" or (merged and merged[-1].kind == "image")
        if merged and not apart and together(merged[-1], piece, limits):
            merged[-1].take(piece)
        else:
            merged.append(piece)
    return merged


def _is_led(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    """Whether the piece is what the former announces with a colon."""
    small, whole = former.size < limits.join_below, piece.kind in _WHOLE
    most = limits.split_code_above if small and whole else limits.split_above
    return former.leads and (small or whole) and former.size + piece.size <= most


def _belong_together(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    small = min(former.size, piece.size) < limits.join_below
    total = former.size + piece.size
    if piece.kind in _WHOLE:  # it explains what stands before it
        return total <= (limits.split_code_above if small else limits.most)
    if former.size >= limits.enough or not (small or piece.kind in _JOINED):
        return False
    return total <= (limits.split_above if small else limits.most)


def _is_rest(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    """Whether a piece has stayed small and the one before it has room."""
    return piece.size < limits.join_below and former.size + piece.size <= limits.split_above
