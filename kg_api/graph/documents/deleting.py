"""Deleting documents: one, those that fit a filter, or all of an ontology."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kg_api.errors import Conflict, NotFound
from kg_api.graph.concepts.removal import forget_apart_of_documents, forget_evidence
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.library import summaries
from kg_api.graph.filters.matching import (
    asks_for_absence,
    describe_unknown_fields,
    matching_documents,
)
from kg_api.graph.naming.documents import identify_document, is_whole_id
from kg_api.graph.naming.ontologies import note_on_ontologies, require_ontologies
from kg_api.graph.review.waiting import forget_waiting_of
from kg_api.graph.search.similar import count_sources
from kg_api.models.identity import digest
from kg_api.models.library.deletion import MAX_SHOWN, DeletedMatching, DocumentDeletion
from kg_api.models.library.documents import Deleted
from kg_api.models.queries.filters import Clause
from kg_api.wording.plural import pluralize

DOCUMENTS_A_PORTION = 100


def delete_document(graph: Graph, document_id: str) -> Deleted:
    """Delete a document with its sources and chunks; nothing when it is not there.

    The evidence of a large one goes before, in parts. If it is interrupted, repeat it.
    """
    forget_evidence_of(graph, [document_id])
    return graph.transaction(lambda tx: delete_document_in(tx, document_id))


def delete_called(graph: Graph, called: str, ontology: str | None = None) -> Deleted:
    """Delete a document by its id, a beginning of that, or its name.

    One that is not there is an error; of a whole id it is a note only, for deleting twice shall be harmless.

    Raises:
        NotFound: none goes by that name.
        Conflict: several do.
    """
    try:
        identity = identify_document(graph, called, ontology)
    except NotFound as error:
        if ontology is None and is_whole_id(called):
            return Deleted(documents=0, sources=0, notes=[f"nothing was deleted: {error}"])
        raise
    deleted = delete_document(graph, identity)
    if not deleted.documents:
        deleted.notes.append("nothing was deleted: somebody else deleted it at this moment")
    return deleted


def delete_ontology(graph: Graph, name: str) -> Deleted:
    """Delete an ontology, one document a transaction; nothing, and a note, when it is not there.

    Folders that it follows are followed no more, or their next scan would bring their documents back.
    """
    graph.write("folders/remove_of_ontology", ontology=name)
    forget_waiting_of(graph, name)
    missing = note_on_ontologies(graph, [name])
    gone = Deleted(documents=0, sources=0, notes=[f"nothing was deleted: {each}" for each in missing])
    while rows := graph.read("ontologies/document_ids", name=name, limit=DOCUMENTS_A_PORTION):
        for row in rows:
            deleted = delete_document(graph, row["document_id"])
            gone.documents += deleted.documents
            gone.sources += deleted.sources
    graph.write("ontologies/delete_empty", name=name)
    return gone


def forget_evidence_of(
    graph: Graph,
    document_ids: Sequence[str],
    goes: Callable[[Transaction, str], bool] = lambda _tx, _document_id: True,
) -> None:
    """Before documents are deleted in one transaction; see `forget_apart_of_documents`."""
    rows = {each: graph.read("sources/ids_of_document", document_id=each) for each in document_ids}
    sources = {each: [row["source_id"] for row in found] for each, found in rows.items()}
    forget_apart_of_documents(graph, sources, goes)


def delete_document_in(tx: Transaction, document_id: str) -> Deleted:
    """Delete a document within a transaction."""
    tx.run("documents/hold", document_id=document_id)
    ids = [row["source_id"] for row in tx.run("sources/ids_of_document", document_id=document_id)]
    forget_evidence(tx, ids)
    sources = tx.run("sources/delete_many", ids=ids)[0]["sources"]
    documents = tx.run("documents/delete", document_id=document_id)[0]["documents"]
    return Deleted(documents=documents, sources=sources)


def delete_matching(graph: Graph, request: DocumentDeletion) -> DeletedMatching:
    """Delete the documents that fit, each in a transaction of its own; or say which they are.

    Interrupted, some of them are left: what a dry run said of all does not hold for these.

    Raises:
        NotFound: an ontology that the request names does not exist.
        Conflict: other documents fit than were expected; nothing was deleted.
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
    """
    require_ontologies(graph, request.ontologies)
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
    notes: list[str] = []
    if not ids or asks_for_absence(request.where):
        unknown = describe_unknown_fields(graph, request.where, request.ontologies)
        notes += [each.effect for each in unknown]
    if not ids:
        notes.append("nothing was deleted: no document fits the conditions of the filter")
    return notes
