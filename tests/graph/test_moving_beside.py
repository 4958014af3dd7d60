from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import neo4j
import pytest

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_writes import read_extraction
from kg_api.graph.document_writes import delete_by_name, store_document
from kg_api.graph.fulltext import read_language, read_synonyms
from kg_api.graph.library import change_by_name, find_document
from kg_api.graph.names import list_ontology_names
from kg_api.schemas.bundles import BundledDocument, BundledPassages
from kg_api.schemas.concepts import ExtractedRelation, ExtractionConfig
from kg_api.schemas.documents import DocumentChange
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.spaces.plans import read_embedding_state
from kg_api.transfer import exporting
from kg_api.transfer.bundles import read_lines
from tests.support.concepts import count, extraction, found, picture, write
from tests.support.cypher import rows
from tests.support.kg import TEXTS, Kg
from tests.support.moving import Mover
from tests.support.records import record

LineT = TypeVar("LineT", BundledDocument, BundledPassages)


@pytest.fixture
def kg(graph: Graph) -> Kg:
    return Kg(graph)


def test_foreign_chunk_is_not_attached(graph: Graph, driver: neo4j.Driver, kg: Kg, tmp_path: Path) -> None:
    kg.configure.set("notes", EmbeddingConfig(strategy="hierarchical"), dry_run=False)
    for name in ("a.md", "b.md"):
        store_document(graph, record(name, [f"{name} {text}" * 4 for text in TEXTS]))
    kg.work()
    mover = Mover(kg, tmp_path)
    (page,) = mover.pages()
    victim = rows(
        driver,
        "MATCH (d:Document {document: 'b.md'}) MATCH (c:Chunk)-[:CHILD_OF]->() "
        "WHERE c.document_id = d.document_id RETURN c.chunk_id AS id LIMIT 1",
    )[0]["id"]
    delete_by_name(graph, "a.md")
    lines = [json.loads(line) for line in page.splitlines()]
    own = [each for each in lines if each["kind"] == "passages" and each["document"] == "a.md"]
    parent = next(chunk for line in own for chunk in line["chunks"] if chunk.get("children"))
    parent["children"].append(victim)
    mover.take(b"".join(json.dumps(each).encode() + b"\n" for each in lines))
    parents = "MATCH (c:Chunk {chunk_id: $id})-[:CHILD_OF]->(p) RETURN p.document_id = c.document_id AS own"
    assert rows(driver, parents, id=victim) == [{"own": True}]


@pytest.mark.parametrize(
    "statement",
    ["ontologies/set_language", "ontologies/set_synonyms", "extraction/configure"],
)
def test_ontology_is_imported_with_complete_configuration(
    graph: Graph, kg: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    kg.configure.set("notes", EmbeddingConfig(strategy="count", chunk_size=30), dry_run=False)
    mover = Mover(kg, tmp_path)
    wanted = mover.configuration().model_copy(
        update={
            "ontology": "moved",
            "language": "de",
            "synonyms": [["lease", "contract"]],
            "extraction": ExtractionConfig(per_source=3),
        }
    )
    run = Transaction.run

    def breaking(tx: Transaction, name: Any, space: str = "default", /, **parameters: Any) -> Any:
        if name == statement:
            raise DatabaseUnavailable
        return run(tx, name, space, **parameters)

    monkeypatch.setattr(Transaction, "run", breaking)
    with pytest.raises(DatabaseUnavailable):
        mover.open(wanted)
    monkeypatch.undo()
    assert "moved" not in list_ontology_names(graph)
    assert mover.open(wanted).created
    assert read_embedding_state(graph, "moved").target.config.strategy == "count"
    language = read_language(graph, "moved")
    assert (language.language, language.complete) == ("de", True)
    assert read_synonyms(graph, "moved") == [["lease", "contract"]]
    assert read_extraction(graph, "moved").config.per_source == 3


def parsed(page: bytes, kind: type[LineT]) -> list[LineT]:
    return [line for line in read_lines(page) if isinstance(line, kind)]


def test_chunks_replaced_between_reads_are_not_exported(
    kg: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the chunks do not match, they are not exported, and the import can be completed."""
    kg.configure.set("notes", EmbeddingConfig(strategy="count", chunk_size=20), dry_run=False)
    store_document(kg.graph, record("a.md", [text * 4 for text in TEXTS]))
    kg.work()
    read = Graph.read

    def gone(graph: Graph, name: Any, space: str = "default", /, **parameters: Any) -> Any:
        return [] if name == "bundle/chunks" else read(graph, name, space, **parameters)

    monkeypatch.setattr(Graph, "read", gone)
    (page,) = Mover(kg, tmp_path).pages()
    assert parsed(page, BundledPassages) == []
    assert [len(line.sources) for line in parsed(page, BundledDocument)] == [len(TEXTS)]


def test_configuration_change_during_a_page_is_detected(
    kg: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_document(kg.graph, record("a.md", TEXTS))
    kg.work()
    before = kg_marks(kg)
    asked, switched = exporting.read_part, list[bool]()

    def switching(*arguments: Any, **more: Any) -> Any:
        if not switched:
            switched.append(True)
            kg.configure.set("notes", EmbeddingConfig(strategy="count", chunk_size=20), dry_run=False)
            kg.work()
        return asked(*arguments, **more)

    monkeypatch.setattr(exporting, "read_part", switching)
    (page,) = Mover(kg, tmp_path).pages()
    (line,) = parsed(page, BundledPassages)
    assert line.mark == kg_marks(kg) != before
    assert [each.paragraph for each in line.passages if each.embedded] == [*range(len(TEXTS))]


def kg_marks(kg: Kg) -> str:
    return read_embedding_state(kg.graph, "notes").answering.mark.value


def test_source_with_many_imported_concepts_is_transferred(
    graph: Graph, driver: neo4j.Driver, kg: Kg, tmp_path: Path
) -> None:
    given = record("a.md", ["Herons and storks."])
    store_document(graph, given)
    labels = [f"concept {at}" for at in range(210)]
    tied = tuple(ExtractedRelation("concept 0", "is before", each) for each in labels[1:150])
    everything = extraction(given, 0, *map(found, labels), relations=tied)
    write(graph, everything)
    before = picture(driver)
    mover = Mover(kg, tmp_path)
    (page,) = mover.pages()
    delete_by_name(graph, "a.md")
    assert count(driver, "(c:Concept)") == 0
    assert mover.take(page).concepts == 1
    assert (count(driver, "(c:Concept)"), count(driver, "()-[:RELATED_TO]->()")) == (210, 149)
    assert len(picture(driver)) == len(before)


def test_document_with_many_changes_is_transferred(graph: Graph, kg: Kg, tmp_path: Path) -> None:
    store_document(graph, record("a.md", TEXTS))
    first, second = ([f"key {start + at}" for at in range(50)] for start in (0, 50))
    change_by_name(graph, "a.md", DocumentChange(metadata=dict.fromkeys(first, 1)))
    anew = dict.fromkeys(first) | dict.fromkeys(second[:14], 2)
    change_by_name(graph, "a.md", DocumentChange(metadata=anew))
    change_by_name(graph, "a.md", DocumentChange(metadata=dict.fromkeys(second[14:], 3)))
    mover = Mover(kg, tmp_path)
    (page,) = mover.pages()
    (line,) = parsed(page, BundledDocument)
    assert line.changes
    assert len(line.changes.metadata) == 100
    delete_by_name(graph, "a.md")
    assert mover.take(page).stored == 1
    store_document(graph, record("a.md", [*TEXTS, "more"]))
    assert find_document(graph, "a.md").metadata == line.metadata
