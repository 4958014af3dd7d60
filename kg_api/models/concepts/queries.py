"""Concepts: what is asked and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kg_api.models.base import VISIBLE, Answer, Page, Text
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_HOPS, MAX_PHRASE

APPEARS_WITH = "appears with"
"""The type of a relationship that no text states: both concepts are in the same sources."""


class Concept(Answer):
    """An idea that sources carry."""

    concept_id: str
    ontology: str
    label: str
    description: str
    search_terms: list[str]
    """Other names for it."""
    sources: int
    """How many carry it."""
    verified: bool = True
    """Whether a quote proves it. False: all that was quoted for it is not in its sources, or says nothing but
    its name; or nothing was quoted."""


Fits = Literal["name", "words", "meaning"]
"""It is called so; a word of the question is in its names; it is near enough, by the space's own measure."""
MAX_TOLD = 100
"""Characters of a question that are repeated."""
NEAREST = 3
"""So many labels are named where nothing fits."""


class ConceptHit(Concept):
    """A concept that was found."""

    similarity: float | None
    """Cosine of the question and the concept; none without a vector. Compare those of one space only."""
    space: str | None = None
    score: float
    """What the hits are ordered by."""
    fits: Fits | None = None
    """Why it may be taken for what was asked; none: it is only the nearest there is."""


def find_meant(hits: Sequence[ConceptHit]) -> ConceptHit | None:
    """What was meant by a phrase that found some concepts: the one called so, else the first that fits."""
    fitting = [each for each in hits if each.fits]
    return next((each for each in fitting if each.fits == "name"), fitting[0] if fitting else None)


def nearest_labels(hits: Iterable[Concept]) -> str:
    """As a part of a sentence: what is nearest where nothing fits; empty where there is nothing at all."""
    labels = list(dict.fromkeys(repr(each.label) for each in hits))[:NEAREST]
    return f" (nearest: {', '.join(labels)})" if labels else ""


def none_fits(query_text: str, hits: Sequence[ConceptHit]) -> str | None:
    """That what was found is only the nearest there is; nothing where one fits, or none was found."""
    if not hits or any(each.fits for each in hits):
        return None
    told = f"{query_text[:MAX_TOLD]!r}{nearest_labels(hits)}"
    return f"no concept fits {told}: those found are only the nearest there are"


class ConceptHits(Answer):
    """The answer to a search for concepts."""

    query_text: str
    concepts: list[ConceptHit]
    degraded: list[Degradation]
    note: str | None = None
    """That none of them fits, where that is so."""


class Evidence(Answer):
    """A verbatim quote of a source, that proves a concept."""

    instance_id: str
    quote: str
    start: int
    """Its first code point in the document's text."""
    end: int
    score: float
    """1: quoted exactly; less: found by likeness."""
    source: Place


class UnverifiedQuote(Answer):
    """What a language model quoted for a concept and is not in the source, or says nothing but its name.

    It is no evidence, and not the source's words.
    """

    quote: str
    source_id: str
    document: str
    paragraph: int


class RelatedConcept(Answer):
    """A concept that is related to another."""

    concept: Concept
    type: str
    """Of the relationship, in the words of the text."""
    outgoing: bool
    """Whether the relationship goes from the concept asked about to this one."""
    confidence: float
    """The highest of those who state it."""
    sources: list[str]
    """Ids of the sources that state it."""
    hops: int = 1
    via: str | None = None
    """Beyond one hop: the id of the concept before it."""


class RelatedConcepts(Answer):
    """What a concept is related to, what most sources state first, the nearer before the further."""

    concept: Concept
    hops: int
    """So many steps were gone."""
    related: list[RelatedConcept]
    more_related: int
    """At least so many more there are: beyond 200 they are not counted."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


class ConceptPassage(Answer):
    """A source that carries a concept, among its neighbours."""

    source_id: str
    carried_by: list[str] = Field(default_factory=list[str])
    """All sources among these that carry the concept, in reading order: windows that touch are one."""
    quotes: list[Evidence]
    unverified: list[UnverifiedQuote] = Field(default_factory=list[UnverifiedQuote])
    """What was quoted and proves nothing. Nothing proves that a source without a quote carries it."""
    sources: list[Place]
    """The neighbours and the source itself, in reading order, of the same document."""


class ConceptContext(Answer):
    """Where a concept stands in the documents."""

    concept: Concept
    window_size: int
    passages: list[ConceptPassage]
    more_passages: int
    """How many sources carry it beyond those given."""


class PathStep(Answer):
    """One relationship of a path."""

    subject: str
    """Id of the concept that it goes from, as the text states it."""
    type: str
    object: str
    sources: list[str]
    """Ids of the sources that state it; for `appears with`, those in which both appear."""


class ConceptPath(Answer):
    """A way from one concept to another."""

    concepts: list[Concept]
    """In order, the first and the last are those asked for."""
    steps: list[PathStep]


class ConceptPaths(Answer):
    """The shortest ways between two concepts."""

    start: Concept
    end: Concept
    paths: list[ConceptPath]
    """None: there is no way within so many hops."""
    hops: int
    """At most so many were looked through."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])
    """What was taken for what was asked, and what was not looked at."""


class Neighbourhood(Answer):
    """The concepts around one, as nodes and edges for a picture."""

    centre: str
    concepts: list[Concept]
    steps: list[PathStep]
    left_out: int
    """At least so many more there are: beyond 200 they are not counted."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


class ConceptList(Page):
    """Some of an ontology's concepts, those of most sources first."""

    concepts: list[Concept]


Hops = Annotated[int, Field(ge=1, le=MAX_HOPS)]
Phrase = Annotated[Text, StringConstraints(max_length=MAX_PHRASE), *VISIBLE]
"""Something to look for; not blank."""
