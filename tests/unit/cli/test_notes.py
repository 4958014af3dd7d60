"""Notes on many files."""

from __future__ import annotations

from kg_api.models.library.documents import Ingested, SourceChanges
from kg_cli.documents.notes import describe_notes


def of(document: str, *notes: str) -> Ingested:
    counts = SourceChanges(added=1, kept=0, removed=0)
    return Ingested(
        document_id="0" * 32,
        ontology="notes",
        document=document,
        title=document,
        change="created",
        sources=counts,
        notes=list(notes),
    )


def test_what_many_files_share_is_one_line() -> None:
    many = [of(f"{n}.pdf", f"{n} repeated headers on {n} pages are left out") for n in range(2, 7)]
    few = [of("a.txt", "read as cp1252"), of("b.txt", "read as cp1252", "has 2 hidden characters")]
    assert list(describe_notes([*many, *few])) == [
        "5 files, such as 2.pdf: 2 repeated headers on 2 pages are left out",
        "a.txt: read as cp1252",
        "b.txt: read as cp1252",
        "b.txt: has 2 hidden characters",
    ]
