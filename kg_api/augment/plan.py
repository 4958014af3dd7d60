"""What a text is searched for by: its pieces, and perhaps the whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.augment.cut import Span, cut
from kg_api.augment.tokens import TokenCounter
from kg_api.chunk.divide import trim
from kg_api.errors import InvalidInput
from kg_api.ingest.conversation import consolidate
from kg_api.models.queries.augment import AugmentRequest
from kg_api.models.vocabulary import MAX_QUERY_CHARACTERS

MAX_PIECES = 64
"""Of a longer text so many that are spread evenly stand for it."""
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to search for: text[start:end] of the whole text."""

    number: int
    """From 1."""
    text: str
    start: int
    end: int
    tokens: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Pieces:
    pieces: list[Piece]
    left_out: int
    tokens: int
    """Of the whole text."""


def consolidate_request(request: AugmentRequest) -> tuple[str, tuple[str, ...]]:
    """The text of a request as Markdown, and notes that a person should see.

    Raises:
        InvalidInput: it does not hold a word.
    """
    if request.messages is not None:
        told = consolidate(request.messages)
        return told.text, told.notes
    text = request.text or ""
    if not _WORD.search(text):
        raise InvalidInput("text: it contains no word to search for")
    return text, ()


def pieces_of(text: str, request: AugmentRequest, counter: TokenCounter) -> Pieces:
    """Cut a text. No piece is longer than the model takes at once: it would be averaged, and find less."""
    tokens = counter.count(text)
    most = chunk_token_limit(request, counter)
    one = most if request.one_query_tokens is None else request.one_query_tokens
    only = trim(text, 0, len(text))
    if only and tokens <= one and len(text) <= MAX_QUERY_CHARACTERS:
        return Pieces([_piece(1, text, only, counter)], 0, tokens)
    overlap = request.overlap_tokens * most // request.chunk_tokens  # as much of a smaller piece
    spans = cut(text, counter.count, most, overlap)
    kept = _spread(spans)
    pieces = [_piece(number, text, span, counter) for number, span in enumerate(kept, start=1)]
    if request.whole and only and len(spans) > 1:
        pieces.append(Piece(len(pieces) + 1, text[slice(*only)], *only, tokens, whole=True))
    return Pieces(pieces, len(spans) - len(kept), tokens)


def chunk_token_limit(request: AugmentRequest, counter: TokenCounter) -> int:
    """Most tokens of a piece."""
    return request.chunk_tokens if counter.most is None else min(request.chunk_tokens, counter.most)


def _piece(number: int, text: str, span: Span, counter: TokenCounter) -> Piece:
    said = text[slice(*span)]
    return Piece(number, said, *span, counter.count(said))


def _spread(spans: Sequence[Span]) -> list[Span]:
    if len(spans) <= MAX_PIECES:
        return list(spans)
    step = (len(spans) - 1) / (MAX_PIECES - 1)
    return [spans[round(at * step)] for at in range(MAX_PIECES)]
