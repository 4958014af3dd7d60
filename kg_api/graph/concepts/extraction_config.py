"""How concepts are extracted from each ontology, as it is stored, what it has cost, and how far it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TypedDict, cast

from kg_api.graph.database import Graph, Reader, Row, Transaction
from kg_api.graph.naming.ontologies import unknown_ontology
from kg_api.models.concepts.extraction_config import ExtractionConfig
from kg_api.models.embedding.configuration import RefusedSource


@dataclass(frozen=True, slots=True)
class StoredExtraction:
    """What is stored of an ontology's extraction."""

    ontology: str
    config: ExtractionConfig = field(default_factory=ExtractionConfig)
    spent: float = 0.0
    """US dollars."""
    asked: str | None = None
    """The mark of the extractor by which somebody wants all to be read, until it is."""
    expected: float = 0.0
    """US dollars that its jobs were to cost, as was estimated when each began."""
    paused: bool = False
    """Its extraction or its embedding was cancelled: it is left alone until somebody asks for it."""


class ExtractionCounts(TypedDict):
    """How far extraction is by one mark, and what there is by all."""

    total: int
    extracted: int
    refused: int
    concepts: int
    quotes: int
    relations: int
    unverified_quotes: int
    unverified_concepts: int


def read_extraction(graph: Reader, ontology: str) -> StoredExtraction:
    """How concepts are extracted from an ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    rows = graph.read("extraction/configuration", names=[ontology])
    if not rows:
        raise unknown_ontology(graph, ontology)
    return _to_stored(rows[0])


def read_extractions(graph: Graph) -> list[StoredExtraction]:
    """How concepts are extracted from all ontologies, in the order of their names."""
    return [_to_stored(row) for row in graph.read("extraction/configuration", names=None)]


def write_extraction(tx: Transaction, ontology: str, config: ExtractionConfig) -> None:
    """Set how concepts are extracted from an ontology, which is made when it is not there."""
    stored = json.dumps(config.model_dump(exclude_none=True), sort_keys=True)
    tx.run("extraction/configure", name=ontology, extraction=stored)


def hold_extraction(tx: Transaction, ontology: str) -> ExtractionConfig | None:
    """Lock an ontology for the transaction; how concepts are extracted from it; None: it has gone."""
    tx.run("ontologies/hold", names=[ontology])
    rows = tx.run("extraction/configuration", names=[ontology])
    return _to_stored(rows[0]).config if rows else None


def read_spent(graph: Graph, ontology: str) -> float:
    """US dollars that extraction from an ontology has cost; 0 when it has gone."""
    rows = graph.read("extraction/configuration", names=[ontology])
    return float(rows[0]["spent"]) if rows else 0.0


def ask_for_all(tx: Transaction, ontology: str, mark: str | None) -> None:
    """Note by which extractor, of this mark, somebody wants all of an ontology to be read; None: by none."""
    tx.run("extraction/ask", ontology=ontology, mark=mark)


def note_all_read(tx: Transaction, ontology: str, mark: str) -> None:
    """Note that an extractor of this mark has read all that somebody wanted it to."""
    tx.run("extraction/all_read", ontology=ontology, mark=mark)


def add_spent(
    tx: Transaction, ontology: str, dollars: float, receipt: str, job_id: str | None = None
) -> None:
    """Add to what extraction has cost an ontology, and by a job, once for each receipt."""
    tx.run("extraction/add_spent", ontology=ontology, cost=dollars, receipt=receipt, job_id=job_id)


def expect_cost(graph: Graph, ontology: str, job_id: str, dollars: float) -> None:
    """Note what a job is to cost, unless that is noted; and add it to what all were to cost."""
    graph.write("extraction/expect_cost", ontology=ontology, job_id=job_id, cost=dollars)


def count_extraction(graph: Graph, ontology: str, mark: str | None) -> ExtractionCounts:
    """How far extraction is by a mark, by any where it is none, and what there is."""
    rows = graph.read("extraction/status", ontology=ontology, mark=mark)
    return cast("ExtractionCounts", rows[0])


def unread_sources(graph: Graph, ontology: str, mark: str | None, *, limit: int) -> list[RefusedSource]:
    """The sources that were set aside, with the reasons, in reading order."""
    rows = graph.read("extraction/refused", ontology=ontology, mark=mark, limit=limit)
    return [RefusedSource.model_validate({**row, "at": row["at"].to_native()}) for row in rows]


def retry_unread(tx: Transaction, ontology: str) -> int:
    """Let sources that were set aside be tried again; how many."""
    return tx.run("extraction/retry_refused", ontology=ontology)[0]["sources"]


def _to_stored(row: Row) -> StoredExtraction:
    config = ExtractionConfig.model_validate_json(row["extraction"] or "{}")
    spent, expected = float(row["spent"]), float(row["expected"])
    return StoredExtraction(row["ontology"], config, spent, row["asked"], expected, bool(row["paused"]))
