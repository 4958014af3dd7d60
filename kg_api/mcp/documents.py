"""Listing documents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from kg_api.mcp.answers import Paged, Pager, ToolAnswer, list_page
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Answer, Body, OntologyName
from kg_api.schemas.metadata import date_of
from kg_api.schemas.problems import valid

NAME = "list_documents"
DESCRIPTION = """\
List documents by name, with title, date and size, of one ontology or of all.

Use it to see which documents there are, or to find the name that `documents` of search_sources and \
read_document take. It is no search: to find what a document says use search_sources."""

AT_ONCE = 100


class DocumentsArguments(Paged):
    """Whose documents."""

    ontology: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Only of this collection; unset: of all."""
    where: list[str] | None = None
    """Conditions on documents: `date>=2025-01-01`, `tags=oncall`."""


class DocumentEntry(Answer):
    """A document without its text."""

    ontology: str
    document: str
    """Its name."""
    document_id: str
    title: str
    date: str | None = None
    """When it was written."""
    uri: str | None = None
    """Where it came from."""
    characters: int
    sources: int
    """Paragraphs."""
    updated_at: datetime


class DocumentsAnswer(ToolAnswer):
    """Documents by ontology and name."""

    total: int
    """All there are, not only those in this answer."""
    documents: list[DocumentEntry]
    notes: list[str] = Field(default_factory=list[str])
    """Why there are none."""


class _Asked(Body):
    ontology: OntologyName | None = None


def documents(library: Library, arguments: DocumentsArguments) -> DocumentsAnswer:
    """List documents."""
    asked = valid(_Asked, {"ontology": arguments.ontology})
    walk = Pager(NAME, arguments)
    page = library.documents(asked.ontology, walk.page_start, AT_ONCE, arguments.where or ())
    frame = DocumentsAnswer(total=page.total, documents=[], notes=page.notes)
    entries = [
        DocumentEntry.model_validate({**each.model_dump(), "date": date_of(each.metadata)})
        for each in page.documents
    ]
    listing = list_page(page, entries, [each.document_id for each in entries], "documents")
    frame.documents, frame.more = walk.step(frame, listing)
    return frame


TOOL = Tool(NAME, "List documents", DESCRIPTION, DocumentsArguments, DocumentsAnswer, documents)
