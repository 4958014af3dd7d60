"""What is imported beside what is there: nothing of it goes unasked, and nothing is taken over."""

from __future__ import annotations

import json
from pathlib import Path

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_called, store_document
from kg_api.schemas.embedding import EmbeddingConfig
from tests.graph.test_review import names, store
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.kg import TEXTS, Kg
from tests.support.moving import Mover
from tests.support.records import record


@pytest.fixture
def kg(graph: Graph) -> Kg:
    return Kg(graph)


def test_what_waits_for_approval_waits_on(graph: Graph, kg: Kg, tmp_path: Path) -> None:
    store(graph, "a.md", "The first text.\n", review=False)
    mover = Mover(kg, tmp_path)
    (page,) = mover.pages()
    store(graph, "a.md", "Another text.\n")
    assert (mover.take(page).unchanged, names(graph)) == (1, ["a.md"])
    delete_called(graph, "a.md")
    store(graph, "a.md", "Another text.\n")
    done = mover.take(page)
    assert (done.kept, done.stored, names(graph)) == (["a.md"], 0, ["a.md"])
    assert (mover.take(page, replace=True).stored, names(graph)) == (1, [])


def test_concepts_that_people_brought_stay(
    graph: Graph, driver: neo4j.Driver, kg: Kg, tmp_path: Path
) -> None:
    given = record("a.md", ["Herons and storks."])
    store_document(graph, given)
    write(
        graph,
        extraction(given, 0, found("storks", quote("Herons and storks.", "storks"))),
        imported=True,
        mark="old",
    )
    mover = Mover(kg, tmp_path)
    (page,) = mover.pages()
    herons = found("herons", quote("Herons and storks.", "Herons"))
    write(graph, extraction(given, 0, herons), imported=True, mark="new")
    mover.take(page)
    assert rows(driver, "MATCH (c:Concept)-[:APPEARS_IN]->() RETURN c.label AS label") == [
        {"label": "herons"}
    ]


def test_a_chunk_of_another_document_is_no_ones_child(
    graph: Graph, driver: neo4j.Driver, kg: Kg, tmp_path: Path
) -> None:
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
    delete_called(graph, "a.md")
    lines = [json.loads(line) for line in page.splitlines()]
    own = [each for each in lines if each["kind"] == "vectors" and each["document"] == "a.md"]
    parent = next(chunk for line in own for chunk in line["chunks"] if chunk.get("children"))
    parent["children"].append(victim)
    mover.take(b"".join(json.dumps(each).encode() + b"\n" for each in lines))
    parents = "MATCH (c:Chunk {chunk_id: $id})-[:CHILD_OF]->(p) RETURN p.document_id = c.document_id AS own"
    assert rows(driver, parents, id=victim) == [{"own": True}]
