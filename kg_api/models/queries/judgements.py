"""Judgements: which passages answer a question, as people say."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.models.base import Answer, Body, Called, Page, Text
from kg_api.models.concepts.vocabulary import Person
from kg_api.models.queries.places import Place
from kg_api.models.vocabulary import MAX_RELEVANCE

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


@dataclass(frozen=True, slots=True)
class JudgedPlace:
    """As much of a judgement as measuring needs."""

    ontology: str
    question: str
    document: str
    relevance: int
    start: int | None
    """Code points of the document's text; None: the passage has changed since."""
    end: int | None


def judged_place(judgement: Judgement) -> JudgedPlace:
    """Leave out of a judgement what measuring does not need."""
    place = judgement.source
    return JudgedPlace(
        ontology=judgement.ontology,
        question=judgement.question,
        document=judgement.document,
        relevance=judgement.relevance,
        start=place and place.start,
        end=place and place.end,
    )


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
