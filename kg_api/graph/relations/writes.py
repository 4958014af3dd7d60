"""Relationships on their way in, with the types that they are of."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.graph.database import Transaction, portions
from kg_api.graph.jobs import request_job
from kg_api.graph.jobs.records import EDGE_EMBEDDING
from kg_api.graph.relations.rows import RelationRow
from kg_api.graph.spaces.configuration import read_configuration
from kg_api.models.identity import type_text_hash


def write_relations(tx: Transaction, ontology: str, relations: Sequence[RelationRow]) -> None:
    """Write what sources state of concepts, and have it embedded.

    Raises:
        TooBusy: the job of embedding would be made, and too many wait; the transaction must not be committed.
    """
    write_portion(tx, ontology, relations)
    _ask_for_embedding(tx, ontology, len(relations))


def write_portion(tx: Transaction, ontology: str, relations: Sequence[RelationRow]) -> None:
    """Write what sources state of concepts, and the types that are new.

    Types are locked after concepts, by their ids: whoever merges types sees all that is of them.
    """
    rows = [row.parameters(ontology) for row in relations]
    types = {
        row["type_id"]: {
            "type_id": row["type_id"],
            "name": row["type"],
            "key": row["type_key"],
            "text_hash": type_text_hash(row["type"]),
        }
        for row in reversed(rows)  # the first one gives the name
    }
    for part in portions([each for _, each in sorted(types.items())]):
        tx.run("relations/write_types", rows=part, ontology=ontology)
    for part in portions(rows):
        tx.run("concepts/write_relations", rows=part)


def _ask_for_embedding(tx: Transaction, ontology: str, fresh: int) -> None:
    """Of what is new, unless embedding waits until somebody asks for it."""
    if fresh:
        configured = read_configuration(tx, ontology)
        if configured.embed_on_ingest and not configured.paused:
            request_job(tx, EDGE_EMBEDDING, ontology, added=fresh)
