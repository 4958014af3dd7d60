"""Reading around one source, within a budget."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.base import Answer
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation


class SourceContext(Answer):
    """A source among its neighbours of the same document."""

    source_id: str
    window_size: int
    sources: list[Place]


class SourceWindow(SourceContext):
    """A source among its neighbours, as many of them as a budget of tokens allows.

    Paragraphs are whole or left out; what is given follows each other without a gap.
    """

    token_budget: int | None = None
    """The one asked for."""
    tokens: int | None = None
    """Of the paragraphs given, by the tokenizer of the space's model; only counted for a budget."""
    left_out: int = 0
    """Paragraphs of the window that did not fit."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])
