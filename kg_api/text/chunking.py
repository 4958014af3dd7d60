"""From a text and its sources to its chunks, by strategy. Offsets are code points, the end excluded."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice

from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import (
    ChunkSpan,
    Paragraph,
    SentenceVectors,
    Span,
    characters,
    clusters,
    divide,
    find_words,
    trim,
)
from kg_api.text.contexts import contextual
from kg_api.text.cutting import words
from kg_api.text.semantic import by_meaning

# A fixed number of words a chunk, whatever they say.

_LONG_WORD = 10  # characters that `words` counts as one more word: no chunk has more than size times this
_KEPT_WHOLE = 4  # what is written without spaces is kept whole up to this share of a chunk


def by_count(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Cut a text into chunks of exactly `size` words, the last one less; each begins `overlap` words early.

    Where words are longer than ten characters, or no spaces come between them, a chunk has as many as `words`
    counts for `size`, and the overlap is as much as whole words allow.
    """
    coming = _words(text, size // _KEPT_WHOLE)
    ready = deque[Span]()
    fresh = 0  # atoms in `ready` that the last chunk had
    while _fill(ready, coming, size) > fresh:
        taken = _fitting(text, list(ready), size)
        yield ready[0][0], ready[taken - 1][1]
        fresh = _count_repeated(text, list(islice(ready, taken)), overlap)
        for _ in range(taken - fresh):
            ready.popleft()


def _words(text: str, whole: int) -> Iterator[Span]:
    """The words, and pieces of what counts for more than `whole` words."""
    for start, end in find_words(text, 0, len(text)):
        if end - start <= 2 * whole or words(text, start, end) <= whole:
            yield start, end
        else:
            yield from clusters(text, start, end, whole)


def _fill(ready: deque[Span], coming: Iterator[Span], size: int) -> int:
    """Let so many words come that a chunk cannot have more; give their number."""
    visible = sum(end - start for start, end in ready)
    while len(ready) <= size or visible <= size * _LONG_WORD:
        if (atom := next(coming, None)) is None:
            break
        ready.append(atom)
        visible += atom[1] - atom[0]
    return len(ready)


def _fitting(text: str, ready: list[Span], size: int) -> int:
    """How many of the first words make a chunk."""
    begin = ready[0][0]
    whole = len(ready) > size and text[ready[size][0] - 1].isspace()
    if whole and words(text, begin, ready[size - 1][1]) == size:
        return size  # the usual case, without a search
    return max(1, bisect_right(ready, size, key=lambda atom: words(text, begin, atom[1])))


def _count_repeated(text: str, chunk: list[Span], overlap: int) -> int:
    """How many of a chunk's last words the next one begins with."""
    if not overlap:
        return 0
    end = chunk[-1][1]
    return bisect_right(chunk[:0:-1], overlap, key=lambda atom: words(text, atom[0], end))


# Paragraphs of one section, together.

SLACK = 1.2  # a section of up to this times the size stays one chunk, and so much has room where it must


def by_group(text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int) -> Iterator[Span]:
    """Join the paragraphs of a section to chunks of at most `size` words.

    With `overlap` the last paragraph of several is the first of the next chunk too, where it has room with
    the paragraph that follows. A paragraph of more than 1.2 times the size is cut, at sentences.
    """
    for _, section in groupby(paragraphs, key=lambda paragraph: paragraph.heading):
        yield from _section(_parts(text, section, round(size * SLACK)), size, overlap)


def _parts(text: str, section: Iterator[Paragraph], most: int) -> list[tuple[Span, int]]:
    """Paragraphs and pieces of long ones, with their words; nothing blank."""
    pieces = (piece for each in section for piece in divide(text, (each.start, each.end), words, most))
    seen = filter(None, (trim(text, *piece) for piece in pieces))
    return [(piece, words(text, *piece)) for piece in seen]


def _section(parts: list[tuple[Span, int]], size: int, overlap: int) -> Iterator[Span]:
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


# Small chunks that are found, inside large ones that are read.


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


# Chunks that the model takes whole.

SpansOf = Callable[[str, str], Sequence[Span]]
"""`Embedder.spans`: cuts a text so that its pieces fit the model with another text in front of each."""


def fit_chunks(
    text: str, spans: Sequence[ChunkSpan], spans_of: SpansOf, before: Callable[[ChunkSpan], str]
) -> list[ChunkSpan]:
    """Cut the chunks that are over the model's limit with their context in front; nothing is left out.

    Args:
        text: the whole text.
        spans: its chunks.
        spans_of: the embedder's `spans`.
        before: gives the context of a chunk, or of a piece of one; it is put in front by `contextual`.

    Returns:
        Chunks that fit, in order; pieces keep the parent of their chunk.
    """
    fitting: list[ChunkSpan] = []
    todo = list(reversed(spans))
    while todo:
        span = todo.pop()
        found = spans_of(text[span.start : span.end], contextual(before(span), ""))
        places = (trim(text, span.start + start, span.start + end) for start, end in found)
        pieces = [ChunkSpan(*place, span.parent) for place in places if place]
        if len(pieces) > 1:  # a piece can have a longer context than the whole, so it is looked at again
            todo += reversed(pieces)
        else:
            fitting += pieces
    return fitting


CHUNKER_VERSION = "1"  # another version means other chunks from the same text, or other lines before them


def chunk(
    text: str,
    paragraphs: Sequence[Paragraph],
    chunking: Chunking,
    sentence_vectors: SentenceVectors | None = None,
) -> list[ChunkSpan]:
    """Cut a text into chunks.

    Args:
        text: the whole text.
        paragraphs: its sources; they join to it.
        chunking: strategy and sizes.
        sentence_vectors: finds where the meaning moves; for `semantic` only.

    Returns:
        Chunks in order, without white space at their ends. Together they hold every visible character. They
        overlap only where that is asked for.
    """
    if chunking.strategy == "hierarchical":
        size, overlap, parent_size = chunking.size, chunking.overlap or 0, chunking.parent_size or 0
        return list(by_hierarchy(text, paragraphs, size, overlap, parent_size))
    spans = (trim(text, *span) for span in _spans(text, paragraphs, chunking, sentence_vectors))
    return [ChunkSpan(*span) for span in spans if span]


def _spans(
    text: str, paragraphs: Sequence[Paragraph], chunking: Chunking, sentence_vectors: SentenceVectors | None
) -> Iterable[Span]:
    size, overlap = chunking.size, chunking.overlap or 0
    match chunking.strategy:
        case "count":
            return by_count(text, size, overlap)
        case "paragraph_group":
            return by_group(text, paragraphs, size, overlap)
        case "semantic":
            if sentence_vectors is None:
                raise ValueError("semantic chunking needs sentence vectors: pass sentence_vectors")
            return by_meaning(text, paragraphs, size, sentence_vectors)
        case _:
            return _within(text, paragraphs, size)


def _within(text: str, paragraphs: Iterable[Paragraph], size: int) -> Iterator[Span]:
    """Each paragraph alone, cut between sentences where it is longer than `size` words."""
    for each in paragraphs:
        yield from divide(text, (each.start, each.end), words, size)
