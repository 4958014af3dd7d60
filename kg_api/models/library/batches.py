"""Many documents in one request, each with its own outcome."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from kg_api.models.base import Answer, Body
from kg_api.models.library.documents import DocumentText, Ingested
from kg_api.models.problems import Problem

MAX_DOCUMENTS_A_BATCH = 1000

_AS_MANY = Field(min_length=1, max_length=MAX_DOCUMENTS_A_BATCH)


class DocumentBatch(Body):
    """Documents as texts, of one ontology or of several."""

    documents: Annotated[list[DocumentText], _AS_MANY]
    """Each is refused alone. Of two that have one ontology and name, the later one is."""


class GivenBatch(Body):
    """A batch as it was sent: what is wrong with one document concerns no other."""

    documents: Annotated[list[Any], _AS_MANY]


class DocumentOutcome(Answer):
    """What became of one document of a batch: one of the two is there."""

    ingested: Ingested | None = None
    problem: Problem | None = None
    """Why it was refused, as `POST /documents` would say it; nothing of it was stored."""


class IngestedBatch(Answer):
    """What became of the documents of a batch."""

    outcomes: list[DocumentOutcome]
    """In the order of the documents."""
