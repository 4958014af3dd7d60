from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from kg_api.client import KgClient
from kg_api.errors import DatabaseUnavailable, KgError, TooBusy, TooLarge, UnreadableDocument
from kg_api.schemas.documents import DocumentOutcome, Ingested, IngestedBatch, SourceChanges
from kg_api.schemas.embedding import Cost
from kg_api.schemas.problems import build_problem
from kg_api.text.files import FileSelection, FileToIngest
from kg_cli.documents import ingestion
from kg_cli.documents.ingestion import (
    BYTES_A_BATCH,
    FILES_A_BATCH,
    Destination,
    Uploaded,
    describe_notes,
    divide,
    show_preview,
    sum_costs,
    upload,
)
from kg_cli.terminal.console import build_cost_rows
from tests.support.images import drawn, encoded

Answer = Callable[[dict[str, Any]], DocumentOutcome]


def ingested(document: str, *notes: str) -> Ingested:
    return Ingested(
        document_id="0" * 32,
        ontology="notes",
        document=document,
        title=document,
        change="created",
        sources=SourceChanges(added=1, kept=0, removed=0),
        notes=list(notes),
    )


class Service:
    def __init__(self, answer: Answer | KgError) -> None:
        self.answer = answer
        self.batches: list[Sequence[dict[str, Any]]] = []
        self.alone: list[str] = []

    def ingest_batch(self, documents: Sequence[dict[str, Any]]) -> IngestedBatch:
        self.batches.append(documents)
        if isinstance(self.answer, KgError):
            raise self.answer
        return IngestedBatch(outcomes=[self.answer(each) for each in documents])

    def ingest_bytes(self, content: bytes, **about: Any) -> Ingested:
        assert content
        self.alone.append(about["document"])
        return ingested(about["document"], "alone")


def stored(given: dict[str, Any]) -> DocumentOutcome:
    return DocumentOutcome(ingested=ingested(given["document"], "told by the service"))


def files(folder: Path, **contents: bytes) -> list[FileToIngest]:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [FileToIngest(folder / name, name) for name in contents]


def send(service: Service, given: Sequence[FileToIngest]) -> dict[str, tuple[list[str], str | None]]:
    told = upload(cast("KgClient", service), given, Destination("notes"))
    return {each.file.document: (each.ingested.notes if each.ingested else [], each.problem) for each in told}


def test_files_are_divided_by_count_and_by_bytes(tmp_path: Path) -> None:
    many = files(tmp_path, **{f"f{n}": b"x" for n in range(FILES_A_BATCH + 1)})
    assert [len(batch) for batch in divide(many)] == [FILES_A_BATCH, 1]
    large = files(
        tmp_path, a=b"x", b=b"x" * (BYTES_A_BATCH + 1), c=b"x", d=b"x" * (BYTES_A_BATCH - 1), e=b"x"
    )
    assert [[each.document for each in batch] for batch in divide(large)] == [["a"], ["b"], ["c", "d"], ["e"]]
    assert list(divide([])) == []


def test_files_are_decoded_like_the_service(tmp_path: Path) -> None:
    given = files(
        tmp_path,
        plain="Grüße".encode(),
        marked=b"\xef\xbb\xbfone",
        guessed="Viele Grüße aus Köln, schöne Straße".encode("cp1252"),
        program=b"\x7fELF" + bytes(20),
    )
    (tmp_path / "gone").touch()
    given.append(FileToIngest(tmp_path / "nowhere", "nowhere"))
    service = Service(stored)
    told = send(service, given)
    assert [(each["document"], each["text"]) for each in service.batches[0]][:2] == [
        ("plain", "Grüße"),
        ("marked", "one"),
    ]
    assert service.batches[0][0]["uri"] == (tmp_path / "plain").as_uri()
    assert told["plain"] == (["told by the service"], None)
    assert told["guessed"][0][0].startswith("read as cp1252")
    assert told["guessed"][0][1:] == ["told by the service"]
    assert "the file is a program" in (told["program"][1] or "")
    assert "cannot be read: No such file" in (told["nowhere"][1] or "")
    assert list(told) == ["plain", "marked", "guessed", "program", "nowhere"]


def test_pdf_and_image_are_uploaded_separately(tmp_path: Path) -> None:
    given = files(tmp_path, scan=b"%PDF-1.7 ...", note=b"one", photo=encoded(drawn()), last=b"two")
    service = Service(stored)
    told = send(service, given)
    assert [each["document"] for each in service.batches[0]] == ["note", "last"]
    assert sorted(service.alone) == ["photo", "scan"]
    assert told["scan"] == told["photo"] == (["alone"], None)
    assert list(told) == ["scan", "note", "photo", "last"]


def test_rejected_document_keeps_the_others_stored(tmp_path: Path) -> None:
    def answer(given: dict[str, Any]) -> DocumentOutcome:
        bad = given["document"] == "bad"
        return DocumentOutcome(problem=build_problem(UnreadableDocument("no text"))) if bad else stored(given)

    told = send(Service(answer), files(tmp_path, a=b"x", bad=b"x", b=b"x"))
    assert {name: problem for name, (_, problem) in told.items()} == {"a": None, "bad": "no text", "b": None}


@pytest.mark.parametrize("refusal", [TooLarge("too large"), KgError("what is /documents/batch?")])
def test_rejected_batch_is_sent_file_by_file(tmp_path: Path, refusal: KgError) -> None:
    service = Service(refusal)
    told = send(service, files(tmp_path, a=b"x", b=b"x"))
    assert told == {"a": (["alone"], None), "b": (["alone"], None)}
    assert sorted(service.alone) == ["a", "b"]


def test_temporarily_unstored_document_is_sent_again(tmp_path: Path) -> None:
    def answer(given: dict[str, Any]) -> DocumentOutcome:
        busy = given["document"] == "b"
        return DocumentOutcome(problem=build_problem(TooBusy("later"))) if busy else stored(given)

    service = Service(answer)
    told = send(service, files(tmp_path, a=b"x", b=b"x"))
    assert (told["b"], service.alone) == ((["alone"], None), ["b"])


def test_a_service_that_stays_away_ends_the_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "retry_while_unavailable", lambda call: call())
    with pytest.raises(DatabaseUnavailable):
        send(Service(DatabaseUnavailable("away")), files(tmp_path, a=b"x", b=b"x"))


@pytest.mark.parametrize("as_json", [True, False])
def test_preview_with_json_prints_table_to_stderr(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    with KgClient("http://127.0.0.1:9") as client:
        show_preview(client, FileSelection(), Destination("notes"), yes=True, as_json=as_json)
    told = capsys.readouterr()
    assert ("nothing is stored yet" in told.out) == (not as_json)
    assert ("nothing is stored yet" in told.err) == as_json
    assert told.out == "" or not as_json


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


def test_total_cost_is_unknown_if_one_is() -> None:
    known = Cost(documents=1, sampled_documents=1, sources=2, chunks=3, tokens=4, seconds=5, price=0.5)
    total = sum_costs([known, known.model_copy(update={"price": None})])
    assert (total.tokens, total.seconds, total.price) == (8, 10, None)
    assert build_cost_rows(known)[0] == ("to embed", "2 sources: 3 chunks, 4 tokens")
    sampled = known.model_copy(update={"documents": 2})
    assert build_cost_rows(sampled)[0] == ("to embed", "2 sources: about 3 chunks, about 4 tokens")


def test_interrupted_wait_names_the_remaining_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = FileToIngest(Path("a.md"), "a.md")
    new = ingested("a.md").model_copy(update={"job_id": "a"})
    monkeypatch.setattr(ingestion, "upload", lambda *_: [Uploaded(file, new)])
    monkeypatch.setattr(ingestion, "list_unfinished_jobs", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ingestion.run(Mock(), FileSelection(files=[file]), Destination("notes"), wait=True, as_json=False)
    printed = capsys.readouterr()
    assert "1 document created" in printed.out
    assert "Embedding continues: kg jobs watch" in printed.err


@pytest.mark.parametrize(
    ("ontology", "advice"),
    [("my notes", "kg delete document 'my notes/b.md'"), (None, "To keep one, delete the other file")],
)
def test_duplicate_is_reported_with_a_way_to_keep_one(ontology: str | None, advice: str) -> None:
    (line,) = ingestion.describe_duplicates([("b.md", "a.md")], ontology)
    assert line.startswith("b.md has the same text as a.md, and kg stores both.")
    assert line.endswith(advice)
