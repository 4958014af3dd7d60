from __future__ import annotations

from kg_cli.documents.ingestion import describe_notes
from tests.unit.cli.test_uploading import ingested


def test_notes_of_many_files_are_grouped() -> None:
    many = [ingested(f"{n}.pdf", f"{n} repeated headers on {n} pages are left out") for n in range(2, 7)]
    few = [
        ingested("a.txt", "read as cp1252"),
        ingested("b.txt", "read as cp1252", "has 2 hidden characters"),
    ]
    assert list(describe_notes([*many, *few])) == [
        "5 files, such as 2.pdf: 2 repeated headers on 2 pages are left out",
        "a.txt: read as cp1252",
        "b.txt: read as cp1252",
        "b.txt: has 2 hidden characters",
    ]
