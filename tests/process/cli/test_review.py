from __future__ import annotations

from pathlib import Path

from tests.process.cli.conftest import Kg


def test_files_wait_and_are_approved_or_rejected(kg: Kg, folder: Path) -> None:
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"The text of {name}.")
    ran = kg("ingest", str(folder), "--ontology", "reviewed", "--review")
    assert (ran.returncode, "3 waiting for approval" in ran.stdout) == (0, True)
    assert "kg documents waiting --ontology 'reviewed'" in ran.stderr
    listed = kg("documents", "waiting", "--ontology", "reviewed")
    assert "reviewed / b.md" in listed.stdout
    assert "The text of b." in listed.stdout
    assert "3 documents of reviewed wait for approval" in kg("ontologies").stderr
    one = kg("documents", "approve", "a.md", "z.md", "--ontology", "reviewed")
    assert (one.returncode, "1 document approved" in one.stdout) == (3, True)
    assert "no pending document is named z.md" in one.stdout
    assert "1 document rejected" in kg("documents", "reject", "b.md", "-o", "reviewed").stdout
    assert "1 document approved" in kg("documents", "approve", "--all", "-o", "reviewed").stdout
    stored = kg("documents", "--ontology", "reviewed").stdout
    assert [name in stored for name in ("a.md", "b.md", "c.md")] == [True, False, True]
    assert kg("documents", "approve", "--ontology", "reviewed").returncode == 2
    assert "No pending documents" in kg("documents", "waiting", "--ontology", "reviewed").stderr
