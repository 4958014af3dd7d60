from __future__ import annotations

import json
from pathlib import Path

from tests.process.cli.conftest import Kg


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
