import json
from pathlib import Path

import neo4j

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.embedders import small_embedder


def test_a_kg_is_moved(kg: Kg, graph: Graph, driver: neo4j.Driver, tmp_path: Path) -> None:
    notes, bundle = tmp_path / "notes", tmp_path / "moving"
    notes.mkdir()
    (notes / "leases.md").write_text("# Leases\n\nA worker renews its lease.\n")
    (notes / "birds.md").write_text("Pelicans fly.\n")
    assert kg("ingest", str(notes), "--ontology", "notes").returncode == 0
    assert kg("ingest", str(notes), "--ontology", "others").returncode == 0

    unknown = kg("export", str(bundle), "--ontology", "nothing")
    assert (unknown.returncode, "nothing" in unknown.stderr) == (NotFound.exit_code, True)
    done = kg("export", str(bundle), "--ontology", "notes")
    assert done.returncode == 0, done.stderr
    assert "notes: 2 documents, 2 sources" in done.stdout
    assert "not in the bundle: documents that wait for approval" in " ".join(done.stderr.split())
    again = kg("export", str(bundle))
    assert (again.returncode, "name another folder" in again.stderr) == (Conflict.exit_code, True)

    nowhere = {"KG_API_URL": "http://127.0.0.1:1"}
    checked = kg("import", str(bundle), "--check", env=nowhere)
    assert (checked.returncode, "The bundle is complete" in checked.stderr) == (0, True), checked.stderr
    told = json.loads(kg("import", str(bundle), "--check", "--json", env=nowhere).stdout)
    assert (told["whole"], told["files"][0]["documents"]) == (True, 2)

    wipe(driver)
    ensure_space(graph, small_embedder().identity)
    assert "notes (new): 2 new documents" in kg("import", str(bundle)).stdout
    found = json.loads(kg("search", "lease", "--mode", "text", "--json").stdout)
    assert found["sources"][0]["document"] == "leases.md"
    again = kg("import", str(bundle))
    assert (again.returncode, "pass --replace" in again.stderr) == (Conflict.exit_code, True)
    assert "notes: 0 new documents, 2 unchanged" in kg("import", str(bundle), "--replace").stdout
