from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kg_api.graph.client import Graph
from tests.neo4j_server import Neo4jServer
from tests.process.jobs.crew import Crew, tell


@pytest.fixture
def crew(server: Neo4jServer, graph: Graph, tmp_path: Path) -> Iterator[Crew]:
    del graph
    (tmp_path / "crew").mkdir()
    crew = Crew(server, tmp_path / "crew")
    yield crew
    crew.end()
    for worker in crew.hired:
        tell(f"{worker.log.name}: {worker.output()[-1500:]}")
