import json
from pathlib import Path
from typing import Any

import pytest

from kg_api.graph.client import Graph
from tests.process.cli.conftest import Kg
from tests.support.sync import documents, put

SOME_REFUSED = 3


@pytest.fixture
def folder(folder: Path) -> Path:
    put(folder, one="# One\n\nThe canary sings.\n", two="The second one.\n")
    return folder


def listed(kg: Kg) -> list[dict[str, Any]]:
    return json.loads(kg("folders", "list", "--json").stdout)["folders"]


@pytest.mark.usefixtures("worker")
def test_a_folder_is_followed_and_left(kg: Kg, folder: Path, graph: Graph) -> None:
    added = kg("folders", "add", str(folder), "--ontology", "notes", "--every", "2h", "--wait")
    assert (added.returncode, added.stderr.count("Traceback")) == (0, 0), added.stderr
    assert "notes: 2 added, 0 changed, 0 unchanged, 0 removed, 0 failed" in added.stdout
    found = json.loads(kg("search", "canary", "--ontology", "notes", "--json").stdout)
    assert (found["sources"][0]["document"], found["degraded"]) == ("one.md", [])

    (folder / "one.md").unlink()
    put(folder, three="The third one.\n")
    again = kg("folders", "scan", str(folder), "--wait")
    assert "1 added, 0 changed, 1 unchanged, 1 removed" in again.stdout
    table = " ".join(kg("folders", "list", "-o", "notes").stdout.split())
    assert all(word in table for word in (str(folder.name), "2h", "1 added", listed(kg)[0]["folder_id"]))

    removed = kg("folders", "remove", listed(kg)[0]["folder_id"])
    assert "no longer synced" in removed.stderr
    assert "kept in notes: 2 documents" in removed.stderr
    assert (listed(kg), len(documents(graph))) == ([], 2)


@pytest.mark.usefixtures("worker")
def test_rejected_files_are_listed_and_set_exit_code(kg: Kg, folder: Path) -> None:
    (folder / "program.md").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "picture.svg").write_bytes(b"<svg/>")
    added = kg("folders", "add", str(folder), "--ontology", "notes", "--wait")
    assert added.returncode == SOME_REFUSED, added.stderr
    assert "2 added, 0 changed, 0 unchanged, 0 removed, 1 failed" in added.stdout
    assert "failed: program.md: the file is a program" in added.stdout
    assert "skipped: .svg (1)" in added.stdout
    assert "failed: program.md: the file is a program" in kg("folders", "list").stdout
    assert "1 file failed; see: kg folders list" in added.stderr
    shown = kg("jobs", "show", listed(kg)[0]["job_id"])
    assert "program.md" in shown.stdout, shown.stderr
    assert "the file is a program" in " ".join(shown.stdout.split())
    assert kg("folders", "scan", str(folder)).returncode == 0, "the result of this scan is not known yet"


def test_folder_of_two_ontologies_needs_an_ontology(kg: Kg, folder: Path) -> None:
    for ontology in ("one", "two"):
        assert kg("folders", "add", str(folder), "--ontology", ontology).returncode == 0
    unclear = kg("folders", "remove", str(folder))
    assert (unclear.returncode, "one, two" in unclear.stderr) == (5, True)
    assert kg("folders", "remove", str(folder), "--ontology", "two").returncode == 0
    assert [each["ontology"] for each in listed(kg)] == ["one"]
    assert "'on' not found" in kg("folders", "list", "--ontology", "on").stderr
    below = kg("folders", "add", str(folder.parent), "--ontology", "one")
    assert (below.returncode, "one folder contains the other" in below.stderr) == (5, True)


@pytest.mark.usefixtures("worker")
def test_deletion_needs_confirmation(kg: Kg, folder: Path, graph: Graph) -> None:
    kg("folders", "add", str(folder), "--ontology", "notes", "--wait")
    assert kg("folders", "remove", str(folder), "--delete-documents", stdin="n\n").returncode != 0
    assert len(documents(graph)) == 2
    removed = kg("folders", "remove", str(folder), "--delete-documents", "--yes")
    assert "2 documents" in removed.stderr
    assert "the ontology notes itself stays" in removed.stderr
    assert (documents(graph), sorted(path.name for path in folder.iterdir())) == ({}, ["one.md", "two.md"])
