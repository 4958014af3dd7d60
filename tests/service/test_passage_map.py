from __future__ import annotations

import json
from dataclasses import replace

import neo4j
import numpy as np

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.support.many_vectors import GROUPS, give_vectors
from tests.support.records import record


def store(graph: Graph, driver: neo4j.Driver, count: int = 40) -> list[str]:
    made = record("apart.md", [f"Passage {at}." for at in range(count)])
    store_document(graph, replace(made, metadata=json.dumps({"date": ["2025-03", "2024"]})))
    ids = [each.source_id for each in made.sources]
    give_vectors(driver, ids)
    return ids


def test_near_passages_are_near_on_the_map(kg: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    ids = store(graph, driver)
    found = kg.passage_map("notes")
    assert sorted(found.source_ids) == sorted(ids)
    assert (found.total, found.degraded, found.space) == (40, [], "default")
    at = dict(zip(found.source_ids, zip(found.x, found.y, strict=True), strict=True))
    points = np.array([at[each] for each in ids])
    assert np.abs(points).max() == 1
    middles = np.array([points[group::GROUPS].mean(axis=0) for group in range(GROUPS)])
    within = [np.linalg.norm(points[group::GROUPS] - middles[group], axis=1) for group in range(GROUPS)]
    among = np.linalg.norm(middles[:, None] - middles[None], axis=2)[np.triu_indices(GROUPS, 1)]
    assert np.concatenate(within).mean() < among.mean() / 2
    assert 0 < found.explained[1] <= found.explained[0] < 1
    (document,) = found.documents
    assert (document.document, document.date) == ("apart.md", "2025-03-01")
    assert {*found.document} == {0}


def test_large_ontology_is_sampled_and_reported(kg: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    ids = store(graph, driver)
    found = kg.passage_map("notes", limit=10)
    assert found.source_ids == sorted(ids)[:10]
    assert found.total == 40
    (told,) = found.degraded
    assert told.effect.startswith("10 of 40 passages, sampled at random")
