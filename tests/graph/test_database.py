import re
import socket
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, LiteralString
from urllib.parse import urlsplit

import neo4j
import pytest

from kg_api.errors import ConfigurationError, DatabaseUnavailable, SchemaTooNew, SchemaTooOld, TookTooLong
from kg_api.graph import client, schema, statements
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.schema import list_known, migrate, read_index_states
from kg_api.graph.spaces import (
    EF_CONSTRUCTION,
    FIRST_INDEX,
    QUANTIZATION,
    Space,
    build_index_config,
    ensure_index,
    ensure_space,
    find_space,
)
from kg_api.graph.statements import read_area
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.records import record

IDENTITY = small_embedder().identity


@pytest.mark.parametrize("name", ["search/by_text", "proposals/page", "proposals/count"])
def test_search_respects_its_database_time_limit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, name: LiteralString
) -> None:
    slow = "UNWIND range(1, 20000000000) AS n WITH n WHERE n % 7 = 8 RETURN n"
    monkeypatch.setattr(client, "build_statement", lambda *_: slow)
    monkeypatch.setattr(client, "SEARCH_SECONDS", 0.5)
    begun = time.monotonic()
    with pytest.raises(TookTooLong, match="If Neo4j has just started, try again"):
        graph.search(name)
    assert time.monotonic() - begun < 20


@pytest.mark.full
def test_silent_database_raises_after_a_timeout(server: Neo4jServer, migrated_graph: Graph) -> None:
    """The server accepts data but does not reply, as if the process had been stopped."""
    del migrated_graph
    if server.role is None:
        pytest.skip("the signs of life of another Neo4j are its own affair")
    address = urlsplit(server.uri)
    still = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        there = (address.hostname or "", address.port or 0)
        threading.Thread(target=forward, args=(listening, there, [still]), daemon=True).start()
        uri = f"bolt://127.0.0.1:{listening.getsockname()[1]}"
        with Graph(uri, "neo4j", server.password) as far:
            far.read("spaces/all")
            still.set()
            begun = time.monotonic()
            with pytest.raises(DatabaseUnavailable):
                far.read("spaces/all")
    assert time.monotonic() - begun < 45


def test_connection_that_firewall_forgot_is_replaced(server: Neo4jServer, migrated_graph: Graph) -> None:
    """Without this, you would have to wait 16 s until the driver times out."""
    del migrated_graph
    address = urlsplit(server.uri)
    stills = [threading.Event()]
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        there = (address.hostname or "", address.port or 0)
        threading.Thread(target=forward, args=(listening, there, stills), daemon=True).start()
        uri = f"bolt://127.0.0.1:{listening.getsockname()[1]}"
        with Graph(uri, "neo4j", server.password, connection_seconds=0.5) as far:
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(far.read, ["spaces/all"] * 4))
            stills.append(threading.Event())
            stills[0].set()
            time.sleep(0.5)
            begun = time.monotonic()
            far.read("spaces/all")
    assert time.monotonic() - begun < 8


def forward(listening: socket.socket, there: tuple[str, int], stills: Sequence[threading.Event]) -> None:
    """Forward data to both sides until the event is set."""
    with suppress(OSError):
        while True:
            here, far = listening.accept()[0], socket.create_connection(there)
            for source, target in ((here, far), (far, here)):
                threading.Thread(target=hand_on, args=(source, target, stills[-1]), daemon=True).start()


def hand_on(source: socket.socket, target: socket.socket, still: threading.Event) -> None:
    with source, target, suppress(OSError):
        while piece := source.recv(65536):
            if not still.is_set():
                target.sendall(piece)
        for each in (source, target):
            each.shutdown(socket.SHUT_RDWR)  # so that the other direction ends


def test_invalid_uri_names_the_setting() -> None:
    with pytest.raises(ConfigurationError, match="KG_NEO4J__URI"):
        Graph("gopher://127.0.0.1", "neo4j", "x")


def test_migrating_again_does_nothing(graph: Graph) -> None:
    assert migrate(graph) == []


def test_concurrent_migrations_are_safe(graph: Graph, driver: neo4j.Driver) -> None:
    drop_schema(driver)
    try:
        with ThreadPoolExecutor(4) as pool:
            applied = list(pool.map(lambda _: migrate(graph), range(4)))
            list(pool.map(lambda _: ensure_space(graph, IDENTITY), range(4)))
    finally:
        migrate(graph)
    assert set(list_known()) == {name for each in applied for name in each}
    assert set(list_known()) == {row["name"] for row in graph.read("migrations/applied")}


def test_baseline_is_upgraded_by_a_later_migration(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database with documents is opened by a version that has one more migration, which is run in
    batches."""
    for number in range(5):
        store_document(graph, record(f"{number}", ["one", "two"]))
    later = {
        **read_area("migrations"),
        "migrations/203_word_count": (
            "// Sources know how many words they have.\n"
            "MATCH (s:Source) WHERE s.source_id > $after WITH s ORDER BY s.source_id LIMIT 3 "
            "SET s.words = size(split(s.full_text, ' ')) RETURN max(s.source_id) AS after"
        ),
    }
    known = read_area
    monkeypatch.setattr(schema, "read_area", lambda name: later if name == "migrations" else known(name))
    monkeypatch.setattr(statements, "read_area", lambda name: later if name == "migrations" else known(name))
    try:
        assert migrate(graph) == ["203_word_count"]
        assert migrate(graph) == []
        counted = rows(driver, "MATCH (s:Source) RETURN count(s.words) AS counted, count(*) AS all")
        assert counted == [{"counted": 10, "all": 10}]
        monkeypatch.undo()
        with pytest.raises(SchemaTooNew, match="203_word_count"):
            migrate(graph)
    finally:
        rows(driver, "MATCH (m:Migration {name: '203_word_count'}) DELETE m")


def test_former_words_of_jobs_are_renamed(graph: Graph, driver: neo4j.Driver) -> None:
    renamed = {"completed": "succeeded", "completed_with_errors": "succeeded_with_errors", "dead": "failed"}
    unchanged = {each: each for each in ("queued", "running", "cancelled")}
    for state in (*renamed, *unchanged):
        rows(driver, "CREATE (:Job {job_id: $state, state: $state, stumbles: 2})", state=state)
    rows(driver, "MATCH (m:Migration {name: '201_job_states'}) DELETE m")
    assert migrate(graph) == ["201_job_states"]
    found = rows(driver, "MATCH (j:Job) RETURN j.job_id AS former, j.state AS state, j.failures AS failures")
    assert {row["former"]: row["state"] for row in found} == renamed | unchanged
    assert {row["failures"] for row in found} == {2}


def test_database_of_an_earlier_version_is_rejected(graph: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "CREATE (:Migration {name: 'schema/127_judgement_by_question', kg_version: '0.2.0'})")
    try:
        with pytest.raises(SchemaTooOld, match="ingest the documents again"):
            migrate(graph)
    finally:
        rows(driver, "MATCH (m:Migration) WHERE m.name STARTS WITH 'schema/' DELETE m")


def drop_schema(driver: neo4j.Driver) -> None:
    rows(driver, "MATCH (m:Migration) DELETE m")
    for row in rows(driver, "SHOW CONSTRAINTS YIELD name RETURN name"):
        rows(driver, f"DROP CONSTRAINT {row['name']}")
    for row in rows(driver, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"):
        rows(driver, f"DROP INDEX {row['name']}")


def test_newer_schema_is_rejected_unchanged(graph: Graph, driver: neo4j.Driver) -> None:
    with driver.session() as session:
        session.run("CREATE (:Migration {name: '999_future', kg_version: '9.9'})").consume()
    try:
        with pytest.raises(SchemaTooNew, match=re.escape("kg 9.9")):
            migrate(graph)
    finally:
        with driver.session() as session:
            session.run("MATCH (m:Migration {kg_version: '9.9'}) DELETE m").consume()


def test_every_id_is_unique(graph: Graph) -> None:
    unique = {name for name, state in read_index_states(graph).items() if state.type == "RANGE"}
    ids = {"ontology_name", "document_id", "source_id", "chunk_id", "job_id", "job_unique_key"}
    assert ids | {"embedding_space_slug", "migration_name"} <= unique


def test_space_registers_index_with_expected_settings(graph: Graph) -> None:
    space = ensure_space(graph, IDENTITY)
    assert find_space(graph) == ensure_space(graph, IDENTITY) == space
    config = read_index_states(graph)[FIRST_INDEX].options["indexConfig"]
    assert config["vector.dimensions"] == IDENTITY.dimensions
    assert config["vector.quantization.type"] == QUANTIZATION
    assert config["vector.hnsw.ef_construction"] == EF_CONSTRUCTION


@contextmanager
def index_with(graph: Graph, settings: dict[str, Any]) -> Generator[Space]:
    """Create the index of the first space again with other settings, and restore it at the end."""
    space = ensure_space(graph, IDENTITY)
    options = {"indexConfig": build_index_config(IDENTITY) | settings}
    graph.write("spaces/drop_index", name=space.index_name)
    try:
        graph.write("spaces/create_index", space.key, name=space.index_name, options=options)
        yield space
    finally:
        graph.write("spaces/drop_index", name=space.index_name)
        ensure_index(graph, space)


@pytest.mark.parametrize(
    "settings", [{"vector.hnsw.ef_construction": 100}, {"vector.quantization.type": "SCALAR"}]
)
def test_an_index_of_an_earlier_version_is_kept(graph: Graph, settings: dict[str, Any]) -> None:
    with index_with(graph, settings):
        ensure_space(graph, IDENTITY)
        assert settings.items() <= read_index_states(graph)[FIRST_INDEX].options["indexConfig"].items()


def test_index_with_other_dimensions_is_rejected(graph: Graph) -> None:
    with (
        index_with(graph, {"vector.dimensions": 2 * IDENTITY.dimensions}),
        pytest.raises(ConfigurationError, match="unexpected settings"),
    ):
        ensure_space(graph, IDENTITY)


def test_another_model_in_a_space_is_rejected(graph: Graph) -> None:
    ensure_space(graph, IDENTITY)
    other = replace(IDENTITY, revision="2")
    with pytest.raises(ConfigurationError, match="two models cannot be compared"):
        ensure_space(graph, other)


def test_a_wrong_password_names_the_variable(server: Neo4jServer) -> None:
    refused = pytest.raises(ConfigurationError, match="KG_NEO4J__PASSWORD")
    with Graph(server.uri, server.user, "wrong") as graph, refused as raised:
        graph.read("ontologies/names")
    assert "wrong" not in str(raised.value)
