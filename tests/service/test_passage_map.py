from __future__ import annotations

import json
from dataclasses import replace

import neo4j

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.support.many_vectors import give_vectors
from tests.support.records import record


def store(graph: Graph, driver: neo4j.Driver, count: int = 40) -> list[str]:
    made = record("apart.md", [f"Passage {at}." for at in range(count)])
    store_document(graph, replace(made, metadata=json.dumps({"date": ["2025-03", "2024"]})))
    ids = [each.source_id for each in made.sources]
    give_vectors(driver, ids)
    return ids


def test_large_ontology_is_sampled_and_reported(kg: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    ids = store(graph, driver)
    found = kg.passage_map("notes", limit=10)
    assert found.source_ids == sorted(ids)[:10]
    assert found.total == 40
    (told,) = found.degraded
    assert told.effect.startswith("10 of 40 passages, sampled at random")
