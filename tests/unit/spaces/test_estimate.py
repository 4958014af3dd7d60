from types import SimpleNamespace
from typing import Any

import pytest

from kg_api.graph.concept_writes import StoredExtraction
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.schemas.concepts import ExtractionCost, UsedExtraction
from kg_api.schemas.embedding import Chunking
from kg_api.spaces import estimate
from kg_api.spaces.configuration import _build_advice
from kg_api.spaces.contexts import WrittenContexts
from kg_api.spaces.estimate import SAMPLED_SOURCES, Estimator
from tests.support.embedders import small_embedder
from tests.unit.search.found import SPACE


def test_sampled_cost_is_scaled_to_the_document() -> None:
    written = WrittenContexts(contexts=8, remembered=4, requests=2, read=100, written=10, price=0.5)
    spaces: Any = SimpleNamespace(get_open=lambda _: SimpleNamespace(get_embedder=small_embedder))
    quote = SimpleNamespace(estimate_written=lambda: written)
    contexts: Any = SimpleNamespace(
        quote=lambda *_: (lambda chunks: [""] * len(chunks), quote), get_sentence_vectors=lambda _: None
    )
    graph: Any = None
    plan: Any = SimpleNamespace(space=SPACE, config=Chunking(strategy="paragraph"))
    sources = [SourceText(f"s{n}", "d", n, (), 6 * n, "a word", "h") for n in range(5 * SAMPLED_SOURCES // 2)]
    cost = Estimator(graph, spaces, contexts, lambda _: 2.0).estimate_document(
        plan, sources, DocumentAbout("", {})
    )
    assert (cost.sources, cost.chunks, cost.tokens) == (1000, 1000, 2 * 1000)
    assert cost.price == pytest.approx(2 * 1000 * 2 / 1e6)
    assert cost.context_price == 2.5 * 0.5
    told = " ".join(cost.notes)
    assert "20 contexts in 5 requests. It reads about 250 tokens and writes 25" in told
    assert "10 contexts were written before" in told
    assert "estimated from 1 of 2.5 parts" in told


def test_nothing_to_embed_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "sample_texts", lambda *_: [])
    spaces: Any = SimpleNamespace(get_open=lambda _: SimpleNamespace(get_embedder=small_embedder))
    nothing: Any = None
    plan: Any = SimpleNamespace(space=SPACE, ontology="notes")
    cost = Estimator(nothing, spaces, nothing, lambda _: 2.0).estimate_texts("concept", plan, due=0)
    assert (cost.tokens, cost.seconds, cost.price) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("spent", "told"), [(1.0, []), (1.5, ["remaining budget of $0.5"]), (3.0, ["of $0."])]
)
def test_cost_is_compared_with_the_rest_of_the_budget(spent: float, told: list[str]) -> None:
    used = UsedExtraction(extractor="llm", per_source=5, budget=2.0)
    nothing = {"quotes": 0, "unverified_quotes": 0}
    cost = ExtractionCost(sources=1, price=1.0)
    notes = _build_advice(StoredExtraction("notes", spent=spent), used, cost, nothing, 0)
    assert [words in note for words, note in zip(told, notes, strict=True)] == [True] * len(told)
