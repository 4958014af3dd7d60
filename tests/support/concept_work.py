from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray

from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.jobs import read_jobs_page
from tests.support.concepts import extraction, found, write
from tests.support.cypher import rows
from tests.support.kg import TEXTS, Kg
from tests.support.records import record

DOCUMENT = record("a.md", TEXTS)
LABELS = ["waggle dance", "paper nest", "open source", "vector index", "river delta"]


def learn(graph: Graph, *labels: str, paragraph: int = 0, wanted: bool = True, **more: Any) -> None:
    """Store the concepts for a paragraph. Use `wanted` to embed concepts that only have one source as
    well."""
    if wanted:
        graph.transaction(lambda tx: request_concepts(tx, "notes"))
    write(graph, extraction(DOCUMENT, paragraph, *(found(each, **more) for each in labels or LABELS)))


def counts(kg: Kg) -> tuple[int, int, int, int, int]:
    told = kg.configure.status("notes").concepts
    assert told is not None
    return told.total, told.embedded, told.missing, told.stale, told.refused


def kinds(graph: Graph) -> list[tuple[str, str]]:
    found, _ = read_jobs_page(graph, state=None, kind="concept_embedding", ontology=None, offset=0, limit=9)
    return [(job.kind, job.state.value) for job in found]


def vectors(driver: neo4j.Driver, name: str = "embedding") -> dict[str, NDArray[np.float32]]:
    found = rows(driver, f"MATCH (c:Concept) WHERE c.{name} IS NOT NULL RETURN c.label AS l, c.{name} AS v")
    return {row["l"]: np.asarray(row["v"], dtype=np.float32) for row in found}
