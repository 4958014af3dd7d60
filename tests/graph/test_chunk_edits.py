"""Chunks over several sources, through edits: no hole, no gap, nothing embedded twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.graph import document_writes
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import enqueue_slot
from tests.graph.test_chunks import STRATEGIES, chunks, configure, document
from tests.graph.test_embedding_jobs import CountingEmbedder
from tests.support.cypher import rows
from tests.support.embedding import run_jobs, status
from tests.support.records import record

EDITS = {
    "added": [1, 2, 3, 9, 4, 5, 6],
    "first gone": [2, 3, 4, 5, 6],
    "middle gone": [1, 2, 5, 6],
    "turned round": [6, 5, 4, 3, 2, 1],
    "one left": [1],
    "all new": [7, 8, 9],
}
WHILE_EMBEDDED = {
    "others around": [1, 3, 4, 5, 6, 7, 9],
    "first": [9, 1, 2, 3, 4],
    "turned round": [4, 3, 2, 1, 9],
}


def pairs(strategies: list[dict[str, Any]], edits: dict[str, list[int]], usual: int) -> list[Any]:
    """Each strategy with each edit; the usual run sees `usual` strategies of each edit, and all in turn."""
    return [
        pytest.param(
            config,
            after,
            id=f"{name}-{config['strategy']}",
            marks=[] if (place - row * usual) % len(strategies) < usual else [pytest.mark.full],
        )
        for row, (name, after) in enumerate(edits.items())
        for place, config in enumerate(strategies)
    ]


@pytest.mark.parametrize(("config", "after"), pairs(STRATEGIES, EDITS, 1))
def test_after_an_edit_the_chunks_are_those_of_the_text_as_it_is(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any], after: list[int]
) -> None:
    configure(graph, **config)
    store_document(graph, document(after))
    run_jobs(graph)
    expected = [each["id"] for each in chunks(driver)]
    document_writes.delete_ontology(graph, "notes")
    configure(graph, **config)
    store_document(graph, document([1, 2, 3, 4, 5, 6]))
    run_jobs(graph)
    before = [each["id"] for each in chunks(driver)]
    assert not expected or before != expected
    store_document(graph, document(after))
    for each in chunks(driver):
        numbers = each["paragraphs"]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "no chunk over a gap, ever"
    run_jobs(graph)
    assert [each["id"] for each in chunks(driver)] == expected
    assert status(graph).embedded == len(after)


def covered(driver: neo4j.Driver) -> None:
    """Every word of every source that is said to be embedded is in a vector of its own or in a chunk."""
    found = chunks(driver)
    for row in rows(driver, "MATCH (s:Source) RETURN s.full_text AS text, s.embedding AS vector"):
        if row["vector"] is None:
            said = " ".join(each["text"] for each in found).split()
            assert set(row["text"].split()) <= set(said), row["text"]


def test_sources_that_change_places_have_chunks_of_their_new_order(
    graph: Graph, driver: neo4j.Driver
) -> None:
    """A chunk over two sources says something else when they are turned round."""
    a, b, c = (" ".join(f"{name}{n}" for n in range(size)) for name, size in (("a", 15), ("b", 7), ("c", 8)))
    configure(graph, strategy="count", chunk_size=10)
    for order in ([a, b, c], [b, a, c]):
        store_document(graph, record("a.md", order))
        run_jobs(graph)
        covered(driver)
        texts = " ".join(each["text"] for each in chunks(driver))
        assert texts.split() == " ".join(order).split()


@pytest.mark.parametrize(("config", "after"), pairs(STRATEGIES[2:], WHILE_EMBEDDED, 1))
def test_an_edit_while_its_batch_is_embedded_loses_nothing(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any], after: list[int]
) -> None:
    configure(graph, **config)
    store_document(graph, document([1, 2, 3, 4, 5, 6, 7, 8]))
    run_jobs(graph)
    store_document(graph, document([1, 2, 3, 4, 5, 6, 7, 9]))
    embedder = CountingEmbedder()
    edits = iter([document(after)])
    embedder.before = lambda: [store_document(graph, each) for each in edits] and None
    run_jobs(graph, embedder)
    covered(driver)
    assert (status(graph).embedded, status(graph).total) == (len(after), len(after))


def test_a_strategy_that_was_left_and_comes_back_leaves_no_hole(graph: Graph, driver: neo4j.Driver) -> None:
    configure(graph, strategy="count", chunk_size=10)
    store_document(graph, document([1, 2, 3, 4]))
    run_jobs(graph)
    configure(graph, strategy="paragraph", embed_on_ingest=False)
    store_document(graph, document([1, 9, 3, 4]))
    configure(graph, strategy="count", chunk_size=10)
    rows(driver, "MATCH (j:Job) DELETE j")
    enqueue_slot(graph, "backfill", "1")
    run_jobs(graph)
    covered(driver)
    assert status(graph).embedded == 4


def test_a_job_that_is_resumed_does_not_miss_what_stands_before_its_cursor(
    graph: Graph, driver: neo4j.Driver
) -> None:
    job_id = store_document(graph, document([1, 2, 3, 4])).job_id
    run_jobs(graph)
    rows(
        driver,
        "MATCH (j:Job {job_id: $id}) SET j.state = 'queued', j.unique_key = 'source_embedding:notes', "
        "j.cursor = 'zzzz:0'",
        id=job_id,
    )
    configure(graph, strategy="sentence", chunk_size=10)
    run_jobs(graph)
    assert status(graph).stale == 0


def test_a_long_context_leaves_room_for_the_text(graph: Graph) -> None:
    configure(graph, context="template")
    embedder = CountingEmbedder(max_tokens=20)
    about = document([1])
    store_document(graph, replace(about, title=" ".join(f"t{n}" for n in range(60))))
    run_jobs(graph, embedder)
    assert status(graph).embedded == 1
    assert all(text.startswith("t0 t1") for text in embedder.texts)


def test_an_edit_embeds_only_what_is_new(graph: Graph) -> None:
    configure(graph, strategy="paragraph_group", chunk_size=100)
    embedder = CountingEmbedder()
    store_document(graph, document(list(range(12))))
    run_jobs(graph, embedder)
    embedder.texts.clear()
    store_document(graph, document([*range(11), 99]))
    run_jobs(graph, embedder)
    assert embedder.texts
    assert all("topic99" in text for text in embedder.texts), "chunks before the edit keep their vectors"
