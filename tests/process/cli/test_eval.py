import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kg_api.client import KgClient
from kg_cli import main
from tests.process.cli.conftest import Kg
from tests.support.running import Service
from tests.unit.evaluate.sets import write

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "handbook")


def told(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def run(kg: Kg, folder: Path, *arguments: str) -> dict[str, Any]:
    results = str(folder.parent / "results")
    return told(kg("eval", "run", "--set", str(folder), "--results", results, "--json", *arguments))


@pytest.mark.usefixtures("worker")
def test_configurations_are_measured_and_compared(kg: Kg, folder: Path) -> None:
    results = str(folder.parent / "results")
    compare = ("eval", "compare", "--json", "--results", results)
    found = told(kg(*compare, "--set", str(folder), "--modes", "text,vector", "-c", "mode=hybrid,fusion=rrf"))
    assert found["labels"] == ["text", "vector", "hybrid fusion=rrf"]
    assert found["baseline"] == "text"
    assert {test["label"] for test in found["tests"]} == {"vector", "hybrid fusion=rrf"}
    assert all(0 < test["p_holm"] <= 1 for test in found["tests"])
    again = told(kg(*compare, *found["results"].values()))
    assert again["tests"] == found["tests"]


@pytest.mark.usefixtures("worker")
def test_generated_set_runs_in_place(kg: Kg, tmp_path: Path, service: Service) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Herons\n\nEvery heron of the estuary carries a copper ring from Riga.\n")
    (notes / "b.md").write_text("# Horses\n\nA bassoon was pawned in Trieste for nineteen spotted horses.\n")
    (notes / "c.html").write_text("<h1>Leases</h1><p>A worker renews its lease every ten seconds.</p>")
    (notes / "d.org").write_text("* Fences\n\nEach claim raises the fence.\n")
    assert kg("ingest", str(notes), "-o", "notes", "--wait").returncode == 0
    made = str(tmp_path / "made")
    asked = ("eval", "make", "--ontology", "notes", "--output", made, "--kind", "judgements", "--json")
    with KgClient(service.url) as client:
        for name, question in (("a", "What does every heron carry?"), ("b", "What was pawned in Trieste?")):
            client.judge("notes", question=question, source_id=f"notes/{name}.md#0", relevance=2)
        client.judge("notes", question="Who wears a ring?", source_id="notes/b.md#0", relevance=0)
    about = told(kg(*asked))
    assert (about["questions"], about["documents"]) == (2, 4)
    found = run(kg, Path(made), "--ontology", "notes", "--in-place", "--mode", "text")
    assert found["metrics"]["hit_rate@1"] == 1.0
    assert found["config"]["ontology"] == "notes"
    in_place = ("--ontology", "notes", "--in-place")
    assert run(kg, Path(made), *in_place, "--mode", "vector")["metrics"]["recall@5"] == 1.0
    assert run(kg, Path(made), *in_place, "--mode", "text", "--target", "spans")["target"] == "spans"
    again = kg(*asked)
    assert (again.returncode, "is not empty" in again.stderr) == (5, True)
    for name in ("a", "b"):
        (notes / f"{name}.md").write_text("# Herons\n\nNo ring at all.\n")
    kg("ingest", str(notes), "-o", "notes")
    nothing = kg(*asked[:-4], f"{made}2", *asked[-3:])
    assert nothing.returncode == 2
    assert "is judged to answer a question: judge hits" in " ".join(nothing.stderr.split())


def test_missing_packages_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    for name in [each for each in sys.modules if each.startswith(("kg_api.evaluation", "kg_cli.evaluate"))]:
        monkeypatch.delitem(sys.modules, name)  # another test of this process may have imported them
    assert main.run_command(["eval", "run", "--set", str(folder)]) == 78
    assert "pip install -e '.[eval]'" in capsys.readouterr().err
