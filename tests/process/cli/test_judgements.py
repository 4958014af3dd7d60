"""`kg eval judgements` and question sets from judgements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.process.cli.conftest import Kg
from tests.support.embedders import small_embedder
from tests.support.running import Service

QUESTION = "who wears a ring?"


@pytest.fixture(autouse=True)
def empty(graph: Graph) -> None:
    """An empty database, with the space that service and worker had made when they started."""
    ensure_space(graph, small_embedder().identity)


@pytest.fixture
def notes(kg: Kg, tmp_path: Path) -> Path:
    """Two documents, ingested."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Herons\n\nEvery heron of the estuary carries a copper ring from Riga.\n")
    (folder / "b.md").write_text("# Horses\n\nA bassoon was pawned in Trieste for nineteen spotted horses.\n")
    assert kg("ingest", str(folder), "-o", "notes", "--wait").returncode == 0
    return folder


@pytest.mark.usefixtures("worker")
def test_judgements_become_a_set_for_evaluation(
    kg: Kg, notes: Path, tmp_path: Path, service: Service
) -> None:
    with KgClient(service.url) as client:
        for name, relevance in (("a.md", 2), ("b.md", 0)):
            client.judge("notes", question=QUESTION, source_id=f"notes/{name}#0", relevance=relevance)
    made = str(tmp_path / "made")
    about = kg("eval", "make", "--kind", "judgements", "-o", "notes", "--output", made, "--json")
    assert json.loads(about.stdout)["questions"] == 1, about.stderr
    results = str(tmp_path / "results")
    run = ("eval", "run", "--set", made, "-o", "notes", "--in-place", "--results", results, "--json")
    found = json.loads(kg(*run, "--mode", "vector").stdout)
    assert found["metrics"]["recall@5"] == 1.0
    spans = json.loads(kg(*run, "--mode", "text", "--target", "spans").stdout)
    assert spans["target"] == "spans"
    (notes / "a.md").write_text("# Herons\n\nNo ring at all.\n")
    kg("ingest", str(notes), "-o", "notes")
    nothing = kg("eval", "make", "--kind", "judgements", "-o", "notes", "--output", f"{made}2")
    assert nothing.returncode == 2
    assert "is judged to answer a question: judge hits" in " ".join(nothing.stderr.split())
