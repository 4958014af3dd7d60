from collections.abc import Mapping
from typing import Any

import neo4j
import numpy as np
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.search import SourceHit, SourceHits
from tests.graph.conftest import sharing
from tests.graph.test_chunks import chunks, configure
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.kg import Kg
from tests.support.records import record

SIZES: dict[str, Any] = {"chunk_size": 120, "overlap": 20, "parent_size": 600}
DOCUMENTS = 14


def paragraph(topic: str, number: int) -> str:
    """Build a paragraph with three sentences. Each sentence will be a child of about 240 characters."""
    said = "This sentence speaks about {0} and of its number{1}x{2} in some detail."
    return " ".join(said.format(topic, number, at) for at in range(3))


def texts() -> dict[str, list[str]]:
    """Build texts. Only the first one is about comets in all its paragraphs."""
    others = {
        f"{n}.md": [paragraph(f"plant{n}", 0), paragraph(f"comets plant{n}", 1), paragraph(f"plant{n}", 2)]
        for n in range(1, DOCUMENTS)
    }
    return {"0.md": [paragraph("comets", n) for n in range(12)], **others}


def add_comets(graph: Graph) -> None:
    configure(graph, strategy="hierarchical", **SIZES)
    for name, paragraphs in texts().items():
        store_document(graph, record(name, paragraphs))


kg = sharing(add_comets)


def parents(hits: SourceHits) -> list[tuple[str, int, int]]:
    return [(hit.document_id, hit.parent.start, hit.parent.end) for hit in hits.sources if hit.parent]


def require_right(hit: SourceHit, whole: Mapping[str, str]) -> None:
    said = whole[hit.document]
    assert hit.chunk is not None
    assert hit.parent is not None
    assert said[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    assert said[hit.parent.start : hit.parent.end] == hit.parent.text
    assert hit.parent.start <= hit.chunk.start < hit.chunk.end <= hit.parent.end
    assert len(hit.chunk.text) <= SIZES["chunk_size"]
    assert len(hit.chunk.text) < len(hit.parent.text) <= SIZES["parent_size"]
    assert set(hit.chunk.source_ids) <= set(hit.parent.source_ids)
    assert hit.source_id in hit.parent.source_ids


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_hit_of_a_child_returns_its_parent(kg: Kg, mode: str) -> None:
    whole = {name: "".join(f"{each}\n\n" for each in said) for name, said in texts().items()}
    hits = kg.find("plant7 comets", mode=mode, limit=5)
    assert hits.sources[0].document == "7.md"
    for hit in hits.sources:
        require_right(hit, whole)


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
@pytest.mark.parametrize("limit", [1, 5, 20])
def test_many_hits_of_a_parent_count_once(kg: Kg, mode: str, limit: int) -> None:
    """The document about comets has six parents with six children each. They are nearer than all
    others."""
    hits = kg.find("comets", mode=mode, limit=limit)
    found = parents(hits)
    assert len(found) == len(hits.sources), "every hit has one"
    assert len(found) == len(set(found)), "none comes twice"
    if mode == "vector":
        assert len(found) == min(limit, 20), "as many as were asked for, though there are 100 children"


def test_a_parent_scores_as_its_best_child(kg: Kg, driver: neo4j.Driver) -> None:
    question = small_embedder().embed_query("comets")
    best: dict[str, float] = {}
    for each in chunks(driver):
        near = float(question @ np.asarray(each["vector"], dtype=np.float32))
        (parent,) = each["parents"]
        best[parent] = max(near, best.get(parent, -1.0))
    hits = kg.find("comets", mode="vector", limit=8)
    expected = sorted(best.values(), reverse=True)[:8]
    assert [hit.similarity for hit in hits.sources] == pytest.approx(expected, abs=1e-5)
    for hit in hits.sources:
        assert hit.chunk is not None
        (own,) = small_embedder().embed_passages([hit.chunk.text])
        assert hit.similarity == pytest.approx(float(question @ own), abs=1e-5), "the child that is shown"


def test_keyword_hit_returns_the_parent(kg: Kg) -> None:
    """If there is no vector, no child is nearer than the others, so the whole source is returned."""
    whole = {name: "".join(f"{each}\n\n" for each in said) for name, said in texts().items()}
    hits = kg.find("plant7", mode="text", limit=3)
    assert {hit.document for hit in hits.sources} == {"7.md"}
    assert len(parents(hits)) == len(set(parents(hits))) == len(hits.sources) > 0
    for hit in hits.sources:
        assert hit.parent is not None
        assert whole[hit.document][hit.parent.start : hit.parent.end] == hit.parent.text
        assert hit.chunk.text == hit.full_text.strip()


def test_edit_within_a_parent_updates_its_children(kg: Kg, driver: neo4j.Driver) -> None:
    changed = texts()["7.md"]
    changed[0] = paragraph("volcanoes", 0)
    store_document(kg.graph, record("7.md", changed))
    kg.work()
    (hit,) = kg.find("volcanoes", mode="vector", limit=1).sources
    assert hit.parent is not None
    assert "volcanoes" in hit.parent.text
    assert "plant7" in hit.parent.text
    lonely = "MATCH (c:Chunk) WHERE c.embedding IS NULL AND NOT (c)<-[:CHILD_OF]-() RETURN count(c) AS n"
    assert rows(driver, lonely)[0]["n"] == 0, "no parent is left without a child"
    assert kg.switch.check("default").ok, "parents need no vector"
