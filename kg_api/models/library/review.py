"""Documents that wait until somebody approves them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from kg_api.models.base import Answer, Body, DocumentName, Flag, OntologyName, Page
from kg_api.models.library.batches import DocumentOutcome

MAX_WAITING = 10_000
"""So many documents of one ontology may wait."""
MAX_REVIEWED = 1000
"""So many documents may be named in one request."""


class WaitingDocument(Answer):
    """A document that waits; nothing of it is embedded, read or found."""

    document_id: str
    """The id that it will have."""
    ontology: str
    document: str
    title: str
    format: str
    characters: int
    sources: int
    given_at: datetime
    beginning: str
    """The first 300 characters of its text."""
    replaces: bool
    """Whether a document of that name is stored, which stays as it is until this one is approved."""


class WaitingDocuments(Page):
    """What waits, by ontology and name."""

    documents: list[WaitingDocument]


class Review(Body):
    """Which documents that wait are meant."""

    ontology: OntologyName
    documents: Annotated[list[DocumentName], Field(min_length=1, max_length=MAX_REVIEWED)] | None = None
    """Their names."""
    all: Flag = False
    """All that wait, in place of names; a portion a request."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.all == (self.documents is not None):
            raise ValueError("name documents, or say `all`: one of the two")
        return self


class Approval(Review):
    """Which documents that wait are approved."""

    after: DocumentName | None = None
    """With `all`: where the last request came to, its `next`."""


class Approved(Answer):
    """What became of documents that were approved; one that could not be stored waits on."""

    outcomes: list[DocumentOutcome]
    """In the order of their names."""
    unknown: list[str] = Field(default_factory=list[str])
    """Names under which nothing waits."""
    next: str | None = None
    """With `all`: what to send as `after` for the next portion; none at the end."""


class Rejected(Answer):
    """What was rejected."""

    rejected: int
    unknown: list[str] = Field(default_factory=list[str])
    """Names under which nothing waits."""
    waiting: int
    """How many documents of the ontology wait now."""
