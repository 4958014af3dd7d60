"""What was accepted goes over when two concepts become one, and back when they are parted."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.graph.database import Row, Transaction
from kg_api.models.identity import proposal_id


def move_links(tx: Transaction, ontology: str, gone: str, kept: str) -> list[Row]:
    """Move the accepted links of a concept that goes to the one that it becomes part of; both are locked.

    A link stays behind, and goes, where the two are linked already, or somebody has rejected that.

    Returns:
        What went: `proposal_id` as it was, what it `becomes`, and the `other` end.
    """
    rows = tx.run("proposals/links_of_concept", concept_id=gone)
    moves = [{**row, "becomes": proposal_id(ontology, "concept", kept, row["other"])} for row in rows]
    return _move(tx, gone, kept, moves)


def give_links_back(tx: Transaction, moved: Sequence[Row], gone: str, kept: str) -> None:
    """Move back what `move_links` gave, with what was decided on it since."""
    back = [{**row, "proposal_id": row["becomes"], "becomes": row["proposal_id"]} for row in moved]
    _move(tx, kept, gone, back)


def _move(tx: Transaction, source: str, target: str, rows: Sequence[Row]) -> list[Row]:
    return tx.run("proposals/move", rows=rows, **{"from": source, "to": target}) if rows else []
