import json
import os
import signal
from pathlib import Path

import neo4j

from kg_api.graph.client import Graph
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.cypher import rows
from tests.support.running import Service, environment, started, wait_until

SOME_FAILED = 3


def documents(graph: Graph) -> int:
    return graph.read("documents/count", ontologies=None)[0]["total"]


def fill(folder: Path) -> dict[str, str]:
    """Create good and broken files. For each broken file, return a word from its error."""
    (folder / "good.md").write_text("# Good\n\nOne good file.\n")
    (folder / "below").mkdir()
    (folder / "below" / "also good.txt").write_text("Another good file.\n")
    (folder / "old.txt").write_bytes(
        "Caf\xe9 d\xe9j\xe0 vu, na\xefve fa\xe7ade, \xe9l\xe8ve\n".encode("latin-1")
    )
    (folder / "program.md").write_bytes(b"\x7fELF" + bytes(200))
    (folder / "zeros.txt").write_bytes(b"text\x00text")
    (folder / "half.txt").write_bytes(b"\xff\xfe\x00\xd8")
    (folder / "empty.md").touch()
    (folder / "blank.rst").write_text("  \n\n \n")
    (folder / "large.txt").write_text("word " * 250_000)
    (folder / "locked.md").write_text("nobody may read this")
    (folder / "locked.md").chmod(0)
    (folder / "private").mkdir(mode=0)
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "circle.md").symlink_to("circle.md")
    os.mkfifo(folder / "pipe.md")
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("a name in an old encoding")
    return {
        "program.md": "the file is a program",
        "zeros.txt": "NUL byte at 4",
        "half.txt": "byte-order mark declares utf-16-le",
        "large.txt": "larger than 1,000,000 bytes",
        "locked.md": "Permission denied",
        "private": "Permission denied",
        "gone.md": "No such file",
        "circle.md": "symbolic links",
        "pipe.md": "the path is a pipe",
        "caf\ufffd.md": "not valid UTF-8",
    }


def test_broken_files_are_listed_and_others_ingested(
    kg: Kg, folder: Path, graph: Graph, ordinary: tuple[str, ...]
) -> None:
    broken = fill(folder)
    ran = kg("ingest", str(folder), "--ontology", "notes", "--metadata", "shelf=3", before=ordinary)
    assert ran.returncode == SOME_FAILED, ran.stderr
    failed = [line for line in ran.stdout.splitlines() if "failed:" in line]
    told = {name: next((line for line in failed if f"/{name}: " in line), "") for name in broken}
    assert {name: broken[name] in line for name, line in told.items()} == dict.fromkeys(broken, True), failed
    assert len(failed) == len(broken), "one line a file"
    assert "3 documents created" in ran.stdout
    assert "skipped: empty file (2), such as " in ran.stdout
    assert "old.txt: read as cp1252" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr
    assert documents(graph) == 3
    assert json.loads(kg("documents", "--where", "shelf=3", "--json").stdout)["total"] == 3
    told = json.loads(kg("ingest", str(folder), "--ontology", "notes", "--json", before=ordinary).stdout)
    assert {Path(each["path"]).name for each in told["failed"]} == broken.keys()
    names = sorted(each["document"] for each in told["documents"])
    assert names == ["below/also good.txt", "good.md", "old.txt"], "the path below the folder given"


def test_an_interrupted_ingest_ends_soon(
    folder: Path, server: Neo4jServer, service: Service, graph: Graph, tmp_path: Path
) -> None:
    for number in range(1500):
        (folder / f"{number}.md").write_text(f"note {number}")
    command = ["ingest", str(folder), "--ontology", "notes"]
    with started(command, environment(server, KG_API_URL=service.url), tmp_path / "ingest.log") as ingest:
        wait_until(lambda: documents(graph) > 0, 60)
        ingest.signal(signal.SIGINT)
        assert ingest.process.wait(60) == 130
    assert "Traceback" not in ingest.output()
    assert documents(graph) < 1500


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
    (folder / "a.md").unlink()
    (folder / "a.md").mkdir()
    assert "2 documents have no file in" in " ".join(kg(*ingest).stderr.split())


LEASES = "A worker renews its lease every ten seconds, and a lease that is lost goes to another worker."
TALK = [
    {"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": LEASES},
    {"author": "Bob", "text": "# Never!"},
]


def test_conversation_is_a_list_or_lines_or_one_message(kg: Kg, folder: Path) -> None:
    listed, lines = folder / "talk.json", folder / "talk.jsonl"
    listed.write_text(json.dumps({"messages": TALK}), encoding="utf-8")
    lines.write_text("\n".join(map(json.dumps, TALK)) + "\n", encoding="utf-8")
    ran = kg("conversation", str(listed), "-o", "talks", "-t", "Standup")
    assert ran.returncode == 0, ran.stderr
    assert "talks / Standup: created, 2 sources added" in ran.stdout
    again = kg("conversation", str(lines), "-o", "talks", "-t", "Standup", "--json")
    assert json.loads(again.stdout)["change"] == "unchanged"
    one = kg("conversation", "-", "-o", "talks", "-t", "One", stdin=json.dumps(TALK[0]))
    assert "1 source added" in one.stdout


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
