"""What is around the chunks of a passage when they are embedded in context mode `late`."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.chunk.spans import ChunkSpan, Paragraph
from kg_api.chunk.windows import Room, windows
from kg_api.embed.port import Embedder, TextPart


def parts(
    text: str,
    paragraphs: Sequence[Paragraph],
    spans: Sequence[ChunkSpan],
    befores: Sequence[str],
    embedder: Embedder,
) -> list[TextPart]:
    """Each chunk as a part of its window.

    Args:
        text: the whole text.
        paragraphs: its sources.
        spans: its chunks, in order; the model takes each of them.
        befores: what stands in front of each when it is read by itself.
        embedder: the space's model.
    """
    found = windows(text, spans, paragraphs, room_of(embedder))
    texts = {window: text[slice(*window)] for window in found}  # one for all chunks of a window
    return [
        TextPart(texts[window], span.start - window[0], span.end - window[0], before)
        for span, before, window in zip(spans, befores, found, strict=True)
    ]


def room_of(embedder: Embedder) -> Room:
    """How much a model reads at once."""
    around = embedder.count_tokens([""])  # prefix and special tokens
    return Room(
        tokens=lambda text: embedder.count_tokens([text]) - around,
        most=embedder.identity.max_tokens - around,
        fits=lambda text: len(embedder.spans(text)) == 1,
    )
