"""Splitting of a parsed document into sources: spans in reading order that cover the whole text.

kg decides within each section which paragraphs to join, so an edit changes no boundary outside its section.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from kg_api.schemas.documents import Block, BlockKind, ParsedDocument, SourceBlock, SourceSpan
from kg_api.text.cutting import LINES, build_prose_levels, count_words, cut
from kg_api.text.lines import is_blank


@dataclass(frozen=True, slots=True)
class SplitLimits:
    """Sizes of sources in words, as counted by `count_words`."""

    join_below: int = 40
    """Join smaller pieces, and list items of any size, with their neighbors in the section."""
    enough: int = 100  # size at which joining ends
    most: int = 200  # maximum size of joined and of split pieces
    split_above: int = 250  # size above which kg splits a paragraph
    split_code_above: int = 400  # limit for code and tables, which lose more by a split than prose


SPLITTER_VERSION = "3"  # part of a document's hash, to change with the sources of a text
_DEFAULTS = SplitLimits()
_TAIL = 100  # characters to search for the end of a piece before trailing whitespace
_WHOLE: frozenset[BlockKind] = frozenset({"code", "program", "table"})
_BY_LINES: frozenset[BlockKind] = frozenset({"code", "program", "table", "markup", "other"})
_JOINED: frozenset[BlockKind] = frozenset({"list_item", "code", "program", "table", "markup", "other"})
"""Kinds that kg joins with their neighbors regardless of size."""


@dataclass(slots=True)
class _Piece:
    """text[start:end]: a block, a part of a long block, or several joined blocks."""

    kind: BlockKind
    start: int
    end: int
    size: int
    leads: bool = False  # ends with a colon, so the next piece belongs to this one

    def take(self, other: _Piece) -> None:
        self.kind, self.end, self.leads = other.kind, other.end, other.leads
        self.size += other.size


@dataclass(slots=True)
class _Section:
    """Consecutive headings as one piece, and the content below the last one."""

    path: tuple[str, ...] = ()
    head: _Piece | None = None
    body: list[_Piece] = field(default_factory=list[_Piece])


def split(document: ParsedDocument, limits: SplitLimits = _DEFAULTS) -> list[SourceSpan]:
    """Split a document into sources.

    The sources cover the text from `body` to its end without gaps. Blank text belongs to the previous source.
    A blank document has no sources.
    """
    if is_blank(document.text, document.body, len(document.text)):
        return []
    sections = list(_split_sections(document, limits))
    sources = [(piece, section.path) for section in sections for piece in _join(section, limits)]
    if len(sources) > 1 and not sections[-1].body:  # the document ends with headings
        (before, _), (last, _) = sources[-2:]
        if before.size + last.size <= limits.split_above:
            before.take(last)
            sources.pop()
    spans = [SourceSpan(piece.start, piece.end, path) for piece, path in sources]
    # Add blank spans to the previous span, or at the beginning to the next one.
    kept: list[SourceSpan] = []
    start = document.body
    for span in spans:
        if not is_blank(document.text, span.start, span.end):
            kept.append(replace(span, start=start))
        elif kept:
            kept[-1] = replace(kept[-1], end=span.end)
        start = kept[-1].end if kept else document.body
    return kept


def assign_blocks(document: ParsedDocument, spans: Sequence[SourceSpan]) -> list[tuple[SourceBlock, ...]]:
    """Return the blocks of each source. Text outside blocks belongs to the previous or the first block."""
    blocks = document.blocks or (Block("paragraph", 0, len(document.text)),)
    starts = [block.start for block in blocks]
    found: list[tuple[SourceBlock, ...]] = []
    for span in spans:
        first = max(bisect_right(starts, span.start) - 1, 0)
        within = blocks[first : bisect_left(starts, span.end)]
        found.append(tuple(SourceBlock(each.kind, max(each.start - span.start, 0)) for each in within))
    return found


def _split_sections(document: ParsedDocument, limits: SplitLimits) -> Iterator[_Section]:
    above: list[Block] = []
    section = _Section()
    for block, start, end in _find_extents(document):
        pieces = _split_pieces(document.text, block.kind, start, end, limits)
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
            section.path = tuple(heading.title for heading in above if heading.title)
            if section.head:
                section.head.take(piece)
            else:
                section.head = piece
    yield section


def _find_extents(document: ParsedDocument) -> Iterator[tuple[Block, int, int]]:
    """Extend each block by the following blank text, and the first one to the start, to cover the text."""
    text = document.text
    blocks = [block for block in document.blocks if not is_blank(text, block.start, block.end)]
    blocks = blocks or [Block("paragraph", document.body, len(text))]
    borders = [document.body, *(block.start for block in blocks[1:]), len(text)]
    return zip(blocks, borders[:-1], borders[1:], strict=True)


def _split_pieces(text: str, kind: BlockKind, start: int, end: int, limits: SplitLimits) -> list[_Piece]:
    size = count_words(text, start, end)
    above = limits.split_code_above if kind in _WHOLE else limits.split_above
    spans = [(start, end)]
    if size > above and kind != "image":
        levels = LINES if kind in _BY_LINES else build_prose_levels(text, start, end, size)
        spans = cut(text, (start, end), size, levels, above=above, most=limits.most)
    return [
        _Piece(
            kind, *span, count_words(text, *span), text[slice(*span)][-_TAIL:].rstrip().endswith((":", "："))
        )
        for span in spans
    ]


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
    """Check if the previous piece introduces this piece with a colon."""
    small, whole = former.size < limits.join_below, piece.kind in _WHOLE
    most = limits.split_code_above if small and whole else limits.split_above
    return former.leads and (small or whole) and former.size + piece.size <= most


def _belong_together(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    small = min(former.size, piece.size) < limits.join_below
    total = former.size + piece.size
    if piece.kind in _WHOLE:  # code and tables illustrate the text before them
        return total <= (limits.split_code_above if small else limits.most)
    if former.size >= limits.enough or not (small or piece.kind in _JOINED):
        return False
    return total <= (limits.split_above if small else limits.most)


def _is_rest(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    """Check if a piece is still small and fits into the previous one."""
    return piece.size < limits.join_below and former.size + piece.size <= limits.split_above
