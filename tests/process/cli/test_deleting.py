from __future__ import annotations

import json

import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.process.cli.conftest import Kg
from tests.process.cli.doubles import Request, forwarding
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


def test_confirmed_deletion_is_idempotent(kg: Kg, document: str) -> None:
    assert kg("delete", "document", document, stdin="y\n").returncode == 0
    assert left(kg) == 0
    again = kg("delete", "document", document, "--yes", "--json")
    told = json.loads(again.stdout)
    assert (again.returncode, told["documents"], told["sources"]) == (0, 0, 0)
    assert "nothing was deleted" in told["notes"][0]
    assert "nothing was deleted" in kg("delete", "document", document, "--yes").stderr


def test_document_is_deleted_by_exact_name_only(kg: Kg, document: str) -> None:
    wrong = kg("delete", "document", "b.md", "--yes")
    assert (wrong.returncode, left(kg)) == (4, 1)
    assert "did you mean 'a.md'" in wrong.stderr
    assert kg("delete", "document", document[:8], "-o", "other", "--yes").returncode == 4
    done = kg("delete", "document", "a.md", "--ontology", "notes", "--yes")
    assert (done.returncode, left(kg)) == (0, 0)
    assert "deleted: 1 document, 1 source" in done.stderr


def test_filtered_deletion_requires_its_preview(kg: Kg, document: str, service: Service) -> None:
    """After the preview, one document no longer matches and another one does, so the number is the
    same."""
    with KgClient(service.url) as client:
        client.change_document(document, metadata={"tags": ["old"]})
        other = client.ingest_text("Another note.\n", ontology="notes", document="b.md").document_id

        def swap(request: Request) -> None:
            if request.path == "/documents/delete" and b'"dry_run":false' not in request.body:
                client.change_document(document, metadata={"tags": ["new"]})
                client.change_document(other, metadata={"tags": ["old"]})

        with forwarding(service, swap) as url:
            ran = kg("delete", "documents", "--where", "tags=old", "--yes", env={"KG_API_URL": url})
    assert ran.returncode != 0
    assert "other documents match now than in the dry run" in " ".join(ran.stderr.split())
    assert left(kg) == 2
    again = kg("delete", "documents", "--where", "tags=old", "--yes")
    assert (again.returncode, left(kg)) == (0, 1)
    assert "deleted: 1 document, 1 source" in again.stderr
