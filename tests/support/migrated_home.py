"""Home whose Neo4j has its password, schema, vocabulary, and usual vector indexes.

A new home needs five CPU seconds. Each server would plan most statements twice, because an index or a name
was missing at first. This is why there are also indexes for the spaces that tests add, `other` and `fine`.
`keep` stores one home per set of jars and migrations. Tests of a first start do not use it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.graph.spaces import ensure_index, ensure_space
from kg_api.local.neo4j import LOCK
from kg_api.local.processes import Home
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.pixels import HistogramEmbedder
from kg_api.schemas.base import compute_digest
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG
from kg_api.settings import load_settings
from tests.support.colour_grid import ColourGrid
from tests.support.cypher import ROOT, STATEMENTS, make_image_index, make_tokens, rows
from tests.support.embedders import small_embedder

if TYPE_CHECKING:
    from tests.neo4j_server import Neo4jServer

STEPS = (ROOT / "kg_api/graph/schema.py", ROOT / "tests/support/schema.py", Path(__file__))


def kept() -> Path:
    """Return the folder for the current jars and statements."""
    texts = [*(path.read_text(encoding="utf-8") for path in (LOCK, *STEPS)), *STATEMENTS.values()]
    return load_settings().cache / "tests" / f"home-{compute_digest('migrated home', *texts)[:16]}"


def give(home: Path) -> None:
    """Copy the home that was stored. If there is none, the first start has to do all the work."""
    if (found := kept()).exists():
        shutil.copytree(found, home, dirs_exist_ok=True)


def keep(server: Neo4jServer) -> None:
    """Prepare the database of a server, stop it, and store its home to use it again."""
    auth = (server.user, server.password)
    with Graph(server.uri, *auth) as graph, neo4j.GraphDatabase.driver(server.uri, auth=auth) as driver:
        migrate(graph)
        make_tokens(driver)
        for slot in ensure_space(graph, small_embedder().identity).slots:
            ensure_index(graph, slot)
        ensure_space(graph, HistogramEmbedder().identity, FIRST_IMAGE_SLUG)
        make_image_index(driver)
        ensure_space(graph, DeterministicEmbedder(64).identity, "other")
        ensure_space(graph, ColourGrid(4).identity, "fine")
        rows(driver, "MATCH (e:EmbeddingSpace) DELETE e")
    server.stop()
    home, to = Home(server.home), kept()
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    empty = Home(part).create()
    shutil.copytree(home.neo4j_data, empty.neo4j_data, dirs_exist_ok=True)
    shutil.copy2(home.password_file, empty.password_file)
    for old in to.parent.glob("home-*"):
        if old != part:
            shutil.rmtree(old)
    part.rename(to)
