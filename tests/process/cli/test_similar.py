from __future__ import annotations

import json
from collections.abc import Iterator

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.running import Service

LEASES = "A worker renews its lease every ten seconds, and whoever does not is taken for dead by all others."


@pytest.fixture(scope="module")
def source(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[str]:
    wipe(driver)
    with KgClient(service.url) as client:
        client.ingest_text(f"# Leases\n\n{LEASES}\n", ontology="handbook", document="leases.md")
        client.ingest_text(f"# Leases\n\n{LEASES.upper()}\n", ontology="kitchen", document="copy [b].md")
        run_jobs(migrated_graph)
        yield client.search_sources("lease", ontology="handbook").sources[0].source_id


def test_similar_passages_are_listed(kg: Kg, source: str) -> None:
    shown = kg("similar", source)
    assert (shown.returncode, "kitchen / copy [b].md" in shown.stdout) == (0, True), shown.stderr
    given = json.loads(kg("similar", source, "-o", "kitchen", "--json").stdout)
    assert [each["document"] for each in given["sources"]] == ["copy [b].md"]
    assert kg("similar", "none").returncode == 4
    assert "no result fits into 3" in kg("show", source, "--tokens", "3").stderr
