from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kg_api.graph.spaces import Layout, SpaceUse, StoredConfiguration
from kg_api.graph.targets import Plan
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.estimate import SAMPLED_SOURCES, Estimator, _uses
from tests.support.embedders import small_embedder
from tests.unit.search.canned import CannedGraph
from tests.unit.search.found import SPACE


@pytest.mark.parametrize("sources", [3, SAMPLED_SOURCES * 5 // 2])
def test_sampled_chunks_and_tokens_are_extrapolated(sources: int) -> None:
    graph, embedder = CannedGraph(), small_embedder()
    spaces = SimpleNamespace(of=lambda _: SimpleNamespace(embedder=lambda: embedder))
    estimator = Estimator(graph, cast("Any", spaces), Contexts(graph), lambda _: 2.0)
    texts = [SourceText(f"s{n}", "d", n, (), n * 10, "Two words", f"{n}") for n in range(sources)]
    plan = Plan("notes", EmbeddingConfig(), SPACE, cast("Any", None), "")
    cost = estimator.of_document(plan, texts, DocumentAbout("a", {}))
    assert (cost.documents, cost.sources, cost.chunks, cost.tokens) == (1, sources, sources, sources * 2)
    assert cost.price == pytest.approx(sources * 4 / 1e6)
    assert [each for each in cost.notes if "parts" in each] == (
        ["estimated from 1 of 2.5 parts of it"] if sources > SAMPLED_SOURCES else []
    )


def test_earlier_layout_of_the_answering_space_is_not_retiring() -> None:
    rechunked = SpaceUse(Layout("one", "2"), previous=Layout("one"))
    switched = SpaceUse(Layout("one"), previous=Layout("old"))
    uses = _uses({"notes": StoredConfiguration(rechunked), "books": StoredConfiguration(switched)})
    assert (uses["one"]["answering"], uses["one"]["previous"]) == (["notes", "books"], [])
    assert uses["old"]["previous"] == ["books"]
