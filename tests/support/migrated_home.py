"""Home whose Neo4j has its password and schema.

A new home needs five CPU seconds. `keep` stores one per set of jars and migrations. Tests of a first
start do not use it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.local.neo4j import LOCK
from kg_api.local.processes import Home
from kg_api.schemas.base import digest
from kg_api.settings import load_settings
from tests.support.cypher import ROOT, STATEMENTS

if TYPE_CHECKING:
    from tests.neo4j_server import Neo4jServer

STEPS = ROOT / "kg_api/graph/schema.py"


def kept() -> Path:
    """Return the folder for the current jars and statements."""
    texts = [LOCK.read_text(encoding="utf-8"), STEPS.read_text(encoding="utf-8"), *STATEMENTS.values()]
    return load_settings().cache / "tests" / f"home-{digest('migrated home', *texts)[:16]}"


def give(home: Path) -> None:
    """Copy the home that was stored. If there is none, the first start has to do all the work."""
    if (found := kept()).exists():
        shutil.copytree(found, home, dirs_exist_ok=True)


def keep(server: Neo4jServer) -> None:
    """Migrate the database of a server, stop it, and store its home to use it again."""
    with Graph(server.uri, server.user, server.password) as graph:
        migrate(graph)
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
