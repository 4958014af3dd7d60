"""Extracted concepts, and requests and answers about concepts and relationships."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, Literal, cast

from pydantic import Field, StringConstraints

from kg_api.schemas.base import VISIBLE, Answer, Body, Flag, Page, Text, normalize_concept_name
from kg_api.schemas.documents import BlockKind
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
"""Default number of concepts per source (ADR 73)."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Verified quote: a verbatim span of its source."""

    text: str
    start: int  # offset in code points of the source's text, like `end`
    end: int
    score: float = 1.0  # 1 for an exact quote, less for a similar text, down to 0
    said: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractedConcept:
    label: str
    quotes: tuple[Quote, ...]  # Quotes that prove the concept. Empty: unverified.
    description: str = ""
    search_terms: tuple[str, ...] = ()
    confidence: float = 1.0
    unverified: tuple[str, ...] = ()
    """Quotes of a language model that prove nothing. kg stores them for inspection."""
    forms: tuple[str, ...] = ()
    """Other forms of the label, such as the plural. Each form names the same concept."""


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    subject: str
    type: str
    object: str
    confidence: float = 1.0
    quote: Quote | None = None
    """Sentence with the relationship, if the extractor looked for it. None: the quotes of its concepts."""


@dataclass(frozen=True, slots=True)
class Extraction:
    source_id: str
    content_hash: str  # Hash of the extracted text. kg discards the extraction if the source changed.
    concepts: tuple[ExtractedConcept, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()
    unverified: int = 0
    """Number of quotes that are not in the source or prove nothing, also of dropped concepts."""
    refused: str | None = None  # Reason for a failed extraction. kg stores it and skips the source.
    block_kinds: tuple[BlockKind, ...] | None = None
    """Block kinds of the extracted text, if they affect the result. Used like `content_hash`."""


# Extraction of concepts: configuration, counts, and cost

PerSource = Annotated[int, Field(ge=1, le=MAX_PER_SOURCE)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class ExtractionConfig(Body):
    """Concept extraction of one ontology. Unset fields take the value of the service's settings."""

    extractor: ExtractorName | None = None
    """`keyphrase`: no language model. `llm`: language model, with relationships. `none`: no extraction."""
    per_source: PerSource | None = None
    budget: Dollars | None = None
    """Maximum total cost of the language model in US dollars. A job ends at the limit."""


class UsedExtraction(Answer):
    """Concept extraction with all defaults."""

    extractor: ExtractorName
    per_source: int
    budget: float | None


class ExtractionCost(Answer):
    """Cost of an extraction. The notes report an estimate from a sample."""

    sources: int
    requests: int = 0
    tokens_read: int = 0
    tokens_written: int = 0
    price: float | None = 0.0
    """US dollars. 0 without a language model, null if the price is unknown."""
    notes: list[str] = Field(default_factory=list[str])


class ExtractionStatus(Answer):
    ontology: str
    config: ExtractionConfig
    used: UsedExtraction
    spent: float
    fingerprint: str | None = None
    """Fingerprint of the extractor: model, prompt, and number of concepts. Null: no model is set."""
    model: str | None = None
    total: int
    extracted: int
    due: int
    stale: int = 0
    """Number of sources from an extractor with another fingerprint. They stay until you select `stale`."""
    refused: int
    concepts: int
    quotes: int
    relations: int
    unverified_quotes: int = 0
    """Number of stored quotes of a language model that are not in their source or prove nothing."""
    unverified_concepts: int = 0
    cost: ExtractionCost | None = None
    stale_cost: ExtractionCost | None = None
    applied: bool = True
    problem: str | None = None
    """Reason why the service cannot extract concepts, and the fix. Null if it can."""
    last_error: str | None = None
    notes: list[str] = Field(default_factory=list[str])


# Concepts

APPEARS_WITH = "appears with"
"""Type of a relationship that no text states: both concepts are in the same sources."""


class Concept(Answer):
    concept_id: str
    ontology: str
    label: str
    description: str
    search_terms: list[str]
    sources: int
    verified: bool = True
    """Whether a quote in its sources proves the concept. A quote of only its name proves nothing."""


Fits = Literal["name", "words", "meaning"]
"""Reasons for a match: equal name, shared keyword, or similarity above the minimum of the space."""
MAX_TOLD = 100
NEAREST = 3


class ConceptHit(Concept):
    similarity: float | None
    """Cosine similarity of query and concept. Null without a vector. Comparable only in one space."""
    space: str | None = None
    score: float
    fits: Fits | None = None
    """Reason for a match. Null: only the nearest concept."""


def find_meant(hits: Sequence[ConceptHit]) -> ConceptHit | None:
    """Return the concept for a phrase: the one with this name, or the first match."""
    fitting = [each for each in hits if each.fits]
    return next((each for each in fitting if each.fits == "name"), fitting[0] if fitting else None)


def describe_choice(text: str, best: ConceptHit, found: Sequence[ConceptHit], option: str) -> str | None:
    """Describe the chosen concept if it has another name, or if other ontologies have one of this name."""
    if best.fits != "name":
        return f"no concept has the name {text!r}. kg chose the best match {best.label!r}"
    same_name = [each for each in found if each.fits == "name" and each.ontology != best.ontology]
    if not same_name:
        return None
    others = ", ".join(map(repr, list(dict.fromkeys(each.ontology for each in same_name))[:NEAREST]))
    return f"kg chose the concept of {best.ontology!r}. Others are in {others}: choose with {option}"


def format_nearest_labels(hits: Iterable[Concept]) -> str:
    """Return the nearest labels as a part of a message, or an empty text without concepts."""
    labels = list(dict.fromkeys(repr(each.label) for each in hits))[:NEAREST]
    return f" (nearest: {', '.join(labels)})" if labels else ""


def describe_no_match(query_text: str, hits: Sequence[ConceptHit]) -> str | None:
    if not hits or any(each.fits for each in hits):
        return None
    text = f"{query_text[:MAX_TOLD]!r}{format_nearest_labels(hits)}"
    return f"no concept matches {text}: those found are only the nearest there are"


class ConceptHits(Answer):
    query_text: str
    concepts: list[ConceptHit]
    degraded: list[Degradation]
    note: str | None = None


class Evidence(Answer):
    """Verbatim quote of a source that proves a concept."""

    instance_id: str
    quote: str
    start: int
    """First code point in the document's text."""
    end: int
    score: float
    """1 for an exact quote, less for a similar text."""
    source: Place


class UnverifiedQuote(Answer):
    """Quote of a language model that the source does not contain."""

    quote: str
    source_id: str
    document: str
    paragraph: int


class RelatedConcept(Answer):
    concept: Concept
    type: str
    outgoing: bool
    """Whether the relationship starts at the requested concept."""
    confidence: float
    sources: list[str]
    hops: int = 1
    via: str | None = None
    """Id of the previous concept, beyond one hop."""


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
    """Ids of the sources that state the relationship. For `appears with`: sources with both concepts."""


class ConceptPath(Answer):
    concepts: list[Concept]
    steps: list[PathStep]


class ConceptPaths(Answer):
    start: Concept
    end: Concept
    paths: list[ConceptPath]
    hops: int
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


class ConceptList(Page):
    concepts: list[Concept]


Hops = Annotated[int, Field(ge=1, le=MAX_HOPS)]
Phrase = Annotated[Text, StringConstraints(max_length=MAX_PHRASE), *VISIBLE]


# Relationships

TypeName = Annotated[Text, StringConstraints(max_length=100), *VISIBLE]
"""Relationship type of an open vocabulary. Case and punctuation do not matter."""


class RelationshipSearch(Body):
    query_text: Phrase
    ontologies: Annotated[list[Text], Field(min_length=1, max_length=MAX_ONTOLOGIES)] | None = None
    types: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_TYPES)] | None = None
    """Types of relationships. A merged type selects the type that replaced it."""
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


# Grounding of a concept


class Grounding(Answer):
    """Evidence for and against a concept, as an opinion of subjective logic.

    Jøsang, Subjective Logic (Springer 2016), chapter 3: with r for and s against, belief is r / (r + s + 2),
    disbelief s / (r + s + 2), uncertainty 2 / (r + s + 2). Each source counts once on each side, with the
    highest confidence of its statements.
    """

    strength: float
    """Belief plus half of the uncertainty, the mean of Beta(r + 1, s + 1). 0.5: balanced or no evidence."""
    belief: float
    disbelief: float
    uncertainty: float
    supporting: float
    contradicting: float
    supporting_evidence: list[RelationshipEvidence]
    contradicting_evidence: list[RelationshipEvidence]
    more_evidence: int


# Details of a concept


class ConceptDetails(Concept):
    evidence: list[Evidence]
    more_evidence: int
    unverified: list[UnverifiedQuote] = Field(default_factory=list[UnverifiedQuote])
    more_unverified: int = 0
    related: list[RelatedConcept]
    more_related: int
    grounding: Grounding | None = None


# Relationship types and their merges

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
    {normalize_concept_name(name): stance for stance, names in _SAID.items() for name in names}
)
"""Default stance by folded name. All other types are neutral."""


def choose_stance(name: str, given: str | None) -> Stance:
    """Return the given stance, or the default for the name."""
    return cast("Stance", given) if given else STANCES.get(normalize_concept_name(name), "neutral")


class RelationshipType(Answer):
    name: str
    relations: int
    also: list[str]
    stance: Stance
    """Stance towards the target or the start of a relationship."""
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
    """Suggested merges. kg merges nothing automatically."""

    ontology: str
    min_similarity: float
    compared: int
    proposals: list[TypeProposal]
    notes: list[str]


class Decision(Body):
    by: Person | None = None


class TypeMerging(Decision):
    into: TypeName
    merged: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_MERGED_TYPES)]
    dry_run: Flag = False


class StanceChange(Body):
    type: TypeName
    stance: Stance | None
    """Null: default for the name."""


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


# Merges of concepts


class ConceptMerge(Answer):
    merge_id: str
    ontology: str
    concept_id: str
    """Id of the remaining concept."""
    into: str
    merged: str
    """Label of the removed concept."""
    sources: int
    reason: str | None
    """Relation of the labels: `plural`, `hyphen`, `acronym`, `alias`, and so on (ADR 22)."""
    similarity: float | None
    at: datetime
    undone_at: datetime | None = None
    undone_by: str | None = None
    undoable: bool = True
    """Whether the merge can be undone. False if it already was, or moved too many sources to record."""


class ConceptMerges(Page):
    ontology: str
    merges: list[ConceptMerge]
