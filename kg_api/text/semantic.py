"""Chunking strategy `semantic`: chunks that end where the topic changes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.text.borders import Paragraph, SentenceVectors, Span, divide, split_sentences, trim
from kg_api.text.cutting import count_words

BUFFER = 1  # sentences on each side of a boundary in the comparison of mean vectors
PERCENTILE = 80  # percentile of the distances in a text above which the topic changes
_MIN_SIZE_DIVISOR = 4  # a topic change ends a chunk only if it has the size divided by this
_BATCH = 2048  # sentences to embed at once, because a large text needs too much memory


def split_by_topic(
    text: str, paragraphs: Sequence[Paragraph], size: int, sentence_vectors: SentenceVectors
) -> Iterator[Span]:
    """Split a text between sentences, where the topic changes or where a chunk would exceed `size` words."""
    # Start and end of each sentence, or of the pieces of a sentence with more than `size` words
    bounds = array("Q")
    for each in paragraphs:
        for sentence in split_sentences(text, each.start, each.end):
            for piece in divide(text, sentence, count_words, size):
                bounds.extend(trim(text, *piece) or ())
    moves = compute_distances(text, bounds, sentence_vectors)
    threshold = float(np.percentile(moves, PERCENTILE)) if len(moves) else 0.0
    lengths = array("Q", (count_words(text, *place) for place in group_pairs(bounds)))
    first, filled = 0, 0
    for at, length in enumerate(lengths):
        while filled + length > size:  # no single sentence is longer
            cut = _find_farthest(moves, lengths, first, at)
            yield bounds[2 * first], bounds[2 * cut - 1]
            first, filled = cut, sum(lengths[cut:at])
        if filled * _MIN_SIZE_DIVISOR >= size and moves[at - 1] > threshold:
            yield bounds[2 * first], bounds[2 * at - 1]
            first, filled = at, 0
        filled += length
    if bounds:
        yield bounds[2 * first], bounds[-1]


def compute_distances(
    text: str, places: Sequence[int], sentence_vectors: SentenceVectors
) -> NDArray[np.float32]:
    """Return 1 - cosine of the mean vectors before and after each sentence boundary, shape (sentences - 1,).

    `places` has start and end of each sentence in a flat sequence.
    """
    count = len(places) // 2
    found = np.zeros(max(0, count - 1), dtype=np.float32)
    for begin in range(0, count - 1, _BATCH):
        low, high = max(0, begin + 1 - BUFFER), min(count, begin + _BATCH + BUFFER)
        vectors = sentence_vectors(
            [text[start:end] for start, end in group_pairs(places[2 * low : 2 * high])]
        )
        borders = np.arange(begin + 1, min(begin + 1 + _BATCH, count)) - low
        # Distance at borders[i], the boundary before sentence i
        sums = np.vstack([np.zeros_like(vectors[:1]), np.cumsum(vectors, axis=0)])
        before = sums[borders] - sums[np.maximum(borders - BUFFER, 0)]
        after = sums[np.minimum(borders + BUFFER, len(vectors))] - sums[borders]
        lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        found[begin : begin + _BATCH] = 1 - np.einsum("ij,ij->i", before, after) / np.maximum(
            lengths, np.finfo(np.float32).tiny
        )
    return found


def group_pairs(places: Sequence[int]) -> Iterator[Span]:
    """Group a flat sequence into (start, end) pairs."""
    return zip(places[::2], places[1::2], strict=True)


def _find_farthest(moves: NDArray[np.float32], lengths: Sequence[int], first: int, at: int) -> int:
    """Return the boundary with the largest distance in the second half of a chunk that is too long."""
    half = sum(lengths[first:at]) / 2
    low, filled = first, 0
    while low < at - 1 and filled < half:
        filled += lengths[low]
        low += 1
    low = max(low, first + 1)
    return low + int(np.argmax(moves[low - 1 : at]))
