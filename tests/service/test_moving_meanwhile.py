"""What happens to ontologies while `kg export` reads them: a bundle is whole, or it says what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_documents
from kg_api.schemas.bundles import Manifest
from kg_api.transfer.bundles import check_bundle, open_plain, raw_lines, read_line
from kg_api.web.shared.limits import check_bounds
from tests.service.test_moving import bring, export
from tests.support.embedding import run_jobs
from tests.support.records import record

DOCUMENTS = 105


def once(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Something happens behind the first page of an export."""
    asked, calls = KgClient.export_documents, list[int]()

    def asking(*arguments: Any, **more: Any) -> bytes:
        calls.append(1)
        if len(calls) == 2:
            happens()
        return asked(*arguments, **more)

    monkeypatch.setattr(KgClient, "export_documents", asking)


def marks(folder: Path, manifest: Manifest) -> set[str]:
    """Of all vectors of the first ontology."""
    with open_plain(folder / manifest.files[0].path) as file:
        lines = [read_line(raw, check_bounds) for raw in raw_lines(file)]
    return {line.mark for line in lines if line.kind == "vectors"}


@pytest.fixture
def many(kg: KgClient, graph: Graph) -> KgClient:
    """More documents than a page has."""
    store_documents(graph, [record(f"{number:03}.md", [f"Number {number}."]) for number in range(DOCUMENTS)])
    run_jobs(graph)
    return kg


def test_an_ontology_that_is_embedded_otherwise_meanwhile_is_exported_anew(
    many: KgClient, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = many.export_offer(["notes"]).ontologies[0].mark

    def switch() -> None:
        many.set_embedding_config("notes", strategy="count", chunk_size=30)
        run_jobs(graph)

    once(monkeypatch, switch)
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
    once(monkeypatch, lambda: many.delete_ontology("notes"))
    for _ in range(2):
        with pytest.raises(Conflict, match=r"notes was deleted while it was exported.*another folder"):
            export(many, folder)
    with pytest.raises(InvalidInput, match="was not finished"):
        bring(many, folder)
    assert export(many, tmp_path / "another").files == []


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
