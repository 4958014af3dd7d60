"""What is to be embedded, and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from kg_api.graph.database import Graph, Row
from kg_api.models.documents import MetadataValue


@dataclass(frozen=True, slots=True)
class Mark:
    """How the sources of an ontology shall be embedded: the value that a property of each shall have."""

    property: str
    value: str

    def parameters(self) -> dict[str, str]:
        """As statements take it."""
        return {"mark_property": self.property, "mark": self.value}


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source, what it says and where; `start` in code points of the document's text."""

    source_id: str
    document_id: str
    paragraph: int
    heading: tuple[str, ...]
    start: int
    full_text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class DocumentAbout:
    """What stands in front of a chunk when it is embedded with its context."""

    title: str
    metadata: dict[str, MetadataValue]


def due_sources(
    graph: Graph, ontology: str, mark: Mark, *, after: tuple[str, int], limit: int
) -> list[SourceText]:
    """The next sources that are not embedded as they shall be, in reading order.

    Args:
        graph: where they are.
        ontology: whose.
        mark: how they shall be.
        after: document and paragraph of the last one that was looked at; ("", -1) at the beginning.
        limit: most of them.
    """
    document, paragraph = after
    rows = graph.read(
        "sources/due",
        ontology=ontology,
        **mark.parameters(),
        after_document=document,
        after_paragraph=paragraph,
        limit=limit,
    )
    return [_source(row) for row in rows]


def count_due(graph: Graph, ontology: str, mark: Mark) -> int:
    """How many sources of an ontology are not embedded as they shall be."""
    return graph.read("sources/count_due", ontology=ontology, **mark.parameters())[0]["due"]


def sources_of_document(graph: Graph, document_id: str) -> list[SourceText]:
    """All sources of a document in reading order; empty when it has gone."""
    return [_source(row) for row in graph.read("sources/of_document", document_id=document_id)]


def versions_of(graph: Graph, document_ids: Iterable[str]) -> dict[str, str | None]:
    """By document, which write made it what it is; one that has gone is missing."""
    rows = graph.read("documents/versions", document_ids=sorted(set(document_ids)))
    return {row["document_id"]: row["version"] for row in rows}


def about_documents(graph: Graph, document_ids: Sequence[str]) -> dict[str, DocumentAbout]:
    """Titles and metadata by document."""
    rows = graph.read("documents/about", document_ids=sorted(set(document_ids)))
    return {row["document_id"]: _about(row) for row in rows}


def _about(row: Row) -> DocumentAbout:
    metadata: dict[str, Any] = json.loads(row["metadata"] or "{}")
    return DocumentAbout(row["title"] or "", metadata)


def _source(row: Row) -> SourceText:
    known = {**row, "heading": tuple[str, ...](row["heading"])}
    return SourceText(**cast("dict[str, Any]", known))
