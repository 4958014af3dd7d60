"""What extraction finds in sources, on its way into the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kg_api.models.library.parsing import BlockKind
from kg_api.models.vocabulary import ExtractorName

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
    """What the model quoted, where it differs from `text`."""


@dataclass(frozen=True, slots=True)
class ExtractedConcept:
    """A concept that a source carries."""

    label: str
    quotes: tuple[Quote, ...]
    """None of them: it is said of the source, and no quote proves it."""
    description: str = ""
    search_terms: tuple[str, ...] = ()
    confidence: float = 1.0
    """0 to 1."""
    unverified: tuple[str, ...] = ()
    """Quotes that a language model gave and that prove nothing: kept, so that they can be looked at."""
    forms: tuple[str, ...] = ()
    """Other forms of the label, such as its plural: whatever is called so is the same concept."""


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    """A relationship that a source states between two concepts found there."""

    subject: str
    """The label of a concept, as `object`."""
    type: str
    """In the words of an open vocabulary, such as "published by"."""
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
