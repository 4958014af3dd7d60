"""Splitting of a text into chunks, by strategy. Offsets are code points, with exclusive ends."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import (
    ChunkSpan,
    Paragraph,
    SentenceVectors,
    Span,
    count_characters,
    divide,
    find_words,
    trim,
)
from kg_api.text.contexts import add_context
from kg_api.text.cutting import count_words, split_clusters
from kg_api.text.semantic import split_by_topic

# Strategy `count`: a fixed number of words

_LONG_WORD = 10  # characters per word in long words, as in `count_words`: a chunk has up to size times this
_KEPT_WHOLE = 4  # divisor of the chunk size: text without spaces stays whole up to this share


def split_by_count(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Split a text into chunks of `size` words (the last one may be shorter) that overlap by `overlap` words.

    For words of more than 10 characters or text without spaces, `words` determines the count, and the overlap
    consists of whole words.
    """
    coming = _split_words(text, size // _KEPT_WHOLE)
    ready = deque[Span]()
    fresh = 0  # atoms in `ready` that the last chunk had
    while _fill(ready, coming, size) > fresh:
        taken = _count_fitting(text, list(ready), size)
        yield ready[0][0], ready[taken - 1][1]
        fresh = _count_repeated(text, list(islice(ready, taken)), overlap)
        for _ in range(taken - fresh):
            ready.popleft()


def _split_words(text: str, whole: int) -> Iterator[Span]:
    """Yield the words, and pieces of words that count as more than `whole` words."""
    for start, end in find_words(text, 0, len(text)):
        if end - start <= 2 * whole or count_words(text, start, end) <= whole:
            yield start, end
        else:
            yield from split_clusters(text, start, end, whole)


def _fill(ready: deque[Span], coming: Iterator[Span], size: int) -> int:
    """Fill `ready` with more words than a chunk can hold, and return their number."""
    visible = sum(end - start for start, end in ready)
    while len(ready) <= size or visible <= size * _LONG_WORD:
        if (atom := next(coming, None)) is None:
            break
        ready.append(atom)
        visible += atom[1] - atom[0]
    return len(ready)


def _count_fitting(text: str, ready: list[Span], size: int) -> int:
    """Count leading words that fit in a chunk."""
    begin = ready[0][0]
    whole = len(ready) > size and text[ready[size][0] - 1].isspace()
    if whole and count_words(text, begin, ready[size - 1][1]) == size:
        return size  # the usual case, without a search
    return max(1, bisect_right(ready, size, key=lambda atom: count_words(text, begin, atom[1])))


def _count_repeated(text: str, chunk: list[Span], overlap: int) -> int:
    """Count final words of a chunk that the next chunk repeats."""
    if not overlap:
        return 0
    end = chunk[-1][1]
    return bisect_right(chunk[:0:-1], overlap, key=lambda atom: count_words(text, atom[0], end))


# Strategy `paragraph_group`: paragraphs of one section

SLACK = 1.2  # a section of up to this times the size stays one chunk


def split_by_group(text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int) -> Iterator[Span]:
    """Join the paragraphs of a section to chunks of at most `size` words.

    With `overlap`, a chunk starts with the last paragraph of the previous chunk, if both paragraphs fit and
    the previous chunk has several. A paragraph of more than 1.2 times the size is split, at sentences if
    possible.
    """
    for _, section in groupby(paragraphs, key=lambda paragraph: paragraph.heading):
        yield from _chunk_section(_split_parts(text, section, round(size * SLACK)), size, overlap)


def _split_parts(text: str, section: Iterator[Paragraph], most: int) -> list[tuple[Span, int]]:
    """Return the visible paragraphs and the pieces of long ones, with their word counts."""
    pieces = (piece for each in section for piece in divide(text, (each.start, each.end), count_words, most))
    seen = filter(None, (trim(text, *piece) for piece in pieces))
    return [(piece, count_words(text, *piece)) for piece in seen]


def _chunk_section(parts: list[tuple[Span, int]], size: int, overlap: int) -> Iterator[Span]:
    most = round(size * SLACK)
    if not parts:
        return
    (start, _), (_, end) = parts[0][0], parts[-1][0]
    if sum(part for _, part in parts) <= most:
        yield start, end
        return
    first, filled = 0, 0
    for at, (_, part) in enumerate(parts):
        if at > first and filled + part > size:
            yield parts[first][0][0], parts[at - 1][0][1]
            repeat = overlap and at - first > 1 and parts[at - 1][1] + part <= most
            first = at - 1 if repeat else at
            filled = parts[first][1] if repeat else 0
        filled += part
    yield parts[first][0][0], end


# Strategy `hierarchical`: small chunks for search inside large chunks for reading


def split_by_hierarchy(
    text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int, parent_size: int
) -> Iterator[ChunkSpan]:
    """Yield children of at most `size` characters inside parents of at most `parent_size` characters.

    A parent consists of whole paragraphs if they fit. Every child of a parent except the first repeats as
    many whole words of the previous child as fit into `overlap` characters.
    """
    for start, end in _build_parents(text, paragraphs, parent_size):
        if parent := trim(text, start, end):
            for child in _build_children(text, parent, size, overlap):
                yield ChunkSpan(*child, parent)


def _build_children(text: str, parent: Span, size: int, overlap: int) -> Iterator[Span]:
    former = (parent[0], parent[0])
    for piece in divide(text, parent, count_characters, size - overlap):
        if core := trim(text, *piece):
            yield _find_overlap_start(text, former, core[0], overlap), core[1]
            former = core


def _build_parents(text: str, paragraphs: Iterable[Paragraph], most: int) -> Iterator[Span]:
    """Join paragraphs up to the limit, and split longer ones."""
    begin = end = 0
    for paragraph in paragraphs:
        if end > begin and paragraph.end - begin > most:
            yield begin, end
            begin = end
        if paragraph.end - begin > most:
            yield from divide(text, (begin, paragraph.end), count_characters, most)
            begin = paragraph.end
        end = paragraph.end
    if end > begin:
        yield begin, end


def _find_overlap_start(text: str, former: Span, begin: int, overlap: int) -> int:
    """Return the start of a child that repeats the end of the previous child."""
    if not overlap:
        return begin
    low = max(former[0] + 1, begin - overlap)
    for start, end in find_words(text, former[0], begin):
        if start >= low:
            return start
        if end - low > overlap // 2:  # a long word, or a script without spaces: repeat its end
            return next((at for at, _ in split_clusters(text, start, end, 1) if at >= low), begin)
    return begin


# Chunks within the model's limit

SpansOf = Callable[[str, str], Sequence[Span]]
"""`Embedder.spans`: splits a text so that each piece fits into the model with another text in front."""


def fit_chunks(
    text: str, spans: Sequence[ChunkSpan], spans_of: SpansOf, before: Callable[[ChunkSpan], str]
) -> list[ChunkSpan]:
    """Split the chunks that exceed the model's limit with their context. No text is lost.

    `before` returns the context of a chunk or a piece. Pieces keep the parent of their chunk.
    """
    fitting: list[ChunkSpan] = []
    todo = list(reversed(spans))
    while todo:
        span = todo.pop()
        found = spans_of(text[span.start : span.end], add_context(before(span), ""))
        places = (trim(text, span.start + start, span.start + end) for start, end in found)
        pieces = [ChunkSpan(*place, span.parent) for place in places if place]
        if len(pieces) > 1:  # check again, because a piece can have a longer context than the whole chunk
            todo += reversed(pieces)
        else:
            fitting += pieces
    return fitting


CHUNKER_VERSION = "1"  # change with the chunks of a text or their context lines


def split_to_chunks(
    text: str,
    paragraphs: Sequence[Paragraph],
    chunking: Chunking,
    sentence_vectors: SentenceVectors | None = None,
) -> list[ChunkSpan]:
    """Split a text into chunks, which together contain every visible character.

    Chunks have no whitespace at their ends, and overlap only if `chunking` asks for it. The strategy
    `semantic` needs `sentence_vectors`.
    """
    if chunking.strategy == "hierarchical":
        size, overlap, parent_size = chunking.size, chunking.overlap or 0, chunking.parent_size or 0
        return list(split_by_hierarchy(text, paragraphs, size, overlap, parent_size))
    spans = (trim(text, *span) for span in _select_strategy(text, paragraphs, chunking, sentence_vectors))
    return [ChunkSpan(*span) for span in spans if span]


def _select_strategy(
    text: str, paragraphs: Sequence[Paragraph], chunking: Chunking, sentence_vectors: SentenceVectors | None
) -> Iterable[Span]:
    size, overlap = chunking.size, chunking.overlap or 0
    match chunking.strategy:
        case "count":
            return split_by_count(text, size, overlap)
        case "paragraph_group":
            return split_by_group(text, paragraphs, size, overlap)
        case "semantic":
            if sentence_vectors is None:
                raise ValueError("semantic chunking needs sentence vectors: pass sentence_vectors")
            return split_by_topic(text, paragraphs, size, sentence_vectors)
        case _:
            return chain.from_iterable(
                divide(text, (each.start, each.end), count_words, size) for each in paragraphs
            )
