"""Augmentation: a long text or a conversation, and the passages that go with it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kg_api.models.base import Answer, Body, Flag, Text
from kg_api.models.library.conversations import Messages
from kg_api.models.queries.fields import DocumentNames, Limit, Ontologies, Share, Similarity, TokenBudget
from kg_api.models.queries.filters import Where
from kg_api.models.queries.places import DescribedPlace, WordMatch
from kg_api.models.vocabulary import (
    MAX_PER_PIECE,
    MAX_PIECE,
    MAX_PIECE_OVERLAP,
    MIN_PIECE,
    SearchMode,
)

MAX_TEXT_CHARACTERS = 1_000_000

ThresholdSource = Literal["request", "model", "default", "none"]


class AugmentRequest(Body):
    """A text or a conversation that passages are wanted for."""

    text: Annotated[Text, StringConstraints(max_length=MAX_TEXT_CHARACTERS)] | None = None
    """Plain text or Markdown; this, or `messages`."""
    messages: Messages | None = None
    """A conversation; it is made one Markdown text, as if it were ingested."""
    ontology: Ontologies | None = None
    """Search only these; unset or null: all."""
    documents: DocumentNames | None = None
    """Search only these documents: by name, `ONTOLOGY/NAME` or id; unset or null: all."""
    where: Where | None = None
    """Only documents for which all these hold; a text is read as one: `date>=2025-01-01`, `tags=oncall`."""
    mode: SearchMode = "hybrid"
    """How each piece is searched; as of a search."""
    chunk_tokens: Annotated[int, Field(strict=True, ge=MIN_PIECE, le=MAX_PIECE)] = 1800
    """Most tokens of a piece, by the tokenizer of the space's model; never more than it takes at once."""
    overlap_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_PIECE_OVERLAP)] = 150
    """At most so many tokens at the end of a piece stand at the beginning of the next one too; fewer, by the
    same share, where the model takes less at once than `chunk_tokens`."""
    one_query_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_PIECE)] | None = None
    """A text of at most so many tokens is searched for as one; unset: as many as a piece has."""
    whole: Flag = False
    """Search for the whole text too, besides its pieces."""
    per_piece: Annotated[int, Field(strict=True, ge=1, le=MAX_PER_PIECE)] = 5
    """The best so many of each piece are looked at."""
    min_similarity: Similarity | None = None
    """Leave out what is less similar to its piece, before the best are taken. Unset: what was measured for
    the space's model, 0.7 where nothing was; the answer says which. While the text cannot be embedded nothing
    passes a number that is given here; without one, what words find is given. Not for mode `text`."""
    per_document: Limit | None = 1
    """At most so many passages of one document; null: any number."""
    limit: Limit = 5
    """Most passages in all."""
    mmr_lambda: Share | None = None
    """Order each piece's hits for diversity: 1 is relevance alone, 0 difference alone."""
    deduplicate: Flag = False
    """Give passages that say almost the same once; the record names the others."""
    exact: Flag = False
    """Compare with every vector, instead of asking the approximate index."""
    token_budget: TokenBudget | None = None
    """Most tokens of the context block; the best passages come first, and what does not fit is counted."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are searched; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> AugmentRequest:
        if (self.text is None) == (self.messages is None):
            raise ValueError("give text or messages, one of the two")
        if self.mode == "text" and self.min_similarity is not None:
            raise ValueError("min_similarity needs vectors, and mode 'text' searches without; leave one out")
        if self.overlap_tokens * 2 > self.chunk_tokens:
            raise ValueError("overlap_tokens is more than half of chunk_tokens")
        return self


class AugmentPiece(Answer):
    """A piece of the text that was searched for."""

    number: int
    """From 1."""
    whole: bool
    """Whether it is the whole text."""
    start: int
    """Its first code point in the text; in that of a conversation as its ingestion would make it."""
    end: int
    tokens: int
    hits: int
    """Passages that its search gave, similar enough ones only."""


class AugmentRecord(DescribedPlace):
    """A passage for the context, and how it was found."""

    citation: str
    """`source_id#start-end`: the source, and the code points of the document that `text` is."""
    text: str
    """What stands in the context: the source, or with strategy `hierarchical` the larger part to read."""
    similarity: float | None
    """Cosine of the passage and the piece that is nearest to it; none without a vector."""
    space: str | None
    """The embedding space of the similarity."""
    rank: int
    """Its best place among the hits of a piece, from 1."""
    pieces: list[int]
    """Numbers of the pieces that found it, the nearest first."""
    tokens: int
    """Of its part of the context."""
    matches: list[WordMatch] = Field(default_factory=list[WordMatch])
    """Where words of the piece that is nearest stand in `full_text`, as in a search's hit."""
    duplicates: list[str] = Field(default_factory=list[str])
    """Sources that say almost the same and were left out for it."""


class AugmentCounts(Answer):
    """How many were left after each step, and how many were not and why.

    candidates = below_similarity + without_vector + beyond_per_piece + found_again + duplicates +
    beyond_per_document + beyond_limit + beyond_budget + records.
    """

    characters: int
    """Of the text, made Markdown."""
    tokens: int
    """Of the text, as the space's model counts them; see `tokens_estimated`."""
    pieces: int
    """All that was searched for, the whole text too."""
    pieces_left_out: int
    """Pieces of a very long text that were not searched for."""
    searches: int
    candidates: int
    """All that the searches looked at."""
    below_similarity: int
    """Left out by the searches before they took their best, as what has no vector."""
    without_vector: int
    """Found by words only, for they are not embedded yet, or the piece could not be while `min_similarity`
    was asked for: whether they are similar enough is not known."""
    beyond_per_piece: int
    found_again: int
    """Hits of a passage that another piece found too."""
    duplicates: int
    beyond_per_document: int
    beyond_limit: int
    beyond_budget: int
    records: int


class Threshold(Answer):
    """The least similarity in one space."""

    space: str
    min_similarity: float | None
    """None: nothing was left out for it."""
    source: ThresholdSource
    """`request`: asked for; `model`: measured for the space's model; `default`: nothing is known of it."""


class AugmentDegradation(Answer):
    """Something that could not be done, and what was done instead."""

    part: str
    effect: str
    """Where pieces differ in numbers only, as it was for the first of them."""
    pieces: list[int]
    """Numbers of the pieces it happened to; none: it concerns the whole."""


class Augmented(Answer):
    """The passages that go with a text."""

    context: str
    """Ready Markdown: each passage as a quotation below its place and citation. Empty when there are none."""
    context_tokens: int
    tokens_estimated: bool
    """Whether tokens are estimated from words, for the model's tokenizer was not at hand."""
    records: list[AugmentRecord]
    """The passages of the context in its order, the best first."""
    order: Literal["similarity", "rank"]
    """What the passages are ordered by: ranks where similarities are missing, of several spaces, or not the
    aim (`mmr_lambda`)."""
    thresholds: list[Threshold]
    pieces: list[AugmentPiece]
    counts: AugmentCounts
    notes: list[str]
    """What a person should know, such as blank messages that were left out."""
    degraded: list[AugmentDegradation]
    timings_ms: dict[str, float]
