from __future__ import annotations

from pathlib import Path

import neo4j
import numpy as np
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.spaces import find_space
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.world import PATIENCE, World
from tests.support.cypher import rows
from tests.support.records import record
from tests.support.running import Running, environment, start, wait_until

AT_ONCE = 4
BATCH = 8
SOURCES = 96
SPACE = "in_flight"


@pytest.fixture(scope="module")
def world(open_world: OpenWorld) -> World:
    world = open_world(
        KG_EMBEDDING__REQUESTS_AT_ONCE=str(AT_ONCE),
        KG_WORKER__BATCH_SIZE=str(BATCH),
        KG_WORKER__LEASE_SECONDS="1.5",
        KG_WORKER__HEARTBEAT_SECONDS="0.4",
    )
    world.space(SPACE)
    return world


def another(world: World, log: Path) -> Running:
    return start(["worker"], environment(world.server, **world.env), log)


def test_worker_killed_in_flight_keeps_vectors_correct(
    world: World, migrated_graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    world.configure("notes", space=SPACE)
    world.provider.load.takes = lambda body: 0.3 if len(body["input"]) > 1 else 0.0
    paragraphs = [f"Paragraph number {number} of the killed ones." for number in range(SOURCES)]
    job_id = store_document(migrated_graph, record("a.md", paragraphs)).job_id or ""
    world.until_job(job_id, lambda job: job["done"] > 0)
    world.worker.kill()
    assert 0 < world.job(job_id)["done"] < SOURCES, "it missed: more sources are needed"
    world.worker = another(world, tmp_path / "worker.log")
    job = world.until_job(job_id)
    wait_until(lambda: "worker starts" in world.worker.output(), PATIENCE)
    assert (job["done"], job["total"]) == (SOURCES, SOURCES)
    assert max(world.provider.load.at_once) >= AT_ONCE
    assert_right(world, migrated_graph, driver)


def assert_right(world: World, graph: Graph, driver: neo4j.Driver) -> None:
    space = find_space(graph, SPACE)
    found = rows(
        driver,
        "MATCH (s:Source {ontology: 'notes'}) RETURN s.full_text AS text, s[$property] AS vector",
        property=space.vector_property,
    )
    assert len(found) == SOURCES
    given = world.provider.vectors(SPACE, [row["text"].strip() for row in found], space.dimensions)
    right = np.array(given, dtype=np.float32) / 3
    np.testing.assert_allclose([row["vector"] for row in found], right, atol=1e-6)
