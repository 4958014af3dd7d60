"""Evaluation: question sets, search results, and saved measures."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.schemas.base import Answer, Body, Called, Page, Text
from kg_api.schemas.concepts import Person
from kg_api.schemas.formats import TextFormat
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import MAX_RELEVANCE, Target, Tier

RESULT_FORMAT = 1

TIERS: dict[Tier, int | None] = {"pilot": 50, "standard": 300, "full": None}


@dataclass(frozen=True, slots=True)
class SetDocument:
    document: str
    text: str
    title: str = ""
    format: TextFormat | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """Exact span that answers a question, in code points of the document's text, end excluded."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class JudgedPassage(Reference):
    relevance: int  # 0: does not answer the question


@dataclass(frozen=True, slots=True)
class SetQuery:
    query_id: str
    text: str
    relevant: Mapping[str, int] = field(default_factory=dict[str, int])
    """Relevance of documents by name. Others are not relevant."""
    references: tuple[Reference, ...] = ()
    passages: tuple[JudgedPassage, ...] = ()  # Judged passages. Others are not relevant.


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    documents: tuple[SetDocument, ...]
    queries: tuple[SetQuery, ...]
    notes: tuple[str, ...]
    corpus_hash: str
    data_hash: str  # hash of documents, questions, and judgements

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
    """Result of a search: a part of a document, in code points of the set's text."""

    document: str
    start: int
    end: int


class QuestionResult(Answer):
    query_id: str
    found: list[FoundSpan]
    ms: float
    timings_ms: dict[str, float] = Field(default_factory=dict[str, float])
    degraded: list[str] = Field(default_factory=list[str])


class EvalData(Answer):
    name: str
    hash: str
    """Hash of documents, questions, and judgements. Results are comparable only with the same hash."""
    documents: int
    queries: int
    asked: int
    sample: str
    notes: list[str]


class Measured(Answer):
    label: str
    target: Target
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """95 % bootstrap intervals of the means."""
    latency_ms: dict[str, float]
    """Latency of the whole request at the client."""
    degraded: dict[str, int]
    started_at: datetime


class EvalResult(Measured):
    format: int = RESULT_FORMAT
    key: str
    """Hash of data, questions, configuration, and code. The same key means the same run."""
    stages_ms: dict[str, dict[str, float]]
    config: dict[str, Any]
    data: EvalData
    kg: dict[str, Any]
    machine: dict[str, Any]
    """Machine of the client. Empty for users without the `admin` scope for all ontologies."""
    finished_at: datetime
    seconds: float
    per_query: dict[str, dict[str, float]]
    query_ms: dict[str, float]
    questions: dict[str, str] = Field(default_factory=dict[str, str])


class EvalSummary(Measured):
    name: str
    question_set: str
    ontology: str | None
    asked: int


class UnreadableResult(Answer):
    name: str
    reason: str


class EvalSummaries(Page):
    evaluations: list[EvalSummary]
    unreadable: list[UnreadableResult]
    """Files that are damaged, too large, or from a newer kg. Only for keys that see all ontologies."""


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
    p_randomisation: float
    p_holm: float
    """`p_randomisation` with Holm's correction for all configurations in this metric."""
    significant: bool


class Comparison(Answer):
    baseline: str
    data: EvalData
    labels: list[str]
    metrics: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, tuple[float, float]]]
    latency_ms: dict[str, dict[str, float]]
    degraded: dict[str, dict[str, int]]
    tests: list[PairedTest]
    results: dict[str, str] = Field(default_factory=dict[str, str])
    """Saved result of each label: its name in the service, or its file for `kg eval compare`."""


# Judgements of passages

MAX_JUDGED_CHARACTERS: Final = 2000


def normalize_question(given: str) -> str:
    """Normalize a question in NFC with single spaces."""
    if not (text := " ".join(unicodedata.normalize("NFC", given).split())):
        raise ValueError("is blank")
    return text


JudgedText = Annotated[
    Text, StringConstraints(max_length=MAX_JUDGED_CHARACTERS), AfterValidator(normalize_question)
]
Relevance = Annotated[int, Field(ge=0, le=MAX_RELEVANCE, strict=True)]
"""Relevance. 2: answers the question. 1: helps to answer. 0: neither."""


class JudgementRequest(Body):
    question: JudgedText
    source_id: Called
    """Passage or image: id, at least 8 leading digits of it, or ONTOLOGY/DOCUMENT#PARAGRAPH."""
    relevance: Relevance
    by: Person | None = None


class Judgement(Answer):
    judgement_id: str
    ontology: str
    question: str
    relevance: int
    """Relevance. 2: answers the question. 1: helps to answer. 0: neither."""
    document_id: str
    document: str
    source: Place | None = None
    """Judged passage. Null: its text has changed. The judgement counts again if the text returns."""
    judged_by: str | None = None
    judged_at: datetime


class Judgements(Page):
    judgements: list[Judgement]


class JudgementsDeleted(Answer):
    judgements: int
