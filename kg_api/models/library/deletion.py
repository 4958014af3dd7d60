"""Deleting by filter."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.models.base import Answer, Body, Flag
from kg_api.models.library.documents import Deleted, DocumentSummary
from kg_api.models.queries.fields import Ontologies
from kg_api.models.queries.filters import Where

MAX_SHOWN = 10


class DocumentDeletion(Body):
    """Which documents go."""

    where: Annotated[Where, Field(min_length=1)]
    """All of these hold. There is one at least: to delete everything, delete the ontology."""
    ontology: Ontologies | None = None
    """Only documents of these; unset or null: of all."""
    dry_run: Flag = True
    """Delete nothing, and say what would go."""
    expected: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Delete only where so many documents fit, as a dry run said; else 409. Where none is left, it has been
    done already."""
    expected_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    """Delete only where exactly those documents fit that a dry run counted: the `digest` that it gave; else
    409."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are looked into; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology


class DeletedMatching(Deleted, Answer):
    """What was deleted, or what would be."""

    dry_run: bool
    """Whether nothing was deleted: the counts are of what would go."""
    first: list[DocumentSummary]
    """Some of them, by ontology and name, as they were."""
    digest: str | None = None
    """Of a dry run: stands for all of them, for `expected_digest`."""
