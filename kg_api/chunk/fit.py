"""Chunks that the model takes whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kg_api.chunk.context import contextual
from kg_api.chunk.divide import trim
from kg_api.chunk.spans import ChunkSpan, Span

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

    Raises:
        InvalidInput: a context leaves no room for text.
    """
    fitting: list[ChunkSpan] = []
    todo = list(reversed(spans))
    while todo:
        span = todo.pop()
        pieces = _pieces(text, span, spans_of(text[span.start : span.end], contextual(before(span), "")))
        if len(pieces) > 1:  # a piece can have a longer context than the whole, so it is looked at again
            todo += reversed(pieces)
        else:
            fitting += pieces
    return fitting


def _pieces(text: str, span: ChunkSpan, found: Sequence[Span]) -> list[ChunkSpan]:
    places = (trim(text, span.start + start, span.start + end) for start, end in found)
    return [ChunkSpan(*place, span.parent) for place in places if place]
