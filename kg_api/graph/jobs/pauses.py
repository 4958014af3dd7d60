"""Work that somebody cancelled is not begun again by itself."""

from __future__ import annotations

from kg_api.graph.database import Transaction
from kg_api.graph.jobs.records import EXTRACTION, PAUSING_KINDS


def pause(tx: Transaction, kind: str, ontology: str | None) -> None:
    """Leave an ontology alone until somebody asks for that kind of work; for other kinds nothing is done."""
    if kind == EXTRACTION:
        tx.run("extraction/pause", ontology=ontology)
    elif kind in PAUSING_KINDS:
        tx.run("jobs/pause", ontology=ontology)


def unpause(tx: Transaction, kind: str, ontology: str | None) -> None:
    """Somebody asks for it."""
    if kind == EXTRACTION:
        tx.run("extraction/unpause", ontology=ontology)
    elif kind in PAUSING_KINDS:
        tx.run("jobs/unpause", ontology=ontology)
