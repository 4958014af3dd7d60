"""How links are proposed in each ontology, as it is stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from kg_api.graph.database import Graph, Reader, Row, Transaction
from kg_api.graph.naming.ontologies import unknown_ontology
from kg_api.models.proposals.configuration import ProposalConfig


@dataclass(frozen=True, slots=True)
class StoredProposals:
    """What is stored of an ontology's proposals."""

    ontology: str
    config: ProposalConfig
    proposed_for: str | None
    """What all its nodes were flagged for: how links were proposed then."""
    searched_at: datetime | None
    dropped: int


def read_proposals(graph: Reader, ontology: str) -> StoredProposals:
    """How links are proposed in an ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    rows = graph.read("proposals/configuration", names=[ontology])
    if not rows:
        raise unknown_ontology(graph, ontology)
    return _to_stored(rows[0])


def read_all_proposals(graph: Graph) -> list[StoredProposals]:
    """How links are proposed in all ontologies, in the order of their names."""
    return [_to_stored(row) for row in graph.read("proposals/configuration", names=None)]


def hold_proposals(tx: Transaction, ontology: str) -> StoredProposals | None:
    """Lock an ontology for the transaction; how links are proposed in it; None: it has gone."""
    tx.run("ontologies/hold", names=[ontology])
    rows = tx.run("proposals/configuration", names=[ontology])
    return _to_stored(rows[0]) if rows else None


def write_configuration(tx: Transaction, ontology: str, config: ProposalConfig) -> None:
    """Set how links are proposed in an ontology that is locked."""
    stored = json.dumps(config.model_dump(exclude_none=True), sort_keys=True)
    tx.run("proposals/configure", name=ontology, proposals=stored)


def note_flagged(tx: Transaction, ontology: str, mark: str) -> None:
    """All of an ontology is flagged for a way to propose."""
    tx.run("proposals/flagged", name=ontology, mark=mark)


def flag_again(graph: Graph, ontology: str) -> None:
    """Have all of an ontology looked at again."""
    graph.write("proposals/flag_again", name=ontology)


def note_searched(tx: Transaction, ontology: str) -> None:
    """All that was due of an ontology has been looked at."""
    tx.run("proposals/searched", name=ontology)


def _to_stored(row: Row) -> StoredProposals:
    at = row["proposed_at"]
    config = ProposalConfig.model_validate_json(row["proposals"] or "{}")
    return StoredProposals(
        row["ontology"], config, row["proposed_for"], at.to_native() if at else None, row["dropped"]
    )
