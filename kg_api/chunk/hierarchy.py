"""Small chunks that are found, inside large ones that are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kg_api.chunk.borders import clusters, find_words
from kg_api.chunk.divide import characters, divide, trim
from kg_api.chunk.spans import ChunkSpan, Paragraph, Span


def by_hierarchy(
    text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int, parent_size: int
) -> Iterator[ChunkSpan]:
    """Give children of at most `size` characters inside parents of at most `parent_size`.

    A parent is whole paragraphs where they fit. Each child but a parent's first begins as many whole words
    before the end of the former as `overlap` characters hold.
    """
    for start, end in _parents(text, paragraphs, parent_size):
        if parent := trim(text, start, end):
            for child in _children(text, parent, size, overlap):
                yield ChunkSpan(*child, parent)


def _children(text: str, parent: Span, size: int, overlap: int) -> Iterator[Span]:
    former = (parent[0], parent[0])
    for piece in divide(text, parent, characters, size - overlap):
        if core := trim(text, *piece):
            yield _earlier(text, former, core[0], overlap), core[1]
            former = core


def _parents(text: str, paragraphs: Iterable[Paragraph], most: int) -> Iterator[Span]:
    """Join paragraphs as long as they fit; cut those that do not fit alone."""
    begin = end = 0
    for paragraph in paragraphs:
        if end > begin and paragraph.end - begin > most:
            yield begin, end
            begin = end
        if paragraph.end - begin > most:
            yield from divide(text, (begin, paragraph.end), characters, most)
            begin = paragraph.end
        end = paragraph.end
    if end > begin:
        yield begin, end


def _earlier(text: str, former: Span, begin: int, overlap: int) -> int:
    """Where a child begins so that it repeats the end of the former one."""
    if not overlap:
        return begin
    low = max(former[0] + 1, begin - overlap)
    for start, end in find_words(text, former[0], begin):
        if start >= low:
            return start
        if end - low > overlap // 2:  # a long word, or a script without spaces: repeat its end
            return next((at for at, _ in clusters(text, start, end, 1) if at >= low), begin)
    return begin
