from collections.abc import Sequence
from typing import Any

from kg_api.errors import RerankUnavailable
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.providers.rerank import Reranker
from kg_api.schemas.search import SourceHits
from kg_api.search.rank import Reranking
from tests.graph.conftest import add_texts, sharing
from tests.support.kg import Kg
from tests.support.records import record

QUESTION = "how long does the pie bake"
PASSAGES = [
    "How long, how long does the pie wait, said the child; the pie, the pie!",
    "Put it into the oven for forty minutes until the crust of the pie is brown.",
    *[f"How does pie number {n} taste." for n in range(15)],
]


class Backwards:
    """Reranker that prefers the last passages and only scores some of them."""

    name = "backwards"

    def __init__(self, reads: int = 100) -> None:
        self.reads = reads

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        assert query
        assert seconds
        if not self.reads:
            raise RerankUnavailable("it is asleep; wake it")
        return [min(0.999, 0.001 + place / len(texts)) for place in range(len(texts))][: self.reads]

    def close(self) -> None:
        return


def search(kg: Kg, reranker: Reranker | None, **more: Any) -> SourceHits:
    return kg.find(QUESTION, Reranking(reranker, 60), rerank=True, explain=True, **more)


def add_pies(graph: Graph) -> None:
    store_document(graph, record("pies.md", PASSAGES, ontology="pies"))


pies = sharing(add_texts, add_pies)


def test_unreranked_hits_keep_order_and_are_reported(pies: Kg) -> None:
    plain = search(pies, None, ontology="pies", limit=12)
    assert [each.part for each in plain.degraded] == ["rerank"]
    some = search(pies, Backwards(reads=4), ontology="pies", limit=12)
    assert [each.part for each in some.degraded] == ["rerank"]
    assert "4 of" in some.degraded[0].effect
    assert [hit.source_id for hit in some.sources[4:]] == [hit.source_id for hit in plain.sources[4:]]
    scores = [hit.score for hit in some.sources]
    assert scores == sorted(scores, reverse=True)


def test_unavailable_reranker_keeps_the_fused_order(pies: Kg) -> None:
    plain, down = search(pies, None, ontology="pies"), search(pies, Backwards(reads=0), ontology="pies")
    assert [hit.source_id for hit in down.sources] == [hit.source_id for hit in plain.sources]
    assert "asleep; wake it" in down.degraded[0].effect
    assert all(hit.explanation and hit.explanation.rerank_rank is None for hit in down.sources)


def test_only_the_first_stage_is_read(pies: Kg) -> None:
    hits = search(pies, Backwards(), ontology="pies", first_stage_limit=10, limit=15)
    read = [hit.explanation.rerank_rank is not None for hit in hits.sources if hit.explanation]
    assert read == [True] * 10 + [False] * 5
