"""Relationships: what is asked of them, and what comes back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from kg_api.models.base import VISIBLE, Answer, Body, Text
from kg_api.models.concepts.queries import Phrase
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_LIMIT, MAX_ONTOLOGIES, MAX_TYPES

TypeName = Annotated[Text, StringConstraints(max_length=100), *VISIBLE]
"""Of relationships, in the words of an open vocabulary; case and punctuation do not count."""


class RelationshipSearch(Body):
    """A search for relationships, by what they say."""

    query_text: Phrase
    """In plain words, such as "what does a lease need"."""
    ontologies: Annotated[list[Text], Field(min_length=1, max_length=MAX_ONTOLOGIES)] | None = None
    """None: all."""
    types: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_TYPES)] | None = None
    """Only relationships of these types; one that was merged into another means that one."""
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    min_similarity: Annotated[float, Field(ge=-1, le=1)] | None = None
    """Cosine of question and relationship; what it means differs from model to model."""


class RelationshipEnd(Answer):
    """A concept that a relationship is of."""

    concept_id: str
    label: str


class RelationshipEvidence(Answer):
    """A source that states a relationship."""

    relation_id: str
    type: str
    """As this source says it."""
    statement: str
    """Subject, type and object in this source's words."""
    quote: str
    """Verbatim; empty where no quote proves it."""
    start: int | None
    """Its first code point in the document's text."""
    end: int | None
    confidence: float
    source: Place


class RelationshipHit(Answer):
    """A relationship that was found."""

    subject: RelationshipEnd
    type: str
    object: RelationshipEnd
    ontology: str
    similarity: float
    """Of the question and the best of its statements. Compare those of one space only."""
    space: str
    confidence: float
    """The highest of those found that state it."""
    sources: int
    """How many state it, also those that were not found."""
    evidence: list[RelationshipEvidence]
    """The statements that were found, the nearest first."""


class RelationshipHits(Answer):
    """The answer to a search for relationships."""

    query_text: str
    relationships: list[RelationshipHit]
    degraded: list[Degradation]
