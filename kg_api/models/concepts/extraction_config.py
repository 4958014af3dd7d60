"""How concepts are extracted from an ontology: configured, counted, and what it will cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.models.base import Answer, Body
from kg_api.models.embedding.configuration import RefusedSource
from kg_api.models.vocabulary import MAX_PER_SOURCE, ExtractorName

PerSource = Annotated[int, Field(ge=1, le=MAX_PER_SOURCE)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class ExtractionConfig(Body):
    """How concepts are extracted from one ontology. What is unset is the service's own setting."""

    extractor: ExtractorName | None = None
    """`keyphrase`: without a language model; `llm`: by one, with relationships; `none`: not at all."""
    per_source: PerSource | None = None
    """Most concepts of one source."""
    budget: Dollars | None = None
    """US dollars that the language model may cost in all; the job ends when they are spent."""


class UsedExtraction(Answer):
    """How concepts are extracted, with what is unset filled in."""

    extractor: ExtractorName
    per_source: int
    budget: float | None
    """None: no bound."""


class ExtractionCost(Answer):
    """What extraction will take; estimated from a sample where it says so in its notes."""

    sources: int
    """Sources to read."""
    requests: int = 0
    """To the language model."""
    tokens_read: int = 0
    tokens_written: int = 0
    price: float | None = 0.0
    """US dollars; 0 without a language model, none when its price is not known."""
    notes: list[str] = Field(default_factory=list[str])


class ExtractionStatus(Answer):
    """An ontology's configuration of extraction, and how far that is."""

    ontology: str
    config: ExtractionConfig
    """As it was set."""
    used: UsedExtraction
    """As it is."""
    spent: float
    """US dollars that its language model has cost so far."""
    expected: float = 0.0
    """US dollars that its jobs were to cost, as was estimated when each began: compare with `spent`."""
    fingerprint: str | None = None
    """Of the extractor: another model, prompt or number of concepts has another. None: no model is set."""
    model: str | None = None
    """The language model, where one extracts."""
    total: int
    """Sources."""
    extracted: int
    due: int
    """Sources that are read without being asked for."""
    stale: int = 0
    """Sources that a model of another fingerprint has read: they stay so until `stale` is asked for."""
    refused: int
    """Set aside, for nothing could be extracted."""
    concepts: int
    quotes: int
    relations: int
    unverified_quotes: int = 0
    """That a language model gave and that are not in their sources, or prove nothing: kept and marked."""
    unverified_concepts: int = 0
    """That no quote proves, whoever found them."""
    cost: ExtractionCost | None = None
    """What reading those that are due takes; of a preview and of a new configuration."""
    stale_cost: ExtractionCost | None = None
    """What reading the stale ones again takes."""
    applied: bool = True
    """False for a dry run."""
    problem: str | None = None
    """Why nothing can be extracted as the service is set up, and what to do; none when it can be."""
    last_error: str | None = None
    """Why its last job died; none when it did not."""
    notes: list[str] = Field(default_factory=list[str])


class ExtractionStarted(Answer):
    """The job that extracts concepts."""

    ontology: str
    due: int
    job_id: str | None
    """None when nothing is due."""
    notes: list[str] = Field(default_factory=list[str])


class UnreadSources(Answer):
    """Sources from which nothing could be extracted; `kg admin concepts extract` tries them again."""

    ontology: str
    total: int
    sources: list[RefusedSource]
    """At most 1,000, in reading order."""
