"""What extraction finds in sources, on its way into the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import Field, StringConstraints, model_validator

from kg_api.schemas.base import VISIBLE, Answer, Body, DocumentName, Flag, NodeId, Page, Text, concept_name
from kg_api.schemas.documents import BlockKind
from kg_api.schemas.embedding import RefusedSource
from kg_api.schemas.search import Degradation, Place
from kg_api.schemas.vocabulary import (
    MAX_HOPS,
    MAX_LIMIT,
    MAX_MERGED_TYPES,
    MAX_ONTOLOGIES,
    MAX_PER_SOURCE,
    MAX_PHRASE,
    MAX_TYPES,
    ExtractorName,
    Stance,
)

PER_SOURCE: Mapping[ExtractorName, int] = {"keyphrase": 12, "llm": 6, "none": 6}
"""Concepts of a source, where nothing else is configured (ADR 73)."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A verified quote: a span of its source, verbatim."""

    text: str
    start: int
    """In code points of the source's text, as `end`."""
    end: int
    score: float = 1.0
    """1 for what was quoted exactly; less for what was found by likeness, from 0."""
    said: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractedConcept:
    """A concept that a source carries."""

    label: str
    quotes: tuple[Quote, ...]
    """None of them: it is said of the source, and no quote proves it."""
    description: str = ""
    search_terms: tuple[str, ...] = ()
    confidence: float = 1.0
    unverified: tuple[str, ...] = ()
    """Quotes that a language model gave and that prove nothing: kept, so that they can be looked at."""
    forms: tuple[str, ...] = ()
    """Other forms of the label, such as its plural: whatever is called so is the same concept."""


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    """A relationship that a source states between two concepts found there."""

    subject: str
    type: str
    object: str
    confidence: float = 1.0
    quote: Quote | None = None
    """The sentence that says it, where it was looked for; else what proves its concepts stands for it."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in one source."""

    source_id: str
    content_hash: str
    """Of the source as it was read; what changed since is passed over."""
    concepts: tuple[ExtractedConcept, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()
    unverified: int = 0
    """How many quotes are not in the source or prove nothing, those of concepts that were left out too."""
    refused: str | None = None
    """Why nothing could be extracted; the source is set aside with it."""
    block_kinds: tuple[BlockKind, ...] | None = None
    """Of the source as it was read, where they decide over what is found; as `content_hash`."""


# How concepts are extracted from an ontology: configured, counted, and what it will cost.

PerSource = Annotated[int, Field(ge=1, le=MAX_PER_SOURCE)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class ExtractionConfig(Body):
    """How concepts are extracted from one ontology. What is unset is the service's own setting."""

    extractor: ExtractorName | None = None
    """`keyphrase`: without a language model; `llm`: by one, with relationships; `none`: not at all."""
    per_source: PerSource | None = None
    budget: Dollars | None = None
    """US dollars that the language model may cost in all; the job ends when they are spent."""


class UsedExtraction(Answer):
    """How concepts are extracted, with what is unset filled in."""

    extractor: ExtractorName
    per_source: int
    budget: float | None


class ExtractionCost(Answer):
    """What extraction will take; estimated from a sample where it says so in its notes."""

    sources: int
    requests: int = 0
    tokens_read: int = 0
    tokens_written: int = 0
    price: float | None = 0.0
    """US dollars; 0 without a language model, none when its price is not known."""
    notes: list[str] = Field(default_factory=list[str])


class ExtractionStatus(Answer):
    ontology: str
    config: ExtractionConfig
    used: UsedExtraction
    spent: float
    """US dollars that its language model has cost so far."""
    expected: float = 0.0
    """US dollars that its jobs were to cost, as was estimated when each began: compare with `spent`."""
    fingerprint: str | None = None
    """Of the extractor: another model, prompt or number of concepts has another. None: no model is set."""
    model: str | None = None
    total: int
    extracted: int
    due: int
    stale: int = 0
    """Sources that a model of another fingerprint has read: they stay so until `stale` is asked for."""
    refused: int
    concepts: int
    quotes: int
    relations: int
    unverified_quotes: int = 0
    """That a language model gave and that are not in their sources, or prove nothing: kept and marked."""
    unverified_concepts: int = 0
    cost: ExtractionCost | None = None
    stale_cost: ExtractionCost | None = None
    applied: bool = True
    problem: str | None = None
    """Why nothing can be extracted as the service is set up, and what to do; none when it can be."""
    last_error: str | None = None
    notes: list[str] = Field(default_factory=list[str])


class ExtractionStarted(Answer):
    ontology: str
    due: int
    job_id: str | None
    notes: list[str] = Field(default_factory=list[str])


class UnreadSources(Answer):
    """Sources from which nothing could be extracted; `kg admin concepts extract` tries them again."""

    ontology: str
    total: int
    sources: list[RefusedSource]


# Concepts that a file or a person brings, with where they stand.

MAX_ROWS = 500
MAX_CONCEPTS = 1000
MAX_QUOTES = 20
MAX_PROBLEMS = 200

Label = Annotated[Text, StringConstraints(min_length=1, max_length=200), *VISIBLE]
Passage = Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]


class ConceptGiven(Body):
    label: Label
    description: Annotated[Text, StringConstraints(max_length=1000)] = ""
    search_terms: Annotated[list[Label], Field(max_length=20)] = Field(default_factory=list)
    quotes: Annotated[list[Passage], Field(max_length=MAX_QUOTES)] = Field(default_factory=list)
    """Passages of the text that say it; with none of them the label itself is looked for."""


Statement = tuple[Label, Annotated[Text, StringConstraints(min_length=1, max_length=1000)], Label]
"""Subject, type and object."""


class ConceptRow(Body):
    document: DocumentName | None = None
    title: DocumentName | None = None
    paragraph: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    """Only this source of the document, counted from 0; unset: those in which a concept stands."""
    source_id: NodeId | None = None
    concepts: Annotated[list[ConceptGiven], Field(max_length=MAX_CONCEPTS)] = Field(default_factory=list)
    relations: Annotated[list[Statement], Field(max_length=MAX_CONCEPTS)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_one_place(self) -> Self:
        named = self.document is not None or self.title is not None
        if named == (self.source_id is not None):
            raise ValueError("name a document (document or title) or a source (source_id)")
        if self.source_id is not None and self.paragraph is not None:
            raise ValueError("a paragraph is one of a document: omit it with source_id")
        return self


class ConceptImport(Body):
    rows: Annotated[list[ConceptRow], Field(min_length=1, max_length=MAX_ROWS)]
    """All of one document in one request: what was imported for it before is replaced."""


class ImportProblem(Answer):
    row: int
    place: str
    label: str | None = None
    reason: str


class ConceptsImported(Answer):
    ontology: str
    rows: int
    sources: int
    concepts: int
    appearances: int
    unverified: int
    emptied: int = 0
    relations: int
    problems: list[ImportProblem]
    more_problems: int


def from_openie(row: dict[str, Any]) -> dict[str, Any]:
    """Return a line of HippoRAG's open information extraction as a row, without what is no text."""
    entities = _to_list(row, "entities", "extracted_entities")
    triples = [_texts(each) for each in _to_list(row, "triples", "extracted_triples")]
    labels = dict.fromkeys(each.strip() for each in _texts(entities))
    name = row.get("doc", row.get("idx"))
    place = {"document": None if name is None else str(name), "title": row.get("title") or None}
    return {
        **{key: value for key, value in place.items() if value},
        "concepts": [{"label": each[:200]} for each in labels if each],
        "relations": [
            (subject[:200], kind[:1000], target[:200])
            for subject, kind, target in (each for each in triples if len(each) == 3)  # noqa: PLR2004
            if subject.strip() and kind.strip() and target.strip()
        ],
    }


def portions(
    rows: Iterable[ConceptRow], size: int = 100, characters: int = 400_000
) -> Iterator[list[ConceptRow]]:
    """Yield rows in portions for a request each, those of one document together."""
    together: dict[str, list[ConceptRow]] = {}
    for row in rows:
        key = row.source_id or f"{row.document if row.document is not None else row.title}\n"
        together.setdefault(key, []).append(row)
    portion: list[ConceptRow] = []
    said = 0
    for group in together.values():
        weight = sum(len(row.model_dump_json()) for row in group)
        if portion and (len(portion) + len(group) > size or said + weight > characters):
            yield portion
            portion, said = [], 0
        portion += group
        said += weight
    if portion:
        yield portion


def _to_list(row: dict[str, Any], *names: str) -> list[Any]:
    for name in names:
        if isinstance(found := row.get(name), list):
            return cast("list[Any]", found)
    return []


def _texts(values: Any) -> list[str]:
    return (
        [each for each in cast("list[Any]", values) if isinstance(each, str)]
        if isinstance(values, list)
        else []
    )


# Concepts: what is asked and what comes back.

APPEARS_WITH = "appears with"
"""The type of a relationship that no text states: both concepts are in the same sources."""


class Concept(Answer):
    concept_id: str
    ontology: str
    label: str
    description: str
    search_terms: list[str]
    sources: int
    verified: bool = True
    """Whether a quote proves it. False: all that was quoted for it is not in its sources, or says nothing but
    its name; or nothing was quoted."""


Fits = Literal["name", "words", "meaning"]
"""It is called so; a word of the question is in its names; it is near enough, by the space's own measure."""
MAX_TOLD = 100
NEAREST = 3


class ConceptHit(Concept):
    similarity: float | None
    """Cosine of the question and the concept; none without a vector. Compare those of one space only."""
    space: str | None = None
    score: float
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
    query_text: str
    concepts: list[ConceptHit]
    degraded: list[Degradation]
    note: str | None = None


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
    """What a language model quoted and the source does not say; it is no evidence."""

    quote: str
    source_id: str
    document: str
    paragraph: int


class RelatedConcept(Answer):
    concept: Concept
    type: str
    outgoing: bool
    """Whether the relationship goes from the concept asked about to this one."""
    confidence: float
    sources: list[str]
    hops: int = 1
    via: str | None = None
    """Beyond one hop: the id of the concept before it."""


class RelatedConcepts(Answer):
    concept: Concept
    hops: int
    related: list[RelatedConcept]
    more_related: int
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


class ConceptPassage(Answer):
    source_id: str
    carried_by: list[str] = Field(default_factory=list[str])
    quotes: list[Evidence]
    unverified: list[UnverifiedQuote] = Field(default_factory=list[UnverifiedQuote])
    sources: list[Place]


class ConceptContext(Answer):
    concept: Concept
    window_size: int
    passages: list[ConceptPassage]
    more_passages: int


class PathStep(Answer):
    subject: str
    type: str
    object: str
    sources: list[str]
    """Ids of the sources that state it; for `appears with`, those in which both appear."""


class ConceptPath(Answer):
    concepts: list[Concept]
    steps: list[PathStep]


class ConceptPaths(Answer):
    start: Concept
    end: Concept
    paths: list[ConceptPath]
    hops: int
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


class Neighbourhood(Answer):
    centre: str
    concepts: list[Concept]
    steps: list[PathStep]
    left_out: int
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


class ConceptList(Page):
    concepts: list[Concept]


Hops = Annotated[int, Field(ge=1, le=MAX_HOPS)]
Phrase = Annotated[Text, StringConstraints(max_length=MAX_PHRASE), *VISIBLE]


# Relationships: what is asked of them, and what comes back.

TypeName = Annotated[Text, StringConstraints(max_length=100), *VISIBLE]
"""Of relationships, in the words of an open vocabulary; case and punctuation do not count."""


class RelationshipSearch(Body):
    query_text: Phrase
    ontologies: Annotated[list[Text], Field(min_length=1, max_length=MAX_ONTOLOGIES)] | None = None
    types: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_TYPES)] | None = None
    """Only relationships of these types; one that was merged into another means that one."""
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    min_similarity: Annotated[float, Field(ge=-1, le=1)] | None = None


class RelationshipEnd(Answer):
    concept_id: str
    label: str


class RelationshipEvidence(Answer):
    relation_id: str
    type: str
    statement: str
    quote: str
    start: int | None
    end: int | None
    confidence: float
    source: Place


class RelationshipHit(Answer):
    subject: RelationshipEnd
    type: str
    object: RelationshipEnd
    ontology: str
    similarity: float
    space: str
    confidence: float
    sources: int
    evidence: list[RelationshipEvidence]


class RelationshipHits(Answer):
    query_text: str
    relationships: list[RelationshipHit]
    degraded: list[Degradation]


# How well a concept is grounded: what sources state for it, and against it.


class Grounding(Answer):
    """What sources state for and against a concept, as an opinion of subjective logic.

    Jøsang, Subjective Logic (Springer 2016), chapter 3: of r for and s against, belief is r / (r + s + 2),
    disbelief s / (r + s + 2), uncertainty 2 / (r + s + 2). Each source counts once on each side, by its
    surest statement.
    """

    strength: float
    """Belief and half of the uncertainty: the mean of Beta(r + 1, s + 1). 0.5: as much is stated for it as
    against it, or nothing."""
    belief: float
    disbelief: float
    uncertainty: float
    supporting: float
    contradicting: float
    supporting_evidence: list[RelationshipEvidence]
    contradicting_evidence: list[RelationshipEvidence]
    more_evidence: int


# A concept with all that is known of it.


class ConceptDetails(Concept):
    evidence: list[Evidence]
    more_evidence: int
    unverified: list[UnverifiedQuote] = Field(default_factory=list[UnverifiedQuote])
    more_unverified: int = 0
    related: list[RelatedConcept]
    more_related: int
    grounding: Grounding | None = None


# The vocabulary of relationships: their types, what may be merged, and what was.

Person = Annotated[Text, StringConstraints(max_length=100), *VISIBLE]
_SAID: Final[dict[Stance, tuple[str, ...]]] = {
    "supports": (
        *("supports", "support", "confirms", "corroborates", "proves", "demonstrates", "verifies"),
        *("is evidence for", "agrees with", "is consistent with", "substantiates"),
    ),
    "contradicts": (
        *("contradicts", "contradict", "refutes", "disproves", "disputes", "denies", "rejects"),
        *("is evidence against", "disagrees with", "conflicts with", "is inconsistent with", "rebuts"),
    ),
    "supported by": ("supported by", "is supported by", "confirmed by", "is confirmed by", "proved by"),
    "contradicted by": (
        *("contradicted by", "is contradicted by", "refuted by", "is refuted by", "disputed by"),
    ),
}
STANCES: Final[Mapping[str, Stance]] = MappingProxyType(
    {concept_name(name): stance for stance, names in _SAID.items() for name in names}
)
"""By folded name, what a type says for or against where nobody has said otherwise; all others say nothing."""


def stance_of(name: str, given: str | None) -> Stance:
    """What a type says for or against: what was said of it, else by its name."""
    return cast("Stance", given) if given else STANCES.get(concept_name(name), "neutral")


class RelationshipType(Answer):
    name: str
    relations: int
    also: list[str]
    stance: Stance
    """What it says for or against the concept it goes to, or comes from; `neutral`: nothing."""
    embedded: bool


class RelationshipTypes(Page):
    ontology: str
    types: list[RelationshipType]


class LikeType(Answer):
    name: str
    relations: int
    similarity: float
    shared: int
    examples: list[str]


class TypeProposal(Answer):
    into: str
    relations: int
    examples: list[str]
    merged: list[LikeType]


class TypeProposals(Answer):
    """What might be merged; nothing is, before somebody says so."""

    ontology: str
    min_similarity: float
    compared: int
    proposals: list[TypeProposal]
    notes: list[str]


class Decision(Body):
    """Who decides."""

    by: Person | None = None


class TypeMerging(Decision):
    into: TypeName
    merged: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_MERGED_TYPES)]
    dry_run: Flag = False


class StanceChange(Body):
    type: TypeName
    stance: Stance | None
    """None: by its name again."""


class TypeMerge(Answer):
    merge_id: str | None
    ontology: str
    into: str
    merged: list[str]
    relations: int
    by: str | None
    at: datetime | None
    undone_at: datetime | None = None
    undone_by: str | None = None
    stance_changes: int = 0
    notes: list[str] = Field(default_factory=list[str])


class TypeMerges(Page):
    ontology: str
    merges: list[TypeMerge]


# Concepts that became one: the record, and taking it back.


class ConceptMerge(Answer):
    merge_id: str
    ontology: str
    concept_id: str
    """Of the concept that stayed."""
    into: str
    merged: str
    """The label of the one that became part of it."""
    sources: int
    reason: str | None
    """How both are called: `plural`, `hyphen`, `acronym`, `alias` and so on (ADR 22)."""
    similarity: float | None
    at: datetime
    undone_at: datetime | None = None
    undone_by: str | None = None
    undoable: bool = True
    """Not where it is undone, or had so many sources that what it moved is not recorded."""


class ConceptMerges(Page):
    ontology: str
    merges: list[ConceptMerge]
