from __future__ import annotations

from kg_cli.documents.ingestion import describe_duplicates, describe_notes
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


def test_notes_of_unchanged_files_are_not_repeated() -> None:
    known = ingested("a.txt", "read as cp1252").model_copy(update={"change": "unchanged"})
    assert list(describe_notes([known, ingested("b.txt", "read as cp1252")])) == ["b.txt: read as cp1252"]


def test_many_that_say_the_same_are_one_line() -> None:
    few = [("b", "a"), ("c", "a")]
    assert [*describe_duplicates([("b c", "a")])] == [
        "b c has the same text as a, and kg stores both. To keep one: kg delete document 'b c'"
    ]
    assert len([*describe_duplicates(few)]) == 2
    (line,) = describe_duplicates(few, 40)
    assert line == "40 documents have the same text as another, such as b as a"
