"""Augmentation, answers by a language model, and hybrid searches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Flag, Text, visible
from kg_api.schemas.concepts import ConceptHit
from kg_api.schemas.documents import Messages
from kg_api.schemas.filters import (
    HitsCursor,
    Hypothetical,
    Kinds,
    Limit,
    Narrowed,
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
    MAX_QUERY_CHARACTERS,
    MAX_TOKEN_BUDGET,
    MIN_ANSWER_TOKENS,
    MIN_PIECE,
    HybridMode,
    SearchMode,
)

MAX_TEXT_CHARACTERS = 1_000_000

ThresholdSource = Literal["request", "model", "default", "none"]


class AugmentRequest(Narrowed):
    """A text or a conversation that passages are wanted for."""

    text: Annotated[Text, StringConstraints(max_length=MAX_TEXT_CHARACTERS)] | None = None
    """Plain text or Markdown; this, or `messages`."""
    messages: Messages | None = None
    mode: SearchMode = "hybrid"
    chunk_tokens: Annotated[int, Field(strict=True, ge=MIN_PIECE, le=MAX_PIECE)] = 1800
    """Most tokens of a piece, by the tokenizer of the space's model; never more than it takes at once."""
    overlap_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_PIECE_OVERLAP)] = 150
    """At most so many tokens at the end of a piece stand at the beginning of the next one too; fewer, by the
    same share, where the model takes less at once than `chunk_tokens`."""
    one_query_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_PIECE)] | None = None
    """A text of at most so many tokens is searched for as one; unset: as many as a piece has."""
    whole: Flag = False
    per_piece: Annotated[int, Field(strict=True, ge=1, le=MAX_PER_PIECE)] = 5
    min_similarity: Similarity | None = None
    """Leave out what is less similar to its piece, before the best are taken. Unset: what was measured for
    the space's model, 0.7 where nothing was; the answer says which. While the text cannot be embedded nothing
    passes a number that is given here; without one, what words find is given. Not for mode `text`."""
    per_document: Limit | None = 1
    """At most so many passages of one document; null: any number."""
    limit: Limit = 5
    mmr_lambda: Share | None = None
    """Order each piece's hits for diversity: 1 is relevance alone, 0 difference alone."""
    deduplicate: Flag = False
    exact: Flag = False
    """Compare with every vector, instead of asking the approximate index."""
    token_budget: TokenBudget | None = None
    """Most tokens of the context block; the best passages come first, and what does not fit is counted."""

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
    number: int
    whole: bool
    start: int
    """Its first code point in the text; in that of a conversation as its ingestion would make it."""
    end: int
    tokens: int
    hits: int


class AugmentRecord(DescribedPlace):
    citation: str
    """`source_id#start-end`: the source, and the code points of the document that `text` is."""
    text: str
    """What stands in the context: the source, or with strategy `hierarchical` the larger part to read."""
    similarity: float | None
    """Cosine of the passage and the piece that is nearest to it; none without a vector."""
    space: str | None
    rank: int
    pieces: list[int]
    tokens: int
    matches: list[WordMatch] = Field(default_factory=list[WordMatch])
    duplicates: list[str] = Field(default_factory=list[str])


class AugmentCounts(Answer):
    """How many were left after each step, and how many were not and why.

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
    """Left out by the searches before they took their best, as what has no vector."""
    without_vector: int
    """Found by words only, for they are not embedded yet, or the piece could not be while `min_similarity`
    was asked for: whether they are similar enough is not known."""
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
    """`request`: asked for; `model`: measured for the space's model; `default`: nothing is known of it."""


class AugmentDegradation(Answer):
    part: str
    effect: str
    pieces: list[int]


class Augmented(Answer):
    context: str
    """Ready Markdown: each passage as a quotation below its place and citation. Empty when there are none."""
    context_tokens: int
    tokens_estimated: bool
    records: list[AugmentRecord]
    order: Literal["similarity", "rank"]
    """What the passages are ordered by: ranks where similarities are missing, of several spaces, or not the
    aim (`mmr_lambda`)."""
    thresholds: list[Threshold]
    pieces: list[AugmentPiece]
    counts: AugmentCounts
    notes: list[str]
    degraded: list[AugmentDegradation]
    timings_ms: dict[str, float]


# Answers to questions: what is asked, and what comes back.

MAX_QUESTION_CHARACTERS = 4000

Refusal = Literal["nothing_found", "nothing_similar", "not_measured", "not_in_passages", "no_valid_citation"]


class AnswerRequest(Narrowed):
    question: Annotated[Text, StringConstraints(max_length=MAX_QUESTION_CHARACTERS)]
    mode: SearchMode = "hybrid"
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_ANSWER_PASSAGES)] = 8
    """The best so many passages are shown to the language model, with what is around them."""
    min_similarity: Similarity | None = None
    """Passages that are less similar are not shown. Unset: what was measured for the space's model. While the
    question cannot be embedded nothing passes a number that is given here, and there is no answer; without
    one, what words find is answered from, and `degraded` says so."""
    rerank: Flag = False
    hyde: Hypothetical = 0
    concepts: Flag = False
    """Let concepts bring passages too; beside one that is near enough, these are shown whatever their own
    similarity: they answer together."""
    window_size: Window = 1
    token_budget: Annotated[int, Field(strict=True, ge=MIN_ANSWER_TOKENS, le=MAX_TOKEN_BUDGET)] = 6000
    stream: Flag = False
    """Give Server-Sent Events instead: a `statement` as soon as it is written and checked, `end` with the
    whole, or `error` with a problem document."""

    @model_validator(mode="after")
    def _can_be_asked(self) -> AnswerRequest:
        if not any(character.isalnum() for character in self.question):
            raise ValueError("the question contains no word to search for")
        if self.mode == "text" and self.min_similarity is not None:
            raise ValueError("min_similarity needs vectors, and mode 'text' searches without; leave one out")
        if self.mode == "text" and self.hyde not in {0, "auto"}:
            raise ValueError("hyde needs vectors, and mode 'text' searches without; leave one out")
        return self


class Citation(Answer):
    number: int
    citation: str
    """`source_id#start-end`: the source, and the code points of its document that `quote` is."""
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
    """1 where the language model quoted exactly; less for what was found by likeness."""


class Statement(Answer):
    """A sentence of an answer. It has at least one citation; one without is left out, and counted."""

    text: str
    citations: list[Citation]


class Shown(SourcePlace):
    similarity: float | None


class AnswerCounts(Answer):
    """What was found, shown and written.

    found = below_similarity + without_vector + beyond_budget + passages.
    """

    found: int
    below_similarity: int
    without_vector: int
    """Found by words only, for they are not embedded yet, or the question could not be: whether they are
    similar enough is not known."""
    beyond_budget: int
    passages: int
    shown: int
    tokens: int
    statements: int
    without_citation: int = 0
    """Statements that were left out: none of their quotes stands in the source that they name."""
    refused_citations: int = 0
    """Quotes that do not stand there; of statements that were left out, and of others."""


class Answered(Answer):
    question: str
    answered: bool
    text: str
    """The statements, each with its citations as `[source_id#start-end]`; empty when there are none."""
    refusal: Refusal | None
    """`nothing_found`, `nothing_similar`, `not_measured` (a `min_similarity` was asked for and the question
    could not be embedded): the language model was not asked. `not_in_passages`: it says that there is no
    answer in what was shown. `no_valid_citation`: it wrote statements, and proved none."""
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
    """The data of an event of a streamed answer: one of the two."""

    statement: Statement | None = None
    answer: Answered | None = None


# Searching concepts and sources together: what is asked and what comes back.


class HybridSearch(Narrowed):
    query_text: Annotated[
        Text, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS), AfterValidator(visible)
    ]
    kinds: Kinds | None = None
    mode: HybridMode = "hybrid"
    """How sources are found. `hybrid`: by meaning, by words and through concepts; `graph`: by meaning and
    words, and from the sixth on also through concepts; `concept`: only through the
    concepts of the question; `source`: by meaning and words; `text`: by words."""
    concept_limit: Annotated[int, Field(strict=True, ge=0, le=MAX_LIMIT)] = 5
    source_limit: Limit = 10
    cursor: HitsCursor | None = None
    """`next_cursor` of the page before, for the sources behind it; all else as in that request. Concepts are
    in the first page only. Pages give 1,000 sources at most."""
    min_similarity: Similarity | None = None
    """Leave out sources whose cosine similarity is lower, or that have no vector yet. Not for mode `text`."""
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
    """Whether a passage is near the question, by what its model's cosines mean, or because it has all of the
    question's words. Null: nobody can say, as in mode `text`, or with `hyde`."""
    note: str | None = None
    concepts_note: str | None = None
    next_cursor: str | None = None
    """For the sources behind these; none when there are no more. The next page may be empty."""
    windows: list[ContextWindow] = Field(default_factory=list[ContextWindow])
    did_you_mean: list[Respelling] = Field(default_factory=list[Respelling])
    degraded: list[Degradation]
    timings_ms: dict[str, float]
