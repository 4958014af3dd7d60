"""What is to be embedded, and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.models.configuration import RefusedSource
from kg_api.models.documents import MetadataValue
from kg_api.models.jobs import Selection

LAST = "~"
"""Behind every document id."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How the sources of an ontology shall be embedded: the value that a property of each shall have."""

    key: str
    value: str
    time_property: str
    refusal_property: str

    @property
    def refused(self) -> str:
        """What the property of a source is that could not be embedded so."""
        return f"refused:{self.value}"

    def parameters(self) -> dict[str, str]:
        """As statements take it."""
        return {"mark_property": self.key, "mark": self.value, "refused": self.refused}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sources of an ontology are to be embedded."""

    ontology: str
    mark: Mark
    """How."""
    answering_property: str
    """The mark of those that answer searches, which may be others than are being built."""
    selection: Selection = "due"
    forced_at: Any = None
    """Database time; what was embedded before it is embedded anew."""
    within: tuple[str, str] = ("", "")
    """Only documents from this id to before that one; empty: no border."""

    def parameters(self) -> dict[str, Any]:
        """As statements take it."""
        return {
            "ontology": self.ontology,
            **self.mark.parameters(),
            "time_property": self.mark.time_property,
            "answering_property": self.answering_property,
            "selection": self.selection,
            "forced_at": self.forced_at,
            "until": self.within[1] or LAST,
        }


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


def due_sources(graph: Graph, wanted: Wanted, *, after: tuple[str, int], limit: int) -> list[SourceText]:
    """The next sources that are not embedded as they shall be, in reading order.

    Args:
        graph: where they are.
        wanted: which.
        after: document and paragraph of the last one that was looked at; ("", -1) at the beginning.
        limit: most of them.
    """
    document, paragraph = after if after[0] >= wanted.within[0] else (wanted.within[0], -1)
    place = {"after_document": document, "after_paragraph": paragraph}
    rows = graph.read("sources/due", **wanted.parameters(), **place, limit=limit)
    return [source_text(row) for row in rows]


def count_due(graph: Graph, wanted: Wanted) -> int:
    """How many sources are not embedded as they shall be."""
    return graph.read("sources/count_due", **wanted.parameters())[0]["due"]


@dataclass(frozen=True, slots=True)
class Behind:
    """Sources that answer searches now, and would not with another mark."""

    behind: int
    """They are not built yet."""
    refused: int
    """The model does not take them."""


def count_behind(tx: Transaction, ontology: str, mark: Mark, answering_property: str) -> Behind:
    """Count the sources that answer searches now and would not with that mark."""
    rows = tx.run(
        "sources/count_behind", ontology=ontology, **mark.parameters(), answering_property=answering_property
    )
    return Behind(**rows[0])


def refused_sources(graph: Graph, ontology: str, mark: Mark, *, limit: int) -> list[RefusedSource]:
    """The sources that were set aside, with the reasons, in reading order."""
    names = {"mark_property": mark.key, "refusal_property": mark.refusal_property}
    rows = graph.read(
        "sources/refused",
        ontology=ontology,
        **names,
        time_property=mark.time_property,
        refused=mark.refused,
        limit=limit,
    )
    return [RefusedSource.model_validate({**row, "at": row["at"].to_native()}) for row in rows]


def retry_refused(tx: Transaction, ontology: str, mark: Mark) -> int:
    """Let sources that were set aside be tried again; how many."""
    names = {"mark_property": mark.key, "refusal_property": mark.refusal_property}
    rows = tx.run("sources/retry_refused", ontology=ontology, **names, refused=mark.refused)
    return rows[0]["sources"]


def sources_of_document(graph: Graph, document_id: str) -> list[SourceText]:
    """All sources of a document in reading order; empty when it has gone."""
    return [source_text(row) for row in graph.read("sources/of_document", document_id=document_id)]


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


def source_text(row: Row) -> SourceText:
    """A source from its properties."""
    known = {**row, "heading": tuple[str, ...](row["heading"])}
    return SourceText(**cast("dict[str, Any]", known))
