"""Searching concepts and sources together: what is asked and what comes back."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.models.base import Answer, Body, Flag, Text, visible
from kg_api.models.concepts.queries import ConceptHit
from kg_api.models.queries.fields import (
    DocumentNames,
    HitsCursor,
    Kinds,
    Limit,
    Ontologies,
    Similarity,
    TokenBudget,
    Window,
)
from kg_api.models.queries.filters import Where
from kg_api.models.queries.places import ContextWindow
from kg_api.models.queries.search import Degradation, Respelling, SourceHit
from kg_api.models.vocabulary import DEFAULT_WINDOW, MAX_LIMIT, MAX_QUERY_CHARACTERS, HybridMode


class HybridSearch(Body):
    """A search for concepts and sources."""

    query_text: Annotated[
        Text, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS), AfterValidator(visible)
    ]
    """What to look for, in plain words; no query language."""
    ontology: Ontologies | None = None
    """Search only these; unset or null: all."""
    documents: DocumentNames | None = None
    """Find sources only in these documents: by name, `ONTOLOGY/NAME` or id; unset or null: in all."""
    where: Where | None = None
    """Only documents for which all these hold; a text is read as one: `date>=2025-01-01`, `tags=oncall`."""
    kinds: Kinds | None = None
    """Find only sources of these kinds, such as `["image"]`; unset or null: of all."""
    mode: HybridMode = "hybrid"
    """How sources are found. `hybrid`: by meaning, by words and through concepts; `graph`: by meaning and
    words, and from the sixth on also through concepts; `concept`: only through the
    concepts of the question; `source`: by meaning and words; `text`: by words."""
    concept_limit: Annotated[int, Field(strict=True, ge=0, le=MAX_LIMIT)] = 5
    source_limit: Limit = 10
    cursor: HitsCursor | None = None
    """`next_cursor` of the page before, for the sources behind it; all else as in that request. Concepts are
    in the first page only. Pages give 1,000 sources at most."""
    min_similarity: Similarity | None = None
    """Leave out sources whose cosine similarity is lower, or that have no vector yet. Not for mode `text`."""
    rerank: Flag = False
    """Let a cross-encoder read question and passage together, and blend its scores into the order."""
    collapse_duplicates: Flag = False
    """Give near-duplicates once; the hit names the others."""
    explain: Flag = False
    """Tell how each source came to its place."""
    expand_context: Flag = False
    """Give each source's neighbours too, and all of them as merged windows."""
    window_size: Window = DEFAULT_WINDOW
    """How many paragraphs before and after."""
    token_budget: TokenBudget | None = None
    """How many tokens the windows may have together; those of the best hits come first."""


class HybridHits(Answer):
    """The answer to a search for concepts and sources."""

    query_text: str
    mode: HybridMode
    concepts: list[ConceptHit]
    """Those that fit the question, the best first."""
    sources: list[SourceHit]
    """The best first; each names its concepts, and those through which it came."""
    near: bool | None = None
    """Whether a passage is near the question, by what its model's cosines mean, or because it has all of the
    question's words. Null: nobody can say, as in mode `text`, or with `hyde`."""
    note: str | None = None
    """That nothing is near, where that is so: what was found is only the nearest there is."""
    concepts_note: str | None = None
    """That no concept fits, where that is so: those found are only the nearest there are."""
    next_cursor: str | None = None
    """For the sources behind these; none when there are no more. The next page may be empty."""
    windows: list[ContextWindow] = Field(default_factory=list[ContextWindow])
    """What to read: neighbours of all hits, merged and within the budget; with `expand_context`."""
    did_you_mean: list[Respelling] = Field(default_factory=list[Respelling])
    """Words that no text has, and what was looked for as well; `degraded` says it as a sentence."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]
