"""Reads ontologies, documents, and sources."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal

from kg_api.errors import NotFound, Unavailable
from kg_api.graph.client import Graph, Reader, Row, drop_deleted_rows
from kg_api.graph.documents import change_document, note_keys, note_same_words
from kg_api.graph.filters import find_matching_documents, note_matches
from kg_api.graph.names import (
    identify_document,
    identify_source,
    is_whole_id,
    report_unknown_source,
    require_ontologies,
)
from kg_api.graph.reach import get_visible_ontologies, is_visible, resolve_ontology
from kg_api.graph.rows import convert_times
from kg_api.schemas.documents import (
    DocumentChange,
    DocumentChanged,
    DocumentContent,
    DocumentPage,
    DocumentSummary,
    EmbeddingStatus,
    OntologySummary,
)
from kg_api.schemas.filters import Clause
from kg_api.schemas.search import Place

LOOKS: Final = 5  # attempts to read a document that was changed during the read


def list_ontologies(reader: Reader, counted: Sequence[Row]) -> list[OntologySummary]:
    """List ontologies with their counts. `counted` are the embedding plans to use for their sources."""
    read = reader.read("ontologies/list", plans=list(counted))
    rows = [{**convert_times(row), "languages": dict(row["languages"])} for row in read]
    return [OntologySummary.model_validate(row) for row in drop_deleted_rows(rows, OntologySummary)]


def read_embedding_status(reader: Reader, counted: Sequence[Row], ontology: str | None) -> EmbeddingStatus:
    summaries = list_ontologies(reader, counted)
    total, embedded, stale, refused, searchable = (
        sum(getattr(each, name) for each in summaries)
        for name in ("sources", "embedded", "stale", "refused", "searchable")
    )
    return EmbeddingStatus(
        ontology=ontology,
        total=total,
        embedded=embedded,
        missing=total - embedded - stale - refused,
        stale=stale,
        refused=refused,
        searchable=searchable,
        building=any(each.building for each in summaries),
        languages=sum((Counter(each.languages) for each in summaries), Counter[str]()),
    )


DocumentOrder = Literal["name", "changed", "sources"]


def list_documents(
    graph: Graph,
    *,
    ontology: str | None,
    offset: int,
    limit: int,
    where: Sequence[Clause] = (),
    order: DocumentOrder = "name",
) -> DocumentPage:
    if where or order != "name":
        matching = find_matching_documents(graph, where, resolve_ontology(ontology), in_order=True)
        ids = [each for of_ontology in matching.values() for each in of_ontology]
        if order != "name":
            ids = graph.read("documents/order", document_ids=ids, by=order)[0]["document_ids"]
        if not ids:
            require_ontologies(graph, ontology)
        notes = note_matches(graph, where, resolve_ontology(ontology), has_any=bool(ids))
        summaries = read_summaries(graph, ids[offset : offset + limit])
        return DocumentPage(documents=summaries, total=len(ids), offset=offset, limit=limit, notes=notes)
    rows = graph.read("documents/page", ontologies=resolve_ontology(ontology), offset=offset, limit=limit)
    total = graph.read("documents/count", ontologies=resolve_ontology(ontology))[0]["total"]
    if not total:
        require_ontologies(graph, ontology)
    return DocumentPage(documents=_build_summaries(rows), total=total, offset=offset, limit=limit)


def read_summaries(graph: Graph, document_ids: Sequence[str]) -> list[DocumentSummary]:
    """Read the known documents among these ids, in the same order."""
    rows = graph.read("documents/of_ids", document_ids=list(document_ids)) if document_ids else []
    return _build_summaries(rows)


def find_document(graph: Graph, identifier: str, ontology: str | None = None) -> DocumentContent:
    """Find a document with its text: its preface and its sources in reading order."""
    rows = _with_text(graph, identifier) if ontology is None else []
    if not rows:
        identity = identify_document(graph, identifier, ontology)
        rows = _with_text(graph, identity)
    if not rows:
        raise NotFound(f"the document {identifier!r} was deleted at this moment")
    return DocumentContent.model_validate(
        {**_to_fields(rows[0]), "text": rows[0]["preface"] + "".join(rows[0]["parts"])}
    )


def _with_text(graph: Graph, document_id: str) -> list[Row]:
    # The query excludes invisible documents, because its duration would reveal them
    wanted = {"document_id": document_id, "ontologies": get_visible_ontologies()}
    for _ in range(LOOKS):
        rows = drop_deleted_rows(graph.read("documents/find", **wanted), DocumentSummary)
        if all(_is_whole(row) for row in rows):
            return rows
    raise Unavailable("the document is being changed faster than it can be read: try again")


def _is_whole(row: Row) -> bool:
    """Check that no source was added or deleted during the read. Neo4j does not read them at one moment."""
    return None not in row["parts"] and len(row["preface"]) + sum(map(len, row["parts"])) == row["characters"]


def find_summary(graph: Graph, identifier: str, ontology: str | None = None) -> DocumentSummary:
    identity = identify_document(graph, identifier, ontology)
    if not (found := read_summaries(graph, [identity])):
        raise NotFound(f"the document {identifier!r} was deleted at this moment")
    return found[0]


def read_paragraphs(graph: Graph, document_id: str, first: int, last: int) -> list[Place]:
    """Read the sources between two paragraphs in a document, in reading order."""
    around = {"source_id": "", "document_id": document_id, "first": first, "last": last}
    rows = graph.read("sources/neighbours", places=[around])
    return [Place.model_validate(row) for row in drop_deleted_rows(rows, Place)]


def read_outline(graph: Graph, document_id: str) -> list[tuple[list[str], int]]:
    """Read the heading paths of a document, each with its first paragraph."""
    rows = graph.read("sources/outline", document_id=document_id)
    return [(row["heading"], row["paragraph"]) for row in rows]


def change_by_name(
    graph: Graph, identifier: str, change: DocumentChange, ontology: str | None = None
) -> DocumentChanged:
    """Edit a document, given its id, a prefix of the id, or its name."""
    identity = identify_document(graph, identifier, ontology)
    keys = {key for before in read_summaries(graph, [identity]) for key in before.metadata}
    job_id = change_document(graph, identity, change)
    rows = drop_deleted_rows(graph.read("documents/of_ids", document_ids=[identity]), DocumentSummary)
    if not rows:
        raise NotFound(f"the document {identifier!r} was deleted at this moment")
    about = _to_fields(rows[0])
    notes = [*note_same_words(about["format"], change), *note_keys(keys, change)]
    return DocumentChanged.model_validate({**about, "job_id": job_id, "notes": notes})


def find_source(graph: Graph, source_id: str) -> Place:
    """Find a source by its id, a prefix of its id, or `DOCUMENT#PARAGRAPH`."""
    rows = drop_deleted_rows(graph.read("sources/find", source_id=source_id), Place)
    rows = [row for row in rows if is_visible(row["ontology"])]
    if not rows and (whole := identify_source(graph, source_id)):
        rows = drop_deleted_rows(graph.read("sources/find", source_id=whole), Place)
    if not rows:
        raise report_unknown_source(graph, source_id)
    return Place.model_validate(rows[0])


def find_sources_by_name(graph: Graph, identifiers: Sequence[str]) -> list[str]:
    """Find the ids for sources from the names in `find_source`. If a name is unknown, it is not changed."""
    return [each if is_whole_id(each) else identify_source(graph, each) or each for each in identifiers]


def read_neighbours(graph: Graph, places: list[Place], window: int) -> dict[str, list[Place]]:
    """Read the paragraphs within `window` from each source, in reading order."""
    wanted = [
        {
            "source_id": place.source_id,
            "document_id": place.document_id,
            "first": place.paragraph - window,
            "last": place.paragraph + window,
        }
        for place in places
    ]
    found: dict[str, list[Place]] = {place.source_id: [] for place in places}
    for row in drop_deleted_rows(graph.read("sources/neighbours", places=wanted), Place):
        found[row["around"]].append(Place.model_validate(row))
    return found


def _build_summaries(rows: Sequence[Row]) -> list[DocumentSummary]:
    return [
        DocumentSummary.model_validate(_to_fields(row)) for row in drop_deleted_rows(rows, DocumentSummary)
    ]


def _to_fields(row: Row) -> dict[str, Any]:
    return {**convert_times(row), "metadata": json.loads(row["metadata"])}
