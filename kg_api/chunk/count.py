"""A fixed number of words a chunk, whatever they say."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import islice

from kg_api.chunk.borders import clusters, find_words
from kg_api.chunk.spans import Span
from kg_api.parse.size import words

_LONG_WORD = 10
"""Characters that `words` counts as one more word: no chunk has more than size times this."""
_KEPT_WHOLE = 4
"""What is written without spaces is kept whole up to this share of a chunk."""


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
