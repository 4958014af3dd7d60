"""What happens to ontologies while `kg export` reads them: a bundle is whole, or it says what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, Unavailable
from kg_api.graph.client import Graph
from kg_api.schemas.bundles import Manifest
from kg_api.transfer.bundles import check_bundle, open_plain, raw_lines, read_line
from kg_api.web.shared.limits import check_bounds
from kg_cli.bundle.transfer import OntologyPages
from tests.service.test_moving import bring, export
from tests.support.embedding import run_jobs

DOCUMENTS = 105
LONG = "".join(f"# Part {at}\n\nThis is about topic{at}.\n\n" for at in range(250))


def once(monkeypatch: pytest.MonkeyPatch, method: str, happens: Callable[[], object], *, at: int = 1) -> None:
    """Something happens behind so many calls of a method."""
    asked, calls = getattr(OntologyPages, method), list[int]()

    def asking(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == at + 1:
            happens()
        return asked(*arguments)

    monkeypatch.setattr(OntologyPages, method, asking)


def marks(folder: Path, manifest: Manifest) -> set[str]:
    """Of all vectors of the first ontology."""
    with open_plain(folder / manifest.files[0].path) as file:
        lines = [read_line(raw, check_bounds) for raw in raw_lines(file)]
    return {line.mark for line in lines if line.kind == "vectors"}


@pytest.fixture
def many(kg: KgClient, graph: Graph) -> KgClient:
    """More documents than a page has."""
    for number in range(DOCUMENTS):
        kg.ingest_text(f"Number {number}.", ontology="notes", document=f"{number:03}.md")
    run_jobs(graph)
    return kg


def test_an_ontology_that_is_embedded_otherwise_meanwhile_is_exported_anew(
    many: KgClient, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = many.export_offer(["notes"]).ontologies[0].mark

    def switch() -> None:
        many.set_embedding_config("notes", strategy="count", chunk_size=30)
        run_jobs(graph)

    once(monkeypatch, "behind", switch)
    manifest = export(many, tmp_path / "bundle")
    assert check_bundle(tmp_path / "bundle", check_bounds, lambda _: None) == manifest
    assert manifest.files[0].lines.document == DOCUMENTS
    mark = manifest.files[0].configuration.mark
    assert marks(tmp_path / "bundle", manifest) == {mark}
    assert mark != before
    assert manifest.files[0].configuration.embedding.strategy == "count"


def test_an_ontology_that_is_deleted_meanwhile_ends_the_export(
    many: KgClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bundle"
    once(monkeypatch, "behind", lambda: many.delete_ontology("notes"))
    for _ in range(2):
        with pytest.raises(Conflict, match=r"notes was deleted while it was exported.*another folder"):
            export(many, folder)
    with pytest.raises(InvalidInput, match="was not finished"):
        bring(many, folder)
    assert export(many, tmp_path / "another").files == []


def test_a_large_document_that_is_changed_between_its_parts_is_read_anew(
    kg: KgClient, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg.ingest_text(LONG, ontology="notes", document="long.md")
    kg.ingest_text("Short.", ontology="notes", document="z.md")
    run_jobs(graph)

    def change() -> None:
        kg.ingest_text(LONG.replace("topic7.", "another one."), ontology="notes", document="long.md")
        run_jobs(graph)

    once(monkeypatch, "_ask", change, at=2)
    folder = tmp_path / "bundle"
    manifest = export(kg, folder)
    assert check_bundle(folder, check_bounds, lambda _: None) == manifest
    counts = manifest.files[0].lines
    assert (counts.document, counts.source > 200, counts.vectors > 2) == (2, True, True)
    kg.delete_ontology("notes")
    (done,) = bring(kg, folder)
    assert (done.done.stored, done.done.vectors, done.done.problems) == (2, counts.source, [])
    assert "another one." in kg.document("long.md").text
    assert kg.embedding_status("notes").missing == 0


def test_no_answer_holds_more_than_a_part_of_a_large_document(kg: KgClient, graph: Graph) -> None:
    kg.ingest_text(LONG, ontology="notes", document="long.md")
    run_jobs(graph)
    first = [read_line(raw, check_bounds) for raw in kg.export_documents("notes").splitlines()]
    assert {line.kind for line in first} == {"document", "source"}
    content_hash = next(line.content_hash for line in first if line.kind == "document")
    parts = [kg.export_documents("notes", content_hash=content_hash, first=at) for at in (0, 100, 200, 300)]
    told = [read_line(raw, check_bounds) for part in parts for raw in part.splitlines()]
    paragraphs = [line.paragraphs for line in told if line.kind == "vectors"]
    assert [len(each) for each in paragraphs] == [100, 100, len(first) - 201]
    with pytest.raises(Conflict, match="changed meanwhile"):
        kg.export_documents("notes", content_hash="0" * 32)


def test_what_a_manifest_tells_of_is_on_the_disk_before(
    kg: KgClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the manifest comes, and before an unfinished export counts on it."""
    kg.ingest_text("Pelicans fly.", ontology="notes", document="a.md")
    folder, synced = tmp_path / "bundle", list[str]()
    sync = os.fsync

    def syncing(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        sync(handle)

    monkeypatch.setattr(os, "fsync", syncing)
    export(kg, folder)
    of_lines = synced.index("ontology-0001.jsonl")
    assert any(name.startswith(".unfinished.json") for name in synced[of_lines:])
    assert synced[-1].startswith(".manifest.json")


def test_an_export_that_never_gets_still_says_so(
    kg: KgClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg.ingest_text(LONG, ontology="notes", document="long.md")

    def changing(pages: OntologyPages, name: str, *more: Any) -> Any:
        if more:
            kg.ingest_text(LONG + str(len(calls)), ontology="notes", document="long.md")
            calls.append(1)
        return asked(pages, name, *more)

    asked, calls = OntologyPages._ask, list[int]()
    monkeypatch.setattr(OntologyPages, "_ask", changing)
    with pytest.raises((Conflict, Unavailable), match="faster than it can be exported"):
        export(kg, tmp_path / "bundle")
    monkeypatch.undo()
    assert export(kg, tmp_path / "bundle").files[0].lines.document == 1
