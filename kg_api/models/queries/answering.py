"""Answers to questions: what is asked, and what comes back."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kg_api.models.base import Answer, Body, Flag, Text
from kg_api.models.queries.augment import Threshold
from kg_api.models.queries.fields import DocumentNames, Hypothetical, Ontologies, Similarity, Window
from kg_api.models.queries.filters import Where
from kg_api.models.queries.places import SourcePlace
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import (
    MAX_ANSWER_PASSAGES,
    MAX_TOKEN_BUDGET,
    MIN_ANSWER_TOKENS,
    SearchMode,
)

MAX_QUESTION_CHARACTERS = 4000

Refusal = Literal["nothing_found", "nothing_similar", "not_measured", "not_in_passages", "no_valid_citation"]


class AnswerRequest(Body):
    """A question to be answered from passages."""

    question: Annotated[Text, StringConstraints(max_length=MAX_QUESTION_CHARACTERS)]
    """In plain words; it is data to the language model too, never an instruction."""
    ontology: Ontologies | None = None
    """Answer only from these; unset or null: all."""
    documents: DocumentNames | None = None
    """Answer only from these documents: by name, `ONTOLOGY/NAME` or id; unset or null: all."""
    where: Where | None = None
    """Only documents for which all these hold; a text is read as one: `date>=2025-01-01`, `tags=oncall`."""
    mode: SearchMode = "hybrid"
    """How passages are searched for; as of a search. By `text` there is no threshold."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_ANSWER_PASSAGES)] = 8
    """The best so many passages are shown to the language model, with what is around them."""
    min_similarity: Similarity | None = None
    """Passages that are less similar are not shown. Unset: what was measured for the space's model. While the
    question cannot be embedded nothing passes a number that is given here, and there is no answer; without
    one, what words find is answered from, and `degraded` says so."""
    rerank: Flag = False
    """Let a cross-encoder read the passages again before the best are taken."""
    hyde: Hypothetical = 0
    """Hypothetical answers to search by besides the question; as of a search."""
    concepts: Flag = False
    """Let concepts bring passages too; beside one that is near enough, these are shown whatever their own
    similarity: they answer together."""
    window_size: Window = 1
    """So many paragraphs before and after each passage are shown too."""
    token_budget: Annotated[int, Field(strict=True, ge=MIN_ANSWER_TOKENS, le=MAX_TOKEN_BUDGET)] = 6000
    """Most tokens of all that is shown; the best passages come first."""
    stream: Flag = False
    """Give Server-Sent Events instead: a `statement` as soon as it is written and checked, `end` with the
    whole, or `error` with a problem document."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are searched; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology

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
    """A place in a source that was shown, which says what a statement says, as the language model has it."""

    number: int
    """From 1, in the order of first use; the same place has the same number."""
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
    """The document's own words."""
    score: float
    """1 where the language model quoted exactly; less for what was found by likeness."""


class Statement(Answer):
    """A sentence of an answer. It has at least one citation; one without is left out, and counted."""

    text: str
    citations: list[Citation]


class Shown(SourcePlace):
    """A source that was shown to the language model."""

    similarity: float | None
    """Cosine of question and passage; none for what stands around one."""


class AnswerCounts(Answer):
    """What was found, shown and written.

    found = below_similarity + without_vector + beyond_budget + passages.
    """

    found: int
    """All that the search looked at; what is not similar enough was left out before it took the best."""
    below_similarity: int
    without_vector: int
    """Found by words only, for they are not embedded yet, or the question could not be: whether they are
    similar enough is not known."""
    beyond_budget: int
    passages: int
    """Shown, without what is around them."""
    shown: int
    """Sources shown, with what is around the passages."""
    tokens: int
    statements: int
    without_citation: int = 0
    """Statements that were left out: none of their quotes stands in the source that they name."""
    refused_citations: int = 0
    """Quotes that do not stand there; of statements that were left out, and of others."""


class Answered(Answer):
    """An answer, or why there is none."""

    question: str
    answered: bool
    text: str
    """The statements, each with its citations as `[source_id#start-end]`; empty when there are none."""
    refusal: Refusal | None
    """`nothing_found`, `nothing_similar`, `not_measured` (a `min_similarity` was asked for and the question
    could not be embedded): the language model was not asked. `not_in_passages`: it says that there is no
    answer in what was shown. `no_valid_citation`: it wrote statements, and proved none."""
    reason: str | None
    """The refusal in words."""
    statements: list[Statement]
    citations: list[Citation]
    """All that are used, by number."""
    sources: list[Shown]
    """What was shown, the best passage and what is around it first."""
    thresholds: list[Threshold]
    """The least similarity in each space."""
    counts: AnswerCounts
    model: str
    """The language model."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class AnswerEvent(Answer):
    """The data of an event of a streamed answer: one of the two."""

    statement: Statement | None = None
    answer: Answered | None = None
