"""What is to be embedded, and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.spaces.marks import RENEWED, Mark
from kg_api.models.embedding.configuration import RefusedSource
from kg_api.models.library.metadata import MetadataValue
from kg_api.models.library.parsing import Format, SourceBlock
from kg_api.models.vocabulary import Selection

BEGINNING: Final = ("", -1)
"""Before the first paragraph of any document."""
LAST = "~"
"""Behind every document id."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which nodes of an ontology are to be embedded."""

    ontology: str
    mark: Mark
    """How."""
    answering_property: str
    """The mark of those that answer searches, which may be others than are being built."""
    selection: Selection = "due"
    forced_at: Any = None
    """Database time; what was embedded before it is embedded anew."""
    within: tuple[str, str] = ("", "")
    """Of sources: only of documents from this id to before that one; empty: no border."""
    wants_all: bool = True
    """Of concepts: whether those of a single source are embedded too that never were."""

    def parameters(self) -> dict[str, Any]:
        return {
            "ontology": self.ontology,
            **self.mark.parameters(),
            "answering_property": self.answering_property,
            "selection": self.selection,
            "forced_at": self.forced_at,
            "until": self.within[1] or LAST,
            "wants_all": self.wants_all,
            "renewed": RENEWED,
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
    blocks: tuple[SourceBlock, ...] = field(default=(), compare=False)
    """Read with the document only; none of those that were stored before kinds were (ADR 39)."""
    renewed: bool = field(default=False, compare=False)
    """Whether somebody asked for it to be embedded anew, and not from the cache."""

    @property
    def identity(self) -> str:
        return self.source_id

    @property
    def place(self) -> str:
        """Where it stands in reading order."""
        return f"{self.document_id}:{self.paragraph}"


@dataclass(frozen=True, slots=True)
class DocumentAbout:
    """What stands in front of a chunk when it is embedded with its context, and how the document is read."""

    title: str
    metadata: dict[str, MetadataValue]
    document: str = ""
    format: Format = "text"


def reading_place(place: str) -> tuple[str, int]:
    """Document and paragraph of a source's `place`; before all for ""."""
    document, _, paragraph = place.rpartition(":")
    return (document, int(paragraph)) if document else BEGINNING


def due_sources(graph: Graph, wanted: Wanted, *, after: tuple[str, int], limit: int) -> list[SourceText]:
    """The next sources that are not embedded as they shall be, in reading order.

    Args:
        graph: where they are.
        wanted: which.
        after: document and paragraph of the last one that was looked at; ("", -1) at the beginning.
        limit: most of them.
    """
    document, paragraph = after if after[0] >= wanted.within[0] else (wanted.within[0], -1)
    place = {"after": document, "after_paragraph": paragraph}
    rows = graph.read("embedding/due", **wanted.parameters(), **place, limit=limit)
    return [source_text(row) for row in rows]


@dataclass(frozen=True, slots=True)
class DueText:
    """A concept, a relationship or a type of relationships, and the text of it that is embedded."""

    identity: str
    text: str
    text_hash: str

    @property
    def place(self) -> str:
        """They are looked at in the order of their ids."""
        return self.identity


def due_in_order(graph: Graph, wanted: Wanted, *, after: str, limit: int) -> list[Row]:
    """The next that are not embedded as they shall be, of what is walked in the order of its ids.

    Args:
        graph: where they are.
        wanted: which.
        after: the id of the last one that was looked at; "" at the beginning.
        limit: most of them.
    """
    place = {"after": after, "after_paragraph": -1}
    return graph.read("embedding/due", **wanted.parameters(), **place, limit=limit)


def count_due(graph: Graph, wanted: Wanted) -> int:
    """How many nodes are not embedded as they shall be."""
    return graph.read("embedding/count_due", **wanted.parameters())[0]["due"]


@dataclass(frozen=True, slots=True)
class Behind:
    """Nodes that answer searches now, and would not if embedded as wanted."""

    behind: int
    """They are not built yet."""
    refused: int
    """The model does not take them."""


def count_behind(tx: Transaction, wanted: Wanted) -> Behind:
    """Count the nodes that answer searches now, and would not with the mark that is wanted."""
    return Behind(**tx.run("embedding/count_behind", **wanted.parameters())[0])


def count_all_behind(tx: Transaction, wanted: Iterable[Wanted]) -> int:
    """How many of several kinds answer searches now, and are not built yet."""
    return sum(count_behind(tx, each).behind for each in wanted)


def read_refused_sources(graph: Graph, ontology: str, mark: Mark, *, limit: int) -> list[RefusedSource]:
    """The sources that were set aside, with the reasons, in reading order."""
    rows = graph.read("sources/refused", ontology=ontology, **mark.parameters(), limit=limit)
    return [RefusedSource.model_validate({**row, "at": row["at"].to_native()}) for row in rows]


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
    return DocumentAbout(row["title"] or "", metadata, row["document"], row["format"])


def source_text(row: Row) -> SourceText:
    known: dict[str, Any] = {name: row.get(name) for name in SourceText.__dataclass_fields__}
    known["heading"] = tuple(row["heading"])
    known["renewed"] = row.get("renewed", False)
    known["blocks"] = tuple(map(SourceBlock, row.get("block_kinds") or (), row.get("block_starts") or ()))
    return SourceText(**known)
