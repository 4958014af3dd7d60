import json

import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.process.cli.conftest import Kg
from tests.support.running import Service


@pytest.fixture
def document(service: Service, graph: Graph) -> str:
    del graph
    with KgClient(service.url) as client:
        return client.ingest_text("A note.\n", ontology="notes", document="a.md").document_id


def left(kg: Kg) -> int:
    return int(json.loads(kg("documents", "--json").stdout)["total"])


def test_a_no_deletes_nothing(kg: Kg, document: str) -> None:
    refused = kg("delete", "document", document, stdin="n\n")
    assert (refused.returncode, left(kg)) == (1, 1)
    assert "Delete a.md of notes (1 source)?" in refused.stdout + refused.stderr
    assert ("nothing was done" in refused.stderr, "--yes" in refused.stderr) == (True, False)
    unanswered = kg("delete", "ontology", "notes", stdin="")
    assert unanswered.returncode == 1
    assert "--yes to skip the confirmation" in " ".join(unanswered.stderr.split())
    assert left(kg) == 1
