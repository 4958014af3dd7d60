"""Listing ontologies."""

from __future__ import annotations

from kg_api.mcp.answers import Listing, Paged, Pager, ToolAnswer
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Answer

NAME = "list_ontologies"
DESCRIPTION = """\
List the collections of documents, called ontologies, and how large they are.

Use it to see what there is, or to find the name that search_sources and list_documents take to narrow down. \
Searching needs none of it: without a name all collections are searched."""


class OntologiesArguments(Paged):
    """Nothing but the budget."""


class OntologyEntry(Answer):
    """A collection of documents."""

    ontology: str
    """Its name."""
    documents: int
    sources: int
    """Paragraphs."""
    searchable: int
    """How many of them are found by meaning at this moment; words find all."""


class OntologiesAnswer(ToolAnswer):
    """All collections, by name."""

    ontologies: list[OntologyEntry]


def ontologies(library: Library, arguments: OntologiesArguments) -> OntologiesAnswer:
    """List ontologies."""
    walk = Pager(NAME, arguments)
    found = [OntologyEntry.model_validate(each.model_dump()) for each in library.ontologies().ontologies]
    frame = OntologiesAnswer(ontologies=[])
    listing = Listing(found, [each.ontology for each in found], "ontologies")
    frame.ontologies, frame.more = walk.step(frame, listing)
    return frame


TOOL = Tool(NAME, "List ontologies", DESCRIPTION, OntologiesArguments, OntologiesAnswer, ontologies)
