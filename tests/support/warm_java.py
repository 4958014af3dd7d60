"""Class data cache of Neo4j's JVM for tests (JEP 483 and 514, Java 25).

A usual run starts about thirty JVMs. Tests are slower without the cache.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.graph.spaces import ensure_space
from kg_api.local.neo4j import LOCK, build_environment, find_java
from kg_api.schemas.base import compute_digest
from kg_api.settings import load_settings
from tests.support.cypher import STATEMENTS, explain, explained_with, make_image_index, statuses
from tests.support.embedders import small_embedder

if TYPE_CHECKING:
    from tests.neo4j_server import Neo4jServer

LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Neo4j runs for minutes in tests, so full optimization costs more than it saves. Fully optimized code has
only 48 MB of cache, other code 240 MB. A full cache causes repeated garbage collection.
"""
EVERY = 8
"""Number of statements. Only one of them has to be planned, because the others use the same classes."""
GRACE_SECONDS = 300
"""The cache is written when the JVM exits."""


def cache() -> Path:
    """Return the path to use for the current Java and jars."""
    release = find_java().parents[1] / "release"
    key = compute_digest(
        "warm java", LIGHT, release.read_text(encoding="utf-8"), LOCK.read_text(encoding="utf-8")
    )
    return load_settings().cache / "tests" / f"neo4j-{key[:16]}.aot"


def java_options() -> str:
    kept = cache()
    return f"{LIGHT} -XX:AOTCache={kept}" if kept.exists() and " " not in str(kept) else LIGHT


def make() -> None:
    """Start Neo4j, plan some statements, and store the cache."""
    from tests.neo4j_server import managed_server  # noqa: PLC0415 - conftest.py reads this module before that

    kept = cache()
    part = kept.with_suffix(".part")
    kept.parent.mkdir(parents=True, exist_ok=True)
    for old in kept.parent.glob("neo4j-*"):
        old.unlink()
    os.environ["JAVA_TOOL_OPTIONS"] = LIGHT
    with managed_server(first_start=True) as server:
        server.stop()  # that start ran a command for the password besides
        watched = _with_options(server, f"{LIGHT} -XX:AOTCacheOutput={part}")
        watched.restart()
        _plan_some(watched)
        watched.stop(GRACE_SECONDS)
    part.rename(kept)


def _with_options(server: Neo4jServer, options: str) -> Neo4jServer:
    if server.role is None:
        raise RuntimeError("only a managed Neo4j has a JVM of ours")
    return replace(server, role=replace(server.role, env=build_environment(JAVA_TOOL_OPTIONS=options)))


def _plan_some(server: Neo4jServer) -> None:
    off = neo4j.NotificationMinimumSeverity.OFF
    where = (server.uri, server.user, server.password)
    with Graph(*where) as graph:
        migrate(graph)
        ensure_space(graph, small_embedder().identity)
    with neo4j.GraphDatabase.driver(server.uri, auth=where[1:], notifications_min_severity=off) as driver:
        make_image_index(driver)
        for text in [*STATEMENTS.values()][::EVERY]:
            statuses(driver, explain(text), explained_with(text))
