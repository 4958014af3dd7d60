from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.merging import link_near
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.jobs import page_of_jobs
from kg_api.graph.targets import Plan
from kg_api.jobs.embedding import EmbeddingJob, TextModels
from kg_api.jobs.runner import Runner
from kg_api.settings import WorkerSettings
from kg_api.spaces.registry import CachedPassages
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
    found, _ = page_of_jobs(graph, state=None, kind="concept_embedding", ontology=None, offset=0, limit=9)
    return [(job.kind, job.state.value) for job in found]


def vectors(driver: neo4j.Driver, name: str = "embedding") -> dict[str, NDArray[np.float32]]:
    found = rows(driver, f"MATCH (c:Concept) WHERE c.{name} IS NOT NULL RETURN c.label AS l, c.{name} AS v")
    return {row["l"]: np.asarray(row["v"], dtype=np.float32) for row in found}


class Merging:
    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    def __call__(self, plan: Plan, concept_ids: Sequence[str]) -> None:
        assert (plan.space.slug, plan.ontology) == ("default", "notes")
        self.seen.append([*concept_ids])


def work(kg: Kg, merging: Merging, batch: int = 2) -> None:
    models = TextModels(kg.spaces, CachedPassages(kg.graph, keeps=False))

    def written(plan: Plan, concept_ids: Sequence[str]) -> None:
        if plan.answers:
            merging(plan, concept_ids)
        else:
            link_near(kg.graph, plan.space, plan.ontology, concept_ids)

    job = EmbeddingJob(kg.graph, "concept", models, batch, written)
    runner = Runner(kg.graph, [job], WorkerSettings(), worker="w", stopping=threading.Event())
    while runner.run_one():
        pass
