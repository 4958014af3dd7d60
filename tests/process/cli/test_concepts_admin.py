from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.running import Service

TEXT = "Marie Curie discovered polonium. Marie Curie received the Nobel Prize in Physics."


@pytest.mark.usefixtures("graph")
def test_extraction_is_configured_previewed_and_started(kg: Kg, service: Service) -> None:
    with KgClient(service.url) as client:
        client.ingest_text(TEXT, ontology="notes", document="a")
    admin = ("admin", "concepts")
    shown = kg(*admin, "config", "--ontology", "notes")
    assert (shown.returncode, "none (the service's setting)" in shown.stdout) == (0, True), shown.stderr
    refused = kg(*admin, "extract", "--ontology", "notes")
    assert refused.returncode == 2
    assert "--extractor keyphrase" in refused.stderr.replace("\n", " ")
    done = kg(*admin, "config", "--ontology", "notes", "--extractor", "keyphrase", "--per-source", "4")
    assert "a worker reads 1 source now" in done.stdout + done.stderr
    started = kg(*admin, "extract", "--ontology", "notes", "--json")
    assert json.loads(started.stdout)["due"] == 1
    status = kg(*admin, "status", "--ontology", "notes")
    assert "1: 0 read, 1 pending" in status.stdout
    assert "Concepts of 1 passage are still being extracted. Search works now." in status.stderr
    model = kg(*admin, "config", "--ontology", "notes", "--extractor", "llm")
    assert model.returncode == 2
    assert "KG_LLM__MODEL" in model.stderr


def test_ingest_wait_reports_pending_concepts(kg: Kg, service: Service, graph: Graph, tmp_path: Path) -> None:
    with KgClient(service.url) as client:
        client.set_extraction_config("notes", extractor="keyphrase")
    (tmp_path / "a.md").write_text(TEXT)
    ingest = ("ingest", str(tmp_path), "--ontology", "notes")
    assert "still being extracted" not in kg(*ingest).stderr
    run_jobs(graph)
    waited = kg(*ingest, "--wait")
    assert waited.returncode == 0, waited.stderr
    assert "Concepts of 1 passage are still being extracted. Search works now." in waited.stderr
