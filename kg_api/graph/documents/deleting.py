"""Deleting the documents that fit a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.library import delete_document_in, forget_evidence_of, summaries
from kg_api.graph.filters.matching import (
    asks_for_absence,
    describe_unknown_fields,
    matching_documents,
)
from kg_api.graph.naming.ontologies import note_on_ontologies
from kg_api.graph.search.similar import count_sources
from kg_api.models.identity import digest
from kg_api.models.library.deletion import MAX_SHOWN, DeletedMatching, DocumentDeletion
from kg_api.models.library.documents import Deleted
from kg_api.models.queries.filters import Clause
from kg_api.wording.plural import pluralize


def delete_matching(graph: Graph, request: DocumentDeletion) -> DeletedMatching:
    """Delete the documents that fit, each in a transaction of its own; or say which they are.

    Interrupted, some of them are left: what a dry run said of all does not hold for these.

    Raises:
        Conflict: other documents fit than were expected; nothing was deleted.
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
    """
    matching = matching_documents(graph, request.where, request.ontologies, in_order=True)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes = _notes(graph, request, ids)
    if request.dry_run or not ids:
        return _preview(graph, request, matching, ids, notes)
    _hold_to_expected(request, ids)
    first, gone = summaries(graph, ids[:MAX_SHOWN]), Deleted(documents=0, sources=0)
    for each in ids:
        deleted = _delete_one(graph, each, request.where)
        gone.documents, gone.sources = gone.documents + deleted.documents, gone.sources + deleted.sources
    if kept := len(ids) - gone.documents:
        notes.append(f"{pluralize(kept, 'document')} changed or went meanwhile, and do not fit any more")
    return DeletedMatching(
        documents=gone.documents, sources=gone.sources, notes=notes, dry_run=False, first=first
    )


def _hold_to_expected(request: DocumentDeletion, ids: Sequence[str]) -> None:
    other = "nothing was deleted; ask again with dry_run, and look at what fits"
    if request.expected not in {None, len(ids)}:
        fit = pluralize(len(ids), "document")
        raise Conflict(f"{fit} fit now, and {request.expected} were expected: {other}")
    if request.expected_digest not in {None, _digest(ids)}:
        raise Conflict(f"other documents fit now than were expected: {other}")


def _digest(ids: Sequence[str]) -> str:
    return digest("documents", *sorted(ids))


def _preview(
    graph: Graph,
    request: DocumentDeletion,
    matching: Mapping[str, Sequence[str]],
    ids: Sequence[str],
    notes: list[str],
) -> DeletedMatching:
    return DeletedMatching(
        documents=len(ids),
        sources=count_sources(graph, list(matching), ids) if ids else 0,
        notes=notes,
        dry_run=request.dry_run,
        first=summaries(graph, ids[:MAX_SHOWN]),
        digest=_digest(ids),
    )


def _delete_one(graph: Graph, document_id: str, where: Sequence[Clause]) -> Deleted:
    def still_fits(tx: Transaction, document_id: str) -> bool:
        tx.run("documents/hold", document_id=document_id)
        return bool(matching_documents(tx, where, None, [document_id]))

    def delete(tx: Transaction) -> Deleted:
        goes = still_fits(tx, document_id)
        return delete_document_in(tx, document_id) if goes else Deleted(documents=0, sources=0)

    forget_evidence_of(graph, [document_id], still_fits)
    return graph.transaction(delete)


def _notes(graph: Graph, request: DocumentDeletion, ids: Sequence[str]) -> list[str]:
    names = request.ontologies
    notes = note_on_ontologies(graph, names)
    if not ids or asks_for_absence(request.where):
        notes += [each.effect for each in describe_unknown_fields(graph, request.where, names)]
    if not ids:
        notes.append("nothing was deleted: no document fits the conditions of the filter")
    return notes
