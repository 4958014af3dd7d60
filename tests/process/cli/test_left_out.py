from __future__ import annotations

import json
from pathlib import Path

from tests.process.cli.conftest import Kg


def test_ignored_and_excluded_files_are_listed(kg: Kg, folder: Path) -> None:
    for name in ("a.md", "b.log", "draft.md"):
        (folder / name).write_text("some text")
    (folder / "module").mkdir()
    (folder / "module" / "__init__.py").touch()
    (folder / ".gitignore").write_text("*.log\n")
    ran = kg("ingest", str(folder), "--ontology", "notes", "--exclude", "draft*", "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert [each["document"] for each in told["documents"]] == ["a.md"]
    assert {Path(each["path"]).name: each["reason"] for each in told["left_out_files"]} == {
        "b.log": "ignored by .gitignore",
        "draft.md": "excluded by --exclude",
        "__init__.py": "empty file",
    }
    more = kg("ingest", str(folder), "--ontology", "notes", "--no-gitignore", "--include", "*.log")
    assert (more.returncode, "1 document created" in more.stdout) == (0, True)
    nothing = kg("ingest", str(folder), "--ontology", "notes", "--include", "*.none")
    assert (nothing.returncode, "all files were skipped" in nothing.stderr) == (3, True)
    wrong = kg("ingest", str(folder), "--ontology", "notes", "--exclude", "!")
    assert (wrong.returncode, "--exclude" in wrong.stderr) == (2, True), wrong.stderr


def test_unsupported_files_are_reported_with_converters(kg: Kg, folder: Path) -> None:
    for name in ("a.odt", "b.odt", "c.doc", "d.heic", "LICENSE"):
        (folder / name).write_bytes(b"\x00")
    ran = kg("ingest", str(folder), "--ontology", "notes")
    assert ran.returncode == 3
    told = ("LibreOffice", "pandoc", "name the file", ".heic: export")
    for said in ("skipped: .odt (2)", "skipped: .doc (1)", *told):
        assert said in ran.stdout
    assert "nothing was ingested. kg reads" in ran.stderr
    told = kg("ingest", str(folder), "--ontology", "notes", "--json", "--preview")
    assert (told.returncode, json.loads(told.stdout)["documents"]) == (3, [])


def test_documents_of_deleted_files_are_noted(kg: Kg, folder: Path) -> None:
    for name in ("a.md", "it's gone.md"):
        (folder / name).write_text(f"The text of {name}.")
    ingest = ("ingest", str(folder), "--ontology", "notes")
    assert "any more" not in kg(*ingest).stderr
    (folder / "it's gone.md").unlink()
    noted = " ".join(kg(*ingest).stderr.split())
    assert "1 document has no file in" in noted
    assert "such as it's gone.md. To delete: kg delete document" in noted
