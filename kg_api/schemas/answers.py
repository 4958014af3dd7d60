"""Augmentation, answers of a language model, and hybrid searches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Flag, Text
from kg_api.schemas.concepts import ConceptHit
from kg_api.schemas.documents import Messages
from kg_api.schemas.filters import (
    HitsCursor,
    Hypothetical,
    Kinds,
    Limit,
    Narrowed,
    QueryText,
    Share,
    Similarity,
    TokenBudget,
    Window,
)
from kg_api.schemas.search import (
    ContextWindow,
    Degradation,
    DescribedPlace,
    Respelling,
    SourceHit,
    SourcePlace,
    WordMatch,
)
from kg_api.schemas.vocabulary import (
    DEFAULT_WINDOW,
    MAX_ANSWER_PASSAGES,
    MAX_LIMIT,
    MAX_PER_PIECE,
    MAX_PIECE,
    MAX_PIECE_OVERLAP,
    MAX_TOKEN_BUDGET,
    MIN_ANSWER_TOKENS,
    MIN_PIECE,
    HybridMode,
    SearchMode,
)

MAX_TEXT_CHARACTERS = 1_000_000

ThresholdSource = Literal["request", "model", "default", "none"]


class AugmentRequest(Narrowed):
    text: Annotated[Text, StringConstraints(max_length=MAX_TEXT_CHARACTERS)] | None = None
    """Plain text or Markdown. Set either `text` or `messages`."""
    messages: Messages | None = None
    mode: SearchMode = "hybrid"
    chunk_tokens: Annotated[int, Field(strict=True, ge=MIN_PIECE, le=MAX_PIECE)] = 1800
    """Maximum number of tokens of a piece. The input limit of the space's model also applies."""
    overlap_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_PIECE_OVERLAP)] = 150
    """Maximum number of tokens that two consecutive pieces share. kg lowers it by the same factor as
    `chunk_tokens` if the model's input limit is lower."""
    one_query_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_PIECE)] | None = None
    """Maximum number of tokens of a text that kg searches as one query. Default: the size of a piece."""
    whole: Flag = False
    per_piece: Annotated[int, Field(strict=True, ge=1, le=MAX_PER_PIECE)] = 5
    min_similarity: Similarity | None = None
    """Minimum cosine similarity of a passage and its piece. Default: calibrated for the model, or 0.7.
    `thresholds` returns the value. If the text cannot be embedded, a minimum in the request excludes every
    passage, and the default keeps full-text results. Not for mode `text`."""
    per_document: Limit | None = 1
    """Maximum number of passages per document. Null: no limit."""
    limit: Limit = 5
    mmr_lambda: Share | None = None
    """Diversity of the results of each piece: 1 ranks by relevance only, 0 by diversity only."""
    deduplicate: Flag = False
    exact: Flag = False
    """Compare with every vector instead of the approximate index."""
    token_budget: TokenBudget | None = None
    """Maximum number of tokens of the context block. The best passages come first. kg counts the others."""

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> AugmentRequest:
        if (self.text is None) == (self.messages is None):
            raise ValueError("give text or messages, one of the two")
        if self.mode == "text" and self.min_similarity is not None:
            raise ValueError(
                "min_similarity needs vectors, but mode 'text' searches without them. Omit one of the two"
            )
        if self.overlap_tokens * 2 > self.chunk_tokens:
            raise ValueError("overlap_tokens is more than half of chunk_tokens")
        return self


class AugmentPiece(Answer):
    number: int
    whole: bool
    start: int
    """First code point in the text, or in the document that `POST /documents/conversation` would store."""
    end: int
    tokens: int
    hits: int


class AugmentRecord(DescribedPlace):
    citation: str
    """`source_id#start-end`: the source, and the code points of `text` in the document."""
    text: str
    """Text in the context: the source, or the larger chunk for the strategy `hierarchical`."""
    similarity: float | None
    """Cosine similarity of the passage and its nearest piece. Null without a vector."""
    space: str | None
    rank: int
    pieces: list[int]
    tokens: int
    matches: list[WordMatch] = Field(default_factory=list[WordMatch])
    duplicates: list[str] = Field(default_factory=list[str])


class AugmentCounts(Answer):
    """Number of passages that each step excluded.

    candidates = below_similarity + without_vector + beyond_per_piece + found_again + duplicates +
    beyond_per_document + beyond_limit + beyond_budget + records.
    """

    characters: int
    tokens: int
    pieces: int
    pieces_left_out: int
    searches: int
    candidates: int
    below_similarity: int
    """Candidates that the searches excluded before they selected the best."""
    without_vector: int
    """Full-text results with unknown similarity, because they or the piece have no vector."""
    beyond_per_piece: int
    found_again: int
    duplicates: int
    beyond_per_document: int
    beyond_limit: int
    beyond_budget: int
    records: int


class Threshold(Answer):
    space: str
    min_similarity: float | None
    source: ThresholdSource
    """`request`: from the request. `model`: calibrated for the model. `default`: no calibration exists."""


class AugmentDegradation(Answer):
    part: str
    effect: str
    pieces: list[int]


class Augmented(Answer):
    context: str
    """Markdown with each passage as a quotation below its location and citation. Empty without passages."""
    context_tokens: int
    tokens_estimated: bool
    records: list[AugmentRecord]
    order: Literal["similarity", "rank"]
    """`rank` if similarities are missing, come from several spaces, or `mmr_lambda` is set."""
    thresholds: list[Threshold]
    pieces: list[AugmentPiece]
    counts: AugmentCounts
    notes: list[str]
    degraded: list[AugmentDegradation]
    timings_ms: dict[str, float]


# Answers to questions

MAX_QUESTION_CHARACTERS = 4000

Refusal = Literal["nothing_found", "nothing_similar", "not_measured", "not_in_passages", "no_valid_citation"]


class AnswerRequest(Narrowed):
    question: Annotated[Text, StringConstraints(max_length=MAX_QUESTION_CHARACTERS)]
    mode: SearchMode = "hybrid"
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_ANSWER_PASSAGES)] = 8
    """Number of passages for the language model, best first, with their neighbours."""
    min_similarity: Similarity | None = None
    """Minimum cosine similarity of passages. Default: calibrated for the model. If the question cannot be
    embedded, a minimum in the request excludes every passage, so there is no answer. The default keeps
    full-text results, and `degraded` reports it."""
    rerank: Flag = False
    hyde: Hypothetical = 0
    concepts: Flag = False
    """Also retrieve passages through concepts, without `min_similarity` if another passage is relevant."""
    window_size: Window = 1
    token_budget: Annotated[int, Field(strict=True, ge=MIN_ANSWER_TOKENS, le=MAX_TOKEN_BUDGET)] = 6000
    stream: Flag = False
    """Return Server-Sent Events: a `statement` for each checked statement, then `end` with the complete
    answer, or `error` with a problem document."""

    @model_validator(mode="after")
    def _can_be_asked(self) -> AnswerRequest:
        if not any(character.isalnum() for character in self.question):
            raise ValueError("the question contains no word to search for")
        if self.mode == "text" and self.min_similarity is not None:
            raise ValueError(
                "min_similarity needs vectors, but mode 'text' searches without them. Omit one of the two"
            )
        if self.mode == "text" and self.hyde not in {0, "auto"}:
            raise ValueError("hyde needs vectors, but mode 'text' searches without them. Omit one of the two")
        return self


class Citation(Answer):
    number: int
    citation: str
    """`source_id#start-end`: the source, and the code points of `quote` in its document."""
    source_id: str
    ontology: str
    document: str
    document_id: str
    paragraph: int
    heading: list[str]
    start: int
    end: int
    quote: str
    score: float
    """1 for an exact quote, less for a similar text."""


class Statement(Answer):
    """Sentence of an answer with at least one citation. kg drops and counts statements without a citation."""

    text: str
    citations: list[Citation]


class Shown(SourcePlace):
    similarity: float | None


class AnswerCounts(Answer):
    """Number of passages and statements in each step.

    found = below_similarity + without_vector + beyond_budget + passages.
    """

    found: int
    below_similarity: int
    without_vector: int
    """Full-text results with unknown similarity, because they or the question have no vector."""
    beyond_budget: int
    passages: int
    shown: int
    tokens: int
    statements: int
    without_citation: int = 0
    """Dropped statements. None of their quotes occurs in the cited source."""
    refused_citations: int = 0
    """Quotes that do not occur in the cited source, of all statements."""


class Answered(Answer):
    question: str
    answered: bool
    text: str
    """Statements with their citations as `[source_id#start-end]`. Empty without statements."""
    refusal: Refusal | None
    """Reason for a missing answer. `nothing_found`, `nothing_similar`, and `not_measured` (the question has
    no vector for `min_similarity`): kg did not call the language model. `not_in_passages`: the passages
    contain no answer. `no_valid_citation`: no statement has a valid citation."""
    reason: str | None
    statements: list[Statement]
    citations: list[Citation]
    sources: list[Shown]
    thresholds: list[Threshold]
    counts: AnswerCounts
    model: str
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class AnswerEvent(Answer):
    """Data of an event of a streamed answer. One field is set."""

    statement: Statement | None = None
    answer: Answered | None = None


# Hybrid search for concepts and sources


class HybridSearch(Narrowed):
    query_text: QueryText
    kinds: Kinds | None = None
    mode: HybridMode = "hybrid"
    """Retrieval of sources. `hybrid`: vector search, full-text search, and concepts. `graph`: vector and
    full-text search, from the sixth result also concepts. `concept`: only concepts of the query. `source`:
    vector and full-text search. `text`: full-text search."""
    concept_limit: Annotated[int, Field(strict=True, ge=0, le=MAX_LIMIT)] = 5
    source_limit: Limit = 10
    cursor: HitsCursor | None = None
    """`next_cursor` of the previous page, for more sources. Repeat the other fields unchanged. Only the first
    page has concepts. All pages together contain at most 1,000 sources."""
    min_similarity: Similarity | None = None
    """Minimum cosine similarity. It also excludes sources without a vector. Not for mode `text`."""
    rerank: Flag = False
    collapse_duplicates: Flag = False
    explain: Flag = False
    expand_context: Flag = False
    window_size: Window = DEFAULT_WINDOW
    token_budget: TokenBudget | None = None


class HybridHits(Answer):
    query_text: str
    mode: HybridMode
    concepts: list[ConceptHit]
    sources: list[SourceHit]
    near: bool | None = None
    """Whether a source is relevant: the first has half of the query keywords, or the similarity is high. Only
    keywords decide if the model does not know the language. Null if unknown, as in mode `text`."""
    note: str | None = None
    concepts_note: str | None = None
    next_cursor: str | None = None
    """Cursor of the next sources. Null if there are no more sources. The next page may be empty."""
    windows: list[ContextWindow] = Field(default_factory=list[ContextWindow])
    did_you_mean: list[Respelling] = Field(default_factory=list[Respelling])
    degraded: list[Degradation]
    timings_ms: dict[str, float]
