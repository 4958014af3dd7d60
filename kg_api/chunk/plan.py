"""From a text and its sources to its chunks, by any strategy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kg_api.chunk.count import by_count
from kg_api.chunk.divide import divide, trim
from kg_api.chunk.groups import by_group
from kg_api.chunk.hierarchy import by_hierarchy
from kg_api.chunk.semantic import by_meaning
from kg_api.chunk.spans import ChunkSpan, Paragraph, SentenceVectors, Span
from kg_api.models.embedding.chunking import Chunking
from kg_api.parse.size import words

CHUNKER_VERSION = "1"
"""Another version means other chunks from the same text, or other lines before them."""


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

    Raises:
        ValueError: `semantic` without `sentence_vectors`.
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
