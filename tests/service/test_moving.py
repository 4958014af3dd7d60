import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_documents
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.bundles import FORMAT, Manifest
from kg_api.transfer.bundles import check_bundle
from kg_cli.transfer.bundles import OntologyImport, choose, export_bundle, import_ontology
from tests.conftest import wipe
from tests.service.asking import nodes, problem
from tests.service.test_formats import upload
from tests.support.bundles import HASH, KEY, PICTURE, configuration, lines
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.images import drawn, encoded
from tests.support.records import record

BOAT = encoded(drawn(60, 40), "PNG")
TEXT = "# Leases\n\nA worker renews its lease.\n\nAnother worker waits.\n"


def export(kg: KgClient, folder: Path, ontologies: list[str] | None = None) -> Manifest:
    return export_bundle(kg, folder, ontologies, lambda _: None, lambda _: None)


def bring(kg: KgClient, folder: Path, *names: str, replace: bool = False) -> list[OntologyImport]:
    manifest = check_bundle(folder, lambda _: None)
    return [
        import_ontology(kg, folder, manifest, each, replace=replace, advance=lambda _: None)
        for each in choose(manifest, list(names) or None)
    ]


def empty(driver: neo4j.Driver, graph: Graph) -> None:
    wipe(driver)
    ensure_space(graph, small_embedder().identity)


def hits(kg: KgClient, query: str, mode: Any) -> list[tuple[str, str, float]]:
    found = kg.search_sources(query, mode=mode).sources
    return [(each.source_id, each.document, each.score) for each in found]


def test_exported_data_is_identical_after_import(
    kg: KgClient, http: httpx.Client, graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    kg.ingest_text(
        TEXT, ontology="handbook", document="leases.md", uri="file:///leases.md", metadata={"a": [1, 2]}
    )
    kg.ingest_text("Pelicans fly.", ontology="birds", document="pelicans.md")
    kg.ingest_text("Waits.", ontology="birds", document="later.md", review=True)
    upload(http, BOAT, "red boat.png", ontology="handbook")
    kg.set_synonyms("handbook", [["lease", "contract"]])
    kg.set_language("handbook", "en")
    kg.set_extraction_config("handbook", per_source=3)
    kg.set_embedding_config("handbook", strategy="count", chunk_size=30)
    run_jobs(graph)
    asked = [("worker lease", mode) for mode in ("text", "vector", "hybrid")] + [("red boat", "hybrid")]
    before = [hits(kg, *each) for each in asked]
    document = kg.document("leases.md")
    manifest = export(kg, tmp_path / "bundle")
    assert [each.documents for each in manifest.files] == [1, 2]
    assert manifest.left_out[0] == "1 pending document of birds"
    assert manifest.blobs.files == 2
    assert {oct(each.stat().st_mode) for each in (tmp_path / "bundle").rglob("*") if each.is_file()} == {
        "0o100600"
    }

    empty(driver, graph)
    birds, handbook = bring(kg, tmp_path / "bundle")
    assert (birds.created, birds.takes_vectors, birds.done.stored) == (True, True, 1)
    assert (handbook.done.stored, handbook.done.problems, handbook.done.anew) == (2, [], 0)
    assert [hits(kg, *each) for each in asked] == before
    now = kg.document("leases.md")
    assert now.model_dump(exclude={"updated_at"}) == document.model_dump(exclude={"updated_at"})
    assert kg.synonyms("handbook").groups == [["lease", "contract"]]
    assert kg.language("handbook").language == "en"
    assert kg.extraction_config("handbook").config.per_source == 3
    assert kg.embedding_config("handbook").config.strategy == "count"
    status = kg.embedding_status()
    assert (status.missing, status.stale, status.embedded) == (0, 0, status.total)
    (place,) = kg.images("handbook").images
    assert kg.image(place.source_id)[:4] == b"\x89PNG"

    with pytest.raises(Conflict, match="exists"):
        bring(kg, tmp_path / "bundle")
    again = bring(kg, tmp_path / "bundle", replace=True)
    assert [(each.created, each.done.stored, each.done.vectors) for each in again] == [(False, 0, 0)] * 2
    assert export(kg, tmp_path / "second").model_dump()["files"] == manifest.model_dump()["files"]


def test_one_ontology_is_imported_into_a_used_kg(kg: KgClient, graph: Graph, tmp_path: Path) -> None:
    for name in ("notes", "others"):
        kg.ingest_text(TEXT, ontology=name, document="a.md")
    run_jobs(graph)
    export(kg, tmp_path / "bundle", ["notes"])
    kg.delete_ontology("notes")
    with pytest.raises(NotFound, match="others"):
        bring(kg, tmp_path / "bundle", "others")
    kg.ingest_text("Something else.", ontology="notes", document="b.md")
    kg.ingest_text("Newer.", ontology="notes", document="a.md")
    with pytest.raises(Conflict, match="'notes' exists"):
        bring(kg, tmp_path / "bundle")
    (done,) = bring(kg, tmp_path / "bundle", replace=True)
    assert (done.done.replaced, kg.document("a.md", ontology="notes").text) == (1, TEXT)
    assert kg.documents("notes").total == 2
    assert kg.documents("others").total == 1


def sent(*given: dict[str, Any]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in given).encode()


def post(http: httpx.Client, content: bytes) -> httpx.Response:
    kind = {"Content-Type": "application/x-ndjson"}
    return http.post("/import/ontologies/notes/lines", content=content, headers=kind)


def put(http: httpx.Client, key: str) -> httpx.Response:
    kind = {"Content-Type": "application/octet-stream"}
    return http.put(f"/import/blobs/{key}", content=PICTURE, headers=kind)


def test_malicious_import_changes_nothing(http: httpx.Client, kg: KgClient, driver: neo4j.Driver) -> None:
    kg.open_import(configuration(), format=FORMAT, schema_version=1)
    before = nodes(driver)
    document, passages = lines()
    for content, told in (
        (b"", "line 1"),
        (b"[]", "line 1"),
        (b"\xff", "line 1"),
        (b"[" * 100_000, "line 1"),
        (sent(document, document), "duplicate"),
        (sent({**document, "sources": []}), "line 1"),
        (sent(document, {**passages, "passages": []}), "line 2"),
        (sent({**document, "document": "\x00"}), "U+0000"),
    ):
        assert told in problem(post(http, content), 422), content
    assert nodes(driver) == before
    assert "changed or cut off" in problem(put(http, "0" * 64), 422)
    problem(put(http, "..%2Fa"), 404, 422)
    problem(http.put(f"/import/blobs/{KEY}", content=PICTURE), 415)
    problem(http.get("/export/ontologies/unknown"), 404)
    problem(http.post("/import/ontologies/notes/lines", json={}), 415)
    with pytest.raises(NotFound):
        kg.import_lines("unknown", sent(document))
    assert nodes(driver) == before
    problem(http.get(f"/export/blobs/{'0' * 64}"), 404)


def test_bundle_of_later_version_is_rejected(kg: KgClient, http: httpx.Client) -> None:
    given = {"configuration": configuration().model_dump(mode="json")}
    later = http.post("/import/ontologies", json={"format": FORMAT, "schema_version": 999, **given})
    assert "Upgrade this kg first" in problem(later, 422)
    other = http.post("/import/ontologies", json={"format": 9, "schema_version": 1, **given})
    assert "format 9" in problem(other, 422)
    assert not kg.ontologies().ontologies


def test_missing_image_fails_only_its_document(kg: KgClient, http: httpx.Client) -> None:
    kg.open_import(configuration(), format=FORMAT, schema_version=1)
    alone = [{**each, "document": "b.md"} if "document" in each else each for each in lines()]
    del alone[0]["original"]
    content = sent(*lines(), *alone)
    answer = post(http, content).json()
    assert (answer["stored"], [each[:5] for each in answer["problems"]]) == (1, ["a.md:"])
    assert put(http, KEY).json() == {"key": KEY}
    assert post(http, content).json()["stored"] == 1
    assert kg.documents("notes").total == 2


def test_pending_documents_are_counted_for_the_exported_ontologies(kg: KgClient) -> None:
    for ontology in ("notes", "others"):
        kg.ingest_text("Stored.", ontology=ontology, document="stored.md")
        kg.ingest_text("Pending.", ontology=ontology, document="pending.md", review=True)
    assert kg.export_offer(["notes"]).waiting == {"notes": 1}
    assert kg.export_offer().waiting == {"notes": 1, "others": 1}


def test_vectors_are_accepted_only_with_equal_fingerprint(
    kg: KgClient, http: httpx.Client, graph: Graph, driver: neo4j.Driver
) -> None:
    """The fingerprint is correct, but the vectors have another size or the chunks are from another
    document."""
    kg.set_embedding_config("notes", strategy="count", chunk_size=30)
    kg.ingest_text("One two three. " * 20, ontology="notes", document="own.md")
    run_jobs(graph)
    mark = kg.export_offer(["notes"]).ontologies[0].mark
    document, passages = lines()
    del document["original"]
    short = post(http, sent(document, {**passages, "mark": mark})).json()
    assert (short["stored"], len(short["problems"])) == (0, 1)
    assert "dimensions" in short["problems"][0]
    (own,) = [
        line
        for line in map(json.loads, kg.export_documents("notes").splitlines())
        if line["kind"] == "passages"
    ]
    stolen = {**passages, "mark": mark, "passages": [{"paragraph": 1, "embedded": True}]}
    stolen["chunks"] = [{**own["chunks"][0], "first": 1, "last": 1, "offset": 0, "end_offset": 5}]
    told = post(http, sent(document, stolen)).json()
    assert (told["stored"], "another document's chunk" in told["problems"][0]) == (0, True)
    assert kg.documents("notes").total == 1
    assert document["content_hash"] == HASH
    with driver.session() as session:
        count = session.run(
            "MATCH (c:Chunk) WHERE c.document_id IS NOT NULL RETURN count(DISTINCT c.document_id)"
        )
        assert count.values() == [[1]]


DOCUMENTS = 105


def once(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    asked, calls = KgClient.export_documents, list[int]()

    def asking(*arguments: Any, **more: Any) -> bytes:
        calls.append(1)
        if len(calls) == 2:
            happens()
        return asked(*arguments, **more)

    monkeypatch.setattr(KgClient, "export_documents", asking)


@pytest.fixture
def many(kg: KgClient, graph: Graph) -> KgClient:
    store_documents(graph, [record(f"{number:03}.md", [f"Number {number}."]) for number in range(DOCUMENTS)])
    run_jobs(graph)
    return kg


def test_configuration_change_during_export_ends_it(
    many: KgClient, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def switch() -> None:
        many.set_embedding_config("notes", strategy="count", chunk_size=30)
        run_jobs(graph)

    once(monkeypatch, switch)
    with pytest.raises(Conflict, match=r"'notes' changed during its export.*another folder"):
        export(many, tmp_path / "bundle")
    manifest = export(many, tmp_path / "another")
    assert manifest.files[0].documents == DOCUMENTS
    assert manifest.files[0].configuration.embedding.strategy == "count"
