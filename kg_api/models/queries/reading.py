"""Reading a document in its order, as much of it at once as a budget allows."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.base import Answer
from kg_api.models.library.documents import DocumentSummary
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation


class DocumentReading(Answer):
    """Consecutive paragraphs of a document, whole ones, from a place on."""

    document: DocumentSummary
    start: int
    """The paragraph that it begins with, from 0."""
    sources: list[Place]
    """In reading order, without a gap; one at least, unless the document has none."""
    tokens: int
    """Of these, by the tokenizer of the space's model, or estimated where that is not at hand."""
    next: int | None = None
    """The paragraph to go on from; null where the document ends."""
    left: int = 0
    """Paragraphs behind these."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])
