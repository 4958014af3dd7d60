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
"""Version of the saved results."""

Titles = Literal["above", "field"]
"""Where the title of a set's document goes: beside its text, and `above` it too, or not."""
Passage = Literal["chunk", "source", "parent"]
"""Which part of a hit counts as read, where spans are measured."""
TIERS: dict[Tier, int | None] = {"pilot": 50, "standard": 300, "full": None}
"""How many questions are asked; None: all."""


@dataclass(frozen=True, slots=True)
class SetDocument:
    """One document of a question set, with its text as the set has it."""

    document: str
    text: str
    title: str = ""
    format: Format | None = None
    """Unset: the set does not say."""


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
    """Those that something answers."""
    notes: tuple[str, ...]
    """What a person should know, such as questions that nothing answers."""
    corpus_hash: str
    """Of the documents."""
    data_hash: str
    """Of documents, questions and judgements."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """What it can measure, the usual one first."""
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
    """A question that was asked, and what came."""

    query_id: str
    found: list[FoundSpan]
    """The best first."""
    ms: float
    """The whole request as the client saw it."""
    timings_ms: dict[str, float] = Field(default_factory=dict[str, float])
    """The service's own stages."""
    degraded: list[str] = Field(default_factory=list[str])
    """Parts of the search that could not be done as asked."""
    refusal: str | None = None
    """Why the question was not answered, where answers are measured; nothing was found then."""


class EvalData(Answer):
    """What was asked of what."""

    name: str
    hash: str
    """Of documents, questions and judgements; results of different hashes are not compared."""
    documents: int
    queries: int
    """Questions that something answers."""
    asked: int
    sample: str
    """Hash of the questions that were asked."""
    notes: list[str]


class EvalResult(Answer):
    """What a run measured, and all that is needed to do it again."""

    format: int = RESULT_FORMAT
    key: str
    """Hash of data, questions, configuration and code: what has the same was the same run."""
    label: str
    target: Target
    metrics: dict[str, float]
    """Means over the questions."""
    intervals: dict[str, tuple[float, float]]
    """95 % bootstrap intervals of the means."""
    latency_ms: dict[str, float]
    """Of the whole request, as the client saw it."""
    stages_ms: dict[str, dict[str, float]]
    """Of the service's own stages."""
    degraded: dict[str, int]
    """How many answers lacked which part; empty is as it should be."""
    refused: dict[str, int] = Field(default_factory=dict[str, int])
    """How many questions were not answered and why, where answers are measured; they count as 0."""
    config: dict[str, Any]
    data: EvalData
    kg: dict[str, Any]
    """Version of the service, commit, hash of the code."""
    machine: dict[str, Any]
    """That asked; empty to whoever may not administer all of kg."""
    started_at: datetime
    finished_at: datetime
    seconds: float
    """Of all requests together."""
    per_query: dict[str, dict[str, float]]
    """Scores of each question."""
    query_ms: dict[str, float]
    """Latency of each question."""
    questions: dict[str, str] = Field(default_factory=dict[str, str])
    """What was asked, by question; results of an older kg do not say it."""


class EvalSummary(Answer):
    """A saved result without the scores of its questions."""

    name: str
    """Of its file, without the ending."""
    label: str
    question_set: str
    """Name of the set."""
    ontology: str | None
    """What was asked."""
    mode: str | None
    target: Target
    asked: int
    """Questions."""
    compared_by: str
    """Stands for data, questions and target: results that have the same can be compared."""
    started_at: datetime
    metrics: dict[str, float]
    """Means of the main measures."""
    intervals: dict[str, tuple[float, float]]
    """95 % bootstrap intervals of these."""
    latency_ms: dict[str, float]
    """Of the whole request."""
    degraded: dict[str, int]
    """How many answers lacked which part."""
    refused: dict[str, int]
    """How many questions were not answered and why."""


class UnreadableResult(Answer):
    """A file among the results that cannot be read."""

    name: str
    reason: str


class EvalSummaries(Page):
    """Saved results, the newest first."""

    evaluations: list[EvalSummary]
    unreadable: list[UnreadableResult]
    """Files that are broken, too large, or of a newer kg; told to whoever sees all ontologies."""


class ResultDeleted(Answer):
    """A saved result that has gone."""

    name: str
    ontology: str | None
    """What was asked; None where the file did not say it."""


class PairedTest(Answer):
    """One configuration against the baseline, in one metric, on the same questions."""

    metric: str
    label: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    interval: tuple[float, float]
    """95 % bootstrap interval of the difference."""
    wins: int
    ties: int
    losses: int
    p_t: float
    """Paired t-test, two-sided."""
    p_randomisation: float
    """Paired randomisation test, two-sided."""
    p_holm: float
    """`p_randomisation`, corrected by Holm for all configurations compared in this metric."""
    significant: bool
    """Whether `p_holm` is below 0.05."""


class Comparison(Answer):
    """Several results on the same questions."""

    baseline: str
    data: EvalData
    labels: list[str]
    metrics: dict[str, dict[str, float]]
    """By label, then by metric."""
    intervals: dict[str, dict[str, tuple[float, float]]]
    latency_ms: dict[str, dict[str, float]]
    degraded: dict[str, dict[str, int]]
    refused: dict[str, dict[str, int]] = Field(default_factory=dict[str, dict[str, int]])
    """How many questions were not answered and why; comparisons of an older kg do not say it."""
    tests: list[PairedTest]
    results: dict[str, str] = Field(default_factory=dict[str, str])
    """The saved result of each label: its name, from the service; its file, from `kg eval compare`."""


# Judgements: which passages answer a question, as people say.

MAX_JUDGED_CHARACTERS: Final = 2000
"""Of a question that passages are judged for."""


def question_text(given: str) -> str:
    """A question as it is kept: composed (NFC), each run of blanks one space.

    Raises:
        ValueError: it is blank.
    """
    if not (text := " ".join(unicodedata.normalize("NFC", given).split())):
        raise ValueError("is blank")
    return text


JudgedText = Annotated[
    Text, StringConstraints(max_length=MAX_JUDGED_CHARACTERS), AfterValidator(question_text)
]
Relevance = Annotated[int, Field(ge=0, le=MAX_RELEVANCE, strict=True)]
"""2: it answers the question; 1: it helps to; 0: it does neither."""


class JudgementRequest(Body):
    """What somebody thinks of a passage as an answer."""

    question: JudgedText
    """As it was searched for; runs of blanks count as one."""
    source_id: Called
    """The passage or picture: its id, at least 8 digits it begins with, or ONTOLOGY/DOCUMENT#PARAGRAPH."""
    relevance: Relevance
    by: Person | None = None
    """Who says so."""


class Judgement(Answer):
    """What somebody thinks of a passage as an answer to a question."""

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
    """Judgements of an ontology, question by question, for each the best first."""

    judgements: list[Judgement]


class JudgedQuestion(Answer):
    """A question and how much was judged for it."""

    question: str
    judgements: int
    relevant: int
    """Of them those of relevance 1 or 2."""
    gone: int
    """Of them those whose passage has changed since."""
    judged_at: datetime
    """When last."""


class JudgedQuestions(Page):
    """Questions that passages of an ontology were judged for, those that were judged last first."""

    questions: list[JudgedQuestion]


class JudgementsDeleted(Answer):
    """How many judgements have gone."""

    judgements: int
