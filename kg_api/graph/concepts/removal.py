"""Evidence goes with its sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from kg_api.graph.concepts.texts import ask_for_embedding, delete_orphans, hold_concepts, retell
from kg_api.graph.database import Graph, Transaction, portions
from kg_api.graph.jobs import would_be_taken
from kg_api.graph.jobs.records import CONCEPT_EMBEDDING

SOURCES_A_TRANSACTION: Final = 250
"""At 50 concepts each, the most there can be: 12,500 appearances. 30,000 are too much for 512 MB of heap."""


def forget_evidence(tx: Transaction, source_ids: Sequence[str]) -> None:
    """Delete what ties some sources to concepts, and the concepts that no other source carries.

    Of concepts that stay, nothing is said any more that only these sources said. Call it before the sources
    themselves go, in the same transaction.
    """
    for ids in portions(sorted(source_ids)):
        if rows := tx.run("concepts/hold_of_sources", source_ids=ids):
            ontology: str = rows[0]["ontology"]
            held = hold_concepts(tx, ontology, [row["concept_id"] for row in rows])
            tx.run("concepts/forget_of_sources", source_ids=ids)
            delete_orphans(tx, held)
            said = [row["concept_id"] for row in rows if row["said"]]
            _ask(tx, ontology, retell(tx, ontology, said, held))


def forget_apart(graph: Graph, source_ids: Sequence[str]) -> None:
    """Where many sources will go, delete their evidence before, in transactions of its own.

    All of it may be more than a server can delete at once. If the sources stay in the end, as after a fault,
    they are due for extraction. Safe to repeat; what comes in meanwhile is for `forget_evidence`.

    Raises:
        DatabaseUnavailable: Neo4j does not answer; what is forgotten stays so.
    """
    if len(source_ids) > SOURCES_A_TRANSACTION:
        _forget_in_parts(graph, source_ids, lambda _: True)


def forget_apart_of_documents(
    graph: Graph, sources: Mapping[str, Sequence[str]], goes: Callable[[Transaction, str], bool]
) -> None:
    """As `forget_apart`, for documents that may stay after all.

    Args:
        graph: where they are.
        sources: the sources of each document.
        goes: whether a document is still to go. Asked in each transaction, where it must hold the document:
            what does not go keeps its evidence, but for what went in transactions before it changed.
    """
    if sum(map(len, sources.values())) > SOURCES_A_TRANSACTION:
        for document_id, ids in sources.items():
            _forget_in_parts(graph, ids, lambda tx, called=document_id: goes(tx, called))


def _forget_in_parts(graph: Graph, source_ids: Sequence[str], goes: Callable[[Transaction], bool]) -> None:
    def forget(tx: Transaction, ids: Sequence[str]) -> None:
        if goes(tx):
            _forget_and_unmark(tx, ids)

    for ids in portions(sorted(source_ids), SOURCES_A_TRANSACTION):
        graph.transaction(lambda tx, ids=ids: forget(tx, ids))


def _forget_and_unmark(tx: Transaction, source_ids: Sequence[str]) -> None:
    forget_evidence(tx, source_ids)
    tx.run("concepts/unmark_sources", source_ids=source_ids)


def _ask(tx: Transaction, ontology: str, changed: Collection[str]) -> None:
    """Nothing is refused to go because too many jobs wait: what is due is found by the backfill, too."""
    if changed and would_be_taken(tx, CONCEPT_EMBEDDING, ontology):
        ask_for_embedding(tx, ontology, changed, limited=False)
