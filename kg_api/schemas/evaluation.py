"""Evaluation: question sets, what a search answered, and results as they are saved."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.schemas.base import Answer, Body, Called, Page, Text
from kg_api.schemas.concepts import Person
from kg_api.schemas.documents import Format
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import MAX_RELEVANCE, Target, Tier

RESULT_FORMAT = 1

Titles = Literal["above", "field"]
"""Where the title of a set's document goes: beside its text, and `above` it too, or not."""
Passage = Literal["chunk", "source", "parent"]
"""Which part of a hit counts as read, where spans are measured."""
TIERS: dict[Tier, int | None] = {"pilot": 50, "standard": 300, "full": None}


@dataclass(frozen=True, slots=True)
class SetDocument:
    """One document of a question set, with its text as the set has it."""

    document: str
    text: str
    title: str = ""
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """An exact span that answers a question; code points of the document's text, end excluded."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class JudgedPassage:
    """A passage that was judged as an answer; code points of the document's text, end excluded."""

    document: str
    start: int
    end: int
    relevance: int
    """0: it does not answer."""


@dataclass(frozen=True, slots=True)
class SetQuery:
    """One question and what answers it."""

    query_id: str
    text: str
    relevant: Mapping[str, int] = field(default_factory=dict[str, int])
    """How relevant documents are, by name; what is not there is not relevant."""
    references: tuple[Reference, ...] = ()
    passages: tuple[JudgedPassage, ...] = ()
    """Those that were judged; what is not there is not relevant."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Documents, questions, and which answer which."""

    name: str
    documents: tuple[SetDocument, ...]
    queries: tuple[SetQuery, ...]
    notes: tuple[str, ...]
    corpus_hash: str
    """Of the documents."""
    data_hash: str
    """Of documents, questions and judgements."""

    @property
    def targets(self) -> tuple[Target, ...]:
        found: list[Target] = []
        if any(query.passages for query in self.queries):
            found.append("passages")
        if any(query.relevant for query in self.queries):
            found.append("documents")
        if any(query.references for query in self.queries):
            found.append("spans")
        return tuple(found)


class FoundSpan(Answer):
    """One hit of a search: a part of a document, in code points of the set's own text."""

    document: str
    start: int
    end: int


class QuestionResult(Answer):
    query_id: str
    found: list[FoundSpan]
    ms: float
    timings_ms: dict[str, float] = Field(default_factory=dict[str, float])
    degraded: list[str] = Field(default_factory=list[str])
    refusal: str | None = None


class EvalData(Answer):
    name: str
    hash: str
    """Of documents, questions and judgements; results of different hashes are not compared."""
    documents: int
    queries: int
    asked: int
    sample: str
    notes: list[str]


class Measured(Answer):
    """What a run measured."""

    label: str
    target: Target
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """95 % bootstrap intervals of the means."""
    latency_ms: dict[str, float]
    """Of the whole request, as the client saw it."""
    degraded: dict[str, int]
    refused: dict[str, int] = Field(default_factory=dict[str, int])
    """How many questions were not answered and why, where answers are measured; they count as 0."""
    started_at: datetime


class EvalResult(Measured):
    format: int = RESULT_FORMAT
    key: str
    """Hash of data, questions, configuration and code: what has the same was the same run."""
    stages_ms: dict[str, dict[str, float]]
    config: dict[str, Any]
    data: EvalData
    kg: dict[str, Any]
    machine: dict[str, Any]
    """That asked; empty to whoever may not administer all of kg."""
    finished_at: datetime
    seconds: float
    per_query: dict[str, dict[str, float]]
    query_ms: dict[str, float]
    questions: dict[str, str] = Field(default_factory=dict[str, str])


class EvalSummary(Measured):
    name: str
    question_set: str
    ontology: str | None
    mode: str | None
    asked: int
    compared_by: str
    """Stands for data, questions and target: results that have the same can be compared."""


class UnreadableResult(Answer):
    name: str
    reason: str


class EvalSummaries(Page):
    evaluations: list[EvalSummary]
    unreadable: list[UnreadableResult]
    """Files that are broken, too large, or of a newer kg; told to whoever sees all ontologies."""


class ResultDeleted(Answer):
    name: str
    ontology: str | None


class PairedTest(Answer):
    metric: str
    label: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    interval: tuple[float, float]
    wins: int
    ties: int
    losses: int
    p_t: float
    p_randomisation: float
    p_holm: float
    """`p_randomisation`, corrected by Holm for all configurations compared in this metric."""
    significant: bool


class Comparison(Answer):
    baseline: str
    data: EvalData
    labels: list[str]
    metrics: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, tuple[float, float]]]
    latency_ms: dict[str, dict[str, float]]
    degraded: dict[str, dict[str, int]]
    refused: dict[str, dict[str, int]] = Field(default_factory=dict[str, dict[str, int]])
    tests: list[PairedTest]
    results: dict[str, str] = Field(default_factory=dict[str, str])
    """The saved result of each label: its name, from the service; its file, from `kg eval compare`."""


# Judgements: which passages answer a question, as people say.

MAX_JUDGED_CHARACTERS: Final = 2000


def question_text(given: str) -> str:
    """Return a question as it is stored: composed (NFC), each run of blanks one space."""
    if not (text := " ".join(unicodedata.normalize("NFC", given).split())):
        raise ValueError("is blank")
    return text


JudgedText = Annotated[
    Text, StringConstraints(max_length=MAX_JUDGED_CHARACTERS), AfterValidator(question_text)
]
Relevance = Annotated[int, Field(ge=0, le=MAX_RELEVANCE, strict=True)]
"""2: it answers the question; 1: it helps to; 0: it does neither."""


class JudgementRequest(Body):
    question: JudgedText
    source_id: Called
    """The passage or picture: its id, at least 8 digits it begins with, or ONTOLOGY/DOCUMENT#PARAGRAPH."""
    relevance: Relevance
    by: Person | None = None


class Judgement(Answer):
    judgement_id: str
    ontology: str
    question: str
    relevance: int
    """2: it answers the question; 1: it helps to; 0: it does neither."""
    document_id: str
    document: str
    source: Place | None = None
    """The passage. None: its text has changed since; the judgement counts again when it is there again."""
    judged_by: str | None = None
    judged_at: datetime


class Judgements(Page):
    judgements: list[Judgement]


class JudgedQuestion(Answer):
    question: str
    judgements: int
    relevant: int
    gone: int
    judged_at: datetime


class JudgedQuestions(Page):
    questions: list[JudgedQuestion]


class JudgementsDeleted(Answer):
    judgements: int
