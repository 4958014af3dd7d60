from __future__ import annotations

import json
from pathlib import Path

import neo4j

from tests.process.cli.conftest import Kg
from tests.support.cypher import rows


def test_ingest_and_doctor_warn_about_unsupported_languages(
    kg: Kg, folder: Path, driver: neo4j.Driver, tmp_path: Path
) -> None:
    (folder / "miete.txt").write_text("Die Miete ist von dem Mieter an den Vermieter zu zahlen.")
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.model = 'bge-small-en-v1.5'")
    told = kg("ingest", str(folder), "--ontology", "bau", env={"COLUMNS": "300"})
    note = "1 of 1 document is German; bge-small-en-v1.5 supports English."
    assert (told.returncode, note in told.stderr) == (0, True)
    doctor = kg("doctor", "--json", env={"KG_HOME": str(tmp_path / "elsewhere")})
    (found,) = (each for each in json.loads(doctor.stdout) if each["name"] == "language")
    assert (found["state"], found["detail"].startswith(f"bau: {note}")) == ("warn", True)


def test_synonyms_are_set_listed_and_taken_away(kg: Kg, folder: Path) -> None:
    (folder / "a.txt").write_text("the cluster")
    assert kg("ingest", str(folder), "--ontology", "ops").returncode == 0
    told = kg("admin", "synonyms", "set", "k8s = kubernetes", "ML = machine learning", "-o", "ops").stdout
    assert told.splitlines() == ["k8s = kubernetes", "ML = machine learning"]
    for wrong in ("alone", "a = b = "):
        refused = kg("admin", "synonyms", "set", "A = B", wrong, "-o", "ops")
        assert (refused.returncode, f"{wrong!r} is not a group of synonyms" in refused.stderr) == (2, True)
    added = kg("admin", "synonyms", "add", "db = database", "k8s = kubernetes", "-o", "ops")
    assert added.stdout.splitlines() == [*told.splitlines(), "db = database"]
    removed = kg("admin", "synonyms", "remove", "ml", "-o", "ops")
    assert removed.stdout.splitlines() == ["k8s = kubernetes", "db = database"]
    replaced = kg("admin", "synonyms", "set", "k8s = kubernetes", "-o", "ops")
    assert "1 group removed" in replaced.stderr
