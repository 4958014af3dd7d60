"""The seam to Neo4j, the schema and the spaces."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import neo4j
import pytest

from kg_api import __version__
from kg_api.errors import ConfigurationError, DatabaseUnavailable, SchemaTooNew
from kg_api.graph.database import Graph
from kg_api.graph.indexes import index_states
from kg_api.graph.migrations import known, migrate
from kg_api.graph.spaces import FIRST_INDEX, QUANTIZATION, ensure_space, find_space
from kg_api.managed.ports import free_port
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import rows
from tests.support.embedders import small_embedder

IDENTITY = small_embedder().identity


def test_a_database_that_is_away_is_told_as_such() -> None:
    with (
        Graph(f"bolt://127.0.0.1:{free_port()}", "neo4j", "x") as nowhere,
        pytest.raises(DatabaseUnavailable),
    ):
        nowhere.read("ontologies/names")


def test_a_uri_that_is_none_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigurationError, match="KG_NEO4J__URI"):
        Graph("gopher://127.0.0.1", "neo4j", "x")


def test_migrating_again_does_nothing(graph: Graph) -> None:
    assert migrate(graph) == []


def test_processes_that_migrate_at_once_do_each_other_no_harm(graph: Graph, driver: neo4j.Driver) -> None:
    drop_schema(driver)
    try:
        with ThreadPoolExecutor(4) as pool:
            applied = list(pool.map(lambda _: migrate(graph), range(4)))
            list(pool.map(lambda _: ensure_space(graph, IDENTITY), range(4)))
    finally:
        migrate(graph)
    assert set(known()) == {name for each in applied for name in each}
    assert set(known()) == {row["name"] for row in graph.read("migrations/applied")}


def drop_schema(driver: neo4j.Driver) -> None:
    rows(driver, "MATCH (m:Migration) DELETE m")
    for row in rows(driver, "SHOW CONSTRAINTS YIELD name RETURN name"):
        rows(driver, f"DROP CONSTRAINT {row['name']}")
    for row in rows(driver, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"):
        rows(driver, f"DROP INDEX {row['name']}")


def test_every_migration_is_recorded_in_order(graph: Graph) -> None:
    applied = graph.read("migrations/applied")
    assert [row["name"] for row in applied] == known()
    assert {row["kg_version"] for row in applied} <= {__version__}


def test_a_newer_schema_is_refused_and_left_alone(graph: Graph, driver: neo4j.Driver) -> None:
    with driver.session() as session:
        session.run("CREATE (:Migration {name: 'schema/999_future', kg_version: '9.9'})").consume()
    try:
        with pytest.raises(SchemaTooNew, match=re.escape("kg 9.9")):
            migrate(graph)
    finally:
        with driver.session() as session:
            session.run("MATCH (m:Migration {kg_version: '9.9'}) DELETE m").consume()


def test_every_id_is_unique(graph: Graph) -> None:
    unique = {name for name, state in index_states(graph).items() if state.type == "RANGE"}
    ids = {"ontology_name", "document_id", "source_id", "chunk_id", "job_id", "job_unique_key"}
    assert ids | {"embedding_space_slug", "migration_name"} <= unique


def test_a_space_is_registered_with_an_index_as_ordered(graph: Graph) -> None:
    space = ensure_space(graph, IDENTITY)
    assert find_space(graph) == ensure_space(graph, IDENTITY) == space
    config = index_states(graph)[FIRST_INDEX].options["indexConfig"]
    assert config["vector.dimensions"] == IDENTITY.dimensions
    assert config["vector.quantization.type"] == QUANTIZATION


def test_another_model_under_the_same_space_is_refused(graph: Graph) -> None:
    ensure_space(graph, IDENTITY)
    other = replace(IDENTITY, revision="2")
    with pytest.raises(ConfigurationError, match="two models cannot be compared"):
        ensure_space(graph, other)


def test_a_wrong_password_names_the_variable(server: Neo4jServer) -> None:
    refused = pytest.raises(ConfigurationError, match="KG_NEO4J__PASSWORD")
    with Graph(server.uri, server.user, "wrong") as graph, refused as raised:
        graph.read("ontologies/names")
    assert "wrong" not in str(raised.value)
