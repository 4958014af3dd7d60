"""Documents that wait for approval, and judgements of passages."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kg_api.errors import Conflict, FilesCollected, NotFound
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.documents import build_unchanged, find_stored
from kg_api.graph.library import find_source
from kg_api.graph.names import require_ontologies
from kg_api.graph.reach import require_visible, resolve_ontology
from kg_api.graph.rows import convert_times
from kg_api.schemas.base import build_judged_question_id, build_judgement_id
from kg_api.schemas.documents import (
    MAX_WAITING,
    DocumentRecord,
    StoredChange,
    WaitingDocument,
    WaitingDocuments,
)
from kg_api.schemas.evaluation import Judgement, JudgementRequest, Judgements, JudgementsDeleted

# Documents that wait for approval have their own label, which keeps them out of all searches

BEGINNING = 300
REMOVED_A_TRANSACTION = 500


@dataclass(frozen=True, slots=True)
class GivenDocument:
    document: str
    version: str  # changes when the document is ingested again
    given: str  # ingested content


def put_waiting(tx: Transaction, records: Sequence[DocumentRecord]) -> dict[str, StoredChange]:
    """Store pending documents. They will not be extracted or found. You get the change for each by id."""
    # A document that is already stored unchanged does not wait, and neither does a skipped duplicate.
    rows = tx.run("waiting/before", document_ids=sorted(each.document_id for each in records))
    before = {row["document_id"]: row for row in rows}
    same = find_stored(tx, records)
    found = {
        each.document_id: build_unchanged(before[each.document_id])
        if before[each.document_id]["content_hash"] == each.content_hash
        else StoredChange("waiting", 0, 0, 0, None, same.get(each.text_hash, ()))
        for each in records
    }
    known = [identity for identity, change in found.items() if change.change == "unchanged"]
    tx.run("waiting/take_back", document_ids=sorted(known))
    new = [each for each in records if found[each.document_id].change == "waiting"]
    if new:
        ontology = new[0].ontology
        _require_files(tx, new)
        documents = [_build_row(each) for each in sorted(new, key=lambda each: each.document_id)]
        tx.run("waiting/put", rows=documents)
        if sum(row["waiting"] for row in tx.run("waiting/count", ontologies=[ontology])) > MAX_WAITING:
            raise Conflict(
                f"{MAX_WAITING:,} documents wait for approval in {ontology!r}, and no more can: "
                f"approve or reject some (kg documents waiting --ontology {ontology!r})"
            )
    return found


def _require_files(tx: Transaction, records: Sequence[DocumentRecord]) -> None:
    """Lock the files for each record. If they are no longer protected by its hold, raise FilesCollected."""
    rows = [
        {"document_id": each.document_id, "hold": each.hold, "key": key}
        for each in records
        if each.hold
        for key in _list_blobs(each)
    ]
    rows.sort(key=lambda row: row["key"])
    if rows and tx.run("waiting/missing", rows=rows)[0]["missing"]:
        raise FilesCollected


def _build_row(record: DocumentRecord) -> Row:
    return {
        "document_id": record.document_id,
        "ontology": record.ontology,
        "awaits": record.ontology,
        "document": record.document,
        "text_hash": record.text_hash,
        "title": record.title,
        "format": record.format,
        "characters": record.characters,
        "sources": len(record.sources),
        "beginning": "".join(each.full_text for each in record.sources[:BEGINNING])[:BEGINNING],
        "version": uuid.uuid4().hex,
        "given": record.waits_as,
        "blobs": _list_blobs(record),
    }


def _list_blobs(record: DocumentRecord) -> list[str]:
    """List the keys for images and original file. They are needed as long as the record waits."""
    images = [source.image for source in record.sources if source.image]
    keys = {key for each in images for key in (each.storage_key, each.thumbnail_key)}
    return sorted(keys if record.original is None else keys | {record.original})


def count_waiting(graph: Graph, ontology: str | None = None) -> dict[str, int]:
    rows = graph.read("waiting/count", ontologies=resolve_ontology(ontology))
    return {row["ontology"]: row["waiting"] for row in rows}


def list_waiting(graph: Graph, *, ontology: str | None, offset: int, limit: int) -> WaitingDocuments:
    rows = graph.read("waiting/page", ontologies=resolve_ontology(ontology), offset=offset, limit=limit)
    found = [WaitingDocument.model_validate(convert_times(row)) for row in rows]
    total = sum(count_waiting(graph, ontology).values())
    return WaitingDocuments(documents=found, total=total, offset=offset, limit=limit)


def read_waiting(
    graph: Graph, ontology: str, documents: Sequence[str] | None, *, after: str, limit: int
) -> list[GivenDocument]:
    parameters: dict[str, Any] = {"ontology": ontology}
    rows = (
        graph.read("waiting/following", **parameters, after=after, limit=limit)
        if documents is None
        else graph.read("waiting/named", **parameters, documents=list(documents))
    )
    return [GivenDocument(**row) for row in rows]


def reject_waiting(graph: Graph, ontology: str, documents: Sequence[str] | None, *, limit: int) -> set[str]:
    """Reject pending documents by name, or the next from all of them. You get their names."""
    rows = graph.write(
        "waiting/reject",
        ontology=ontology,
        documents=None if documents is None else list(documents),
        limit=limit,
    )
    return {row["document"] for row in rows}


def delete_pending_documents(graph: Graph, ontology: str) -> int:
    """Delete the pending and rejected documents of an ontology. Return the number of pending ones."""
    pending = 0
    while True:
        row = graph.write("waiting/remove_of_ontology", ontology=ontology, limit=REMOVED_A_TRANSACTION)[0]
        pending += row["pending"]
        if not row["removed"]:
            return pending


# Judgements of passages

_LAST: Final = "g"  # after every id, which is hexadecimal


def judge(graph: Graph, ontology: str, request: JudgementRequest) -> Judgement:
    """Store a judgement on a passage for a question. This replaces an earlier judgement."""
    require_visible(ontology)
    place = find_source(graph, request.source_id)
    identity = build_judgement_id(ontology, request.question, place.source_id)

    def work(tx: Transaction) -> Row:
        fields = {"question": request.question, "relevance": request.relevance, "by": request.by}
        ids = {"question_id": build_judged_question_id(ontology, request.question), "judgement_id": identity}
        rows = tx.run("judgements/write", ontology=ontology, source_id=place.source_id, **ids, **fields)
        if not rows:
            raise NotFound(f"{ontology!r} has no passage {request.source_id!r}")
        return {**rows[0], "source": place}

    return _to_judgement(graph.transaction(work))


def list_judgements(
    graph: Graph, ontology: str, question: str | None, *, offset: int, limit: int
) -> Judgements:
    require_visible(ontology)
    identity = None if question is None else build_judged_question_id(ontology, question)
    chosen = {"from": identity or "", "to": identity or _LAST}
    rows = graph.read("judgements/page", ontology=ontology, **chosen, offset=offset, limit=limit)
    total = graph.read("judgements/count", ontology=ontology, **chosen)[0]["judgements"]
    if not total:
        require_ontologies(graph, ontology)
    return Judgements(judgements=list(map(_to_judgement, rows)), total=total, offset=offset, limit=limit)


def delete_judgements(graph: Graph, ontology: str, question: str, source_id: str | None) -> JudgementsDeleted:
    """Delete the judgements for a question. To delete those on one source, use its complete id."""
    require_visible(ontology)
    parameters = {"question_id": build_judged_question_id(ontology, question), "source_id": source_id}
    rows = graph.transaction(lambda tx: tx.run("judgements/delete", ontology=ontology, **parameters))
    return JudgementsDeleted(judgements=rows[0]["judgements"])


def read_relevances(graph: Graph, question: str, sources: Sequence[tuple[str, str]]) -> dict[str, int]:
    rows = [
        {"source_id": source, "judgement_id": build_judgement_id(ontology, question, source)}
        for ontology, source in sources
    ]
    found = graph.read("judgements/of_sources", rows=rows) if rows else []
    return {row["source_id"]: row["relevance"] for row in found}


def _to_judgement(row: Row) -> Judgement:
    return Judgement.model_validate({**convert_times(row["judgement"]), "source": row["source"]})
