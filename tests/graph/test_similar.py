from __future__ import annotations

from typing import Any

import pytest

from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.search import Place
from kg_api.schemas.similarity import (
    GraphRequest,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)
from kg_api.search import similar as similarity_service
from kg_api.search.similar import SimilarityService
from tests.support.embedding import configure_in_place
from tests.support.kg import Kg
from tests.support.records import record

APPLES = "red apples grow on the old tree behind the house and fall in the autumn wind"
PLUMS = "blue plums are kept in a jar of glass on the highest shelf of the cellar"
HONEY = "the bees make honey from the lime trees along the road to the mill"


def store(
    kg: Kg, document: str, paragraphs: list[str], ontology: str = "notes", *, embed: bool = True
) -> None:
    store_document(kg.graph, record(document, paragraphs, ontology))
    if embed:
        kg.work()


def source(graph: Graph, document: str, paragraph: int = 0, ontology: str = "notes") -> Place:
    found = GraphRequest(ontology=ontology, max_nodes=5000)
    nodes = SimilarityService(graph).graph(found).nodes
    wanted = (document, paragraph)
    node = next(each for each in nodes if (each.document, each.paragraph) == wanted)
    return Place(**node.model_dump(include=set(Place.model_fields) - {"full_text"}), full_text="")


def similar(kg: Kg, document: str, paragraph: int = 0, of: str = "notes", **asked: Any) -> SimilarSources:
    own = source(kg.graph, document, paragraph, of)
    return SimilarityService(kg.graph).similar(own.source_id, SimilarSearch.model_validate(asked))


def connected(kg: Kg, **asked: Any) -> SourceGraph:
    return SimilarityService(kg.graph).graph(GraphRequest.model_validate(asked))


def places(answer: SimilarSources) -> list[tuple[str, str, int]]:
    return [(each.ontology, each.document, each.paragraph) for each in answer.sources]


def test_similar_sources_cover_other_documents_of_all_ontologies(kg: Kg) -> None:
    store(kg, "one", [APPLES, PLUMS])
    store(kg, "two", [f"{PLUMS}, they say", HONEY], "other")
    answer = similar(kg, "one", 1, limit=3)
    assert places(answer)[0] == ("other", "two", 0)
    assert (answer.by, answer.space, answer.degraded) == ("vector", "default", [])
    first = answer.sources[0]
    assert first.near_duplicate
    assert first.similarity == pytest.approx(first.score)
    assert (first.similarity or 0) > (answer.sources[1].similarity or 0)
    assert first.chunk.text == f"{PLUMS}, they say"
    assert first.own_chunk.text == PLUMS
    assert "one" not in {document for _, document, _ in places(answer)}


def test_similar_sources_include_own_document_on_request_only(kg: Kg) -> None:
    store(kg, "one", [APPLES, APPLES + " and more", PLUMS])
    assert {document for _, document, _ in places(similar(kg, "one"))} == {"a.md"}
    within = similar(kg, "one", same_document=True)
    assert places(within)[0] == ("notes", "one", 1)
    assert ("notes", "one", 0) not in places(within)


def test_filters_do_not_reduce_number_of_similar_sources(kg: Kg) -> None:
    store(kg, "own", [f"{APPLES} number {n}" for n in range(300)])
    store(kg, "far", [f"some apples of the few {n}" for n in range(12)], "small")
    store(kg, "big", [f"{APPLES} count {n}" for n in range(100)], "big")
    one = similar(kg, "own", 7, limit=12, ontology="small", group_duplicates=False)
    assert [ontology for ontology, _, _ in places(one)] == ["small"] * 12
    both = similar(kg, "own", 7, limit=100, group_duplicates=False, ontology=["big"])
    assert len(both.sources) == 100
    with pytest.raises(NotFound, match="ontology 'there is none' not found"):
        similar(kg, "own", 7, ontology=["big", "there is none"])
    choices: list[dict[str, Any]] = [{}, {"same_document": True}, {"ontology": "small"}]
    for asked in choices:
        near, exact = (
            similar(kg, "own", 7, limit=40, group_duplicates=False, exact=exact, **asked)
            for exact in (False, True)
        )
        wanted = [each.similarity for each in exact.sources]
        assert [each.similarity for each in near.sources] == pytest.approx(wanted, abs=1e-6)


def test_near_duplicates_count_once_and_search_continues(kg: Kg, monkeypatch: pytest.MonkeyPatch) -> None:
    store(kg, "own", [APPLES])
    for copy in range(70):
        store(kg, f"copy {copy}", [f"{APPLES}{'.' * copy}"], "copies", embed=False)
    store(kg, "rest", [PLUMS, HONEY, "a jar", "a mill"], "copies")
    answer = similar(kg, "own", limit=5, ontology="copies")
    assert len(answer.sources) == 5
    assert (answer.sources[0].near_duplicate, len(answer.sources[0].duplicates)) == (True, 69)
    assert {document for _, document, _ in places(answer)[1:]} == {"rest"}
    monkeypatch.setattr(similarity_service, "MAX_BY_INDEX", 50)
    assert similar(kg, "own", limit=5, ontology="copies").sources == answer.sources, "by comparing with all"
    monkeypatch.setattr(similarity_service, "MAX_COMPARED", 50)
    few = similar(kg, "own", limit=5, ontology="copies")
    assert "near-duplicates" in few.degraded[0].effect


def test_less_similar_sources_are_omitted(kg: Kg) -> None:
    store(kg, "one", [APPLES])
    store(kg, "two", [APPLES + " gently", PLUMS])
    assert places(similar(kg, "one", min_similarity=0.8)) == [("notes", "two", 0)]
    assert similar(kg, "one", min_similarity=1).sources == []


@pytest.mark.parametrize("strategy", ["sentence", "paragraph_group", "hierarchical"])
def test_nearest_chunks_of_both_sources_are_compared(kg: Kg, strategy: str) -> None:
    texts = [f"{APPLES.capitalize()}. {'Stones are grey and lie in the river bed. ' * 30}", HONEY]
    for document, last in (("one", "Alone. "), ("two", "Together. ")):
        store(kg, document, [*texts, f"{last}{PLUMS.capitalize()}."], "chunked")
    configure_in_place(kg.graph, "chunked", strategy=strategy)
    kg.work()
    answer = similar(kg, "one", 0, "chunked", ontology="chunked", limit=2)
    first = answer.sources[0]
    assert first.document == "two"
    assert first.similarity == pytest.approx(1, abs=0.15)
    assert first.own_chunk.start < first.own_chunk.end
    assert {each.document for each in answer.sources} == {"two"}


def test_source_without_vector_is_compared_by_keywords(kg: Kg) -> None:
    store(kg, "two", [PLUMS, APPLES + " gently"])
    store(kg, "late", [APPLES, "another text about apples"], embed=False)
    answer = similar(kg, "late", min_similarity=0.5, limit=1)
    assert (answer.by, answer.space) == ("text", None)
    assert places(answer) == [("notes", "two", 1)]
    assert (answer.sources[0].similarity, answer.sources[0].near_duplicate) == (None, True)
    assert [each.part for each in answer.degraded] == ["vectors", "query"]
    assert ("notes", "late", 1) in places(similar(kg, "late", same_document=True))
    assert "embedding is in progress" in similar(kg, "two").degraded[0].effect


def test_ontologies_of_another_space_are_named_as_skipped(kg: Kg) -> None:
    kg.add("other")
    store(kg, "one", [APPLES])
    store(kg, "two", [APPLES], "elsewhere", embed=False)
    configure_in_place(kg.graph, "elsewhere", space="other")
    kg.work()
    answer = similar(kg, "one")
    assert {ontology for ontology, _, _ in places(answer)} == {"notes"}
    assert "elsewhere" in answer.degraded[0].effect
    graph = connected(kg)
    assert graph.spaces == ["default", "other"]
    assert "different spaces" in graph.degraded[0].effect
    of = {node.source_id: node.ontology for node in graph.nodes}
    assert not any("elsewhere" in {of[edge.a], of[edge.b]} for edge in graph.edges)


def test_graph_connects_nearest_sources_once(kg: Kg) -> None:
    store(kg, "one", [APPLES, PLUMS, HONEY], "g")
    store(kg, "two", [f"{HONEY} again", f"{APPLES} again"], "g")
    graph = connected(kg, ontology="g", neighbours=1, min_similarity=0.6)
    at = {node.source_id: (node.document, node.paragraph) for node in graph.nodes}
    pairs = {frozenset({at[edge.a], at[edge.b]}) for edge in graph.edges}
    assert pairs == {frozenset({("one", 0), ("two", 1)}), frozenset({("one", 2), ("two", 0)})}
    assert len(graph.edges) == 2
    assert [at[node.source_id] for node in graph.nodes] == [
        ("one", 0),
        ("one", 1),
        ("one", 2),
        ("two", 0),
        ("two", 1),
    ]
    assert [node.degree for node in graph.nodes] == [1, 0, 1, 1, 1]
    assert (graph.total, graph.truncated, graph.degraded) == (5, False, [])
    assert len(graph.groups) == 2
    assert all(edge.near_duplicate for edge in graph.edges)
    exact = similar(kg, "one", 0, "g", ontology="g", exact=True)
    own = exact.source.source_id
    (edge,) = (each for each in graph.edges if own in {each.a, each.b})
    assert edge.similarity == pytest.approx(exact.sources[0].similarity, abs=1e-5)


def test_graph_limits_nodes_and_skips_edges_within_documents(kg: Kg) -> None:
    assert connected(kg, ontology="notes").edges == []
    inside = connected(kg, documents=["a.md"], across_documents_only=False, neighbours=2)
    assert len(inside.nodes) == 12
    assert inside.edges
    few = connected(kg, max_nodes=5, across_documents_only=False)
    assert (len(few.nodes), few.total, few.truncated) == (5, 12, True)
    assert "5 of 12 sources" in few.degraded[0].effect
    with pytest.raises(NotFound, match="document 'none' not found"):
        connected(kg, documents=["none"])


def test_a_graph_grows_around_some_sources(kg: Kg) -> None:
    store(kg, "one", [APPLES, PLUMS], "g")
    store(kg, "two", [f"{APPLES} again", HONEY], "g")
    seed = source(kg.graph, "one", 0, "g").source_id
    graph = connected(kg, source_ids=[seed], neighbours=1)
    assert sorted((node.document, node.paragraph) for node in graph.nodes) == [("one", 0), ("two", 0)]
    assert len(graph.edges) == 1
    wide = connected(kg, source_ids=[seed], neighbours=50, ontology="notes")
    assert {node.ontology for node in wide.nodes} == {"g", "notes"}
    assert connected(kg, source_ids=[seed], neighbours=50, max_nodes=3).truncated


def test_nodes_without_vectors_are_reported(kg: Kg) -> None:
    store(kg, "late", [APPLES], "late", embed=False)
    graph = connected(kg, ontology=["late", "notes"])
    assert len(graph.nodes) == 13
    assert "1 of 13 sources have no vector" in graph.degraded[0].effect


LICENCE = "This document has been placed in the public domain, and nobody owns it"


def test_repeated_text_is_listed_separately(kg: Kg) -> None:
    for number, own in enumerate((APPLES, PLUMS, HONEY, f"{APPLES} again")):
        store(
            kg, f"d{number}", [own, f"the text of number {number} goes on with its own words", LICENCE], "b"
        )
    graph = connected(kg, ontology="b", neighbours=2)
    apart = [node for node in graph.nodes if node.repeated]
    assert [(node.document, node.paragraph, node.degree) for node in apart] == [
        (f"d{number}", 2, 0) for number in range(4)
    ]
    (told,) = graph.repeated
    assert (told.text, told.documents) == (LICENCE, 4)
    assert told.source_ids == [node.source_id for node in apart]
    assert {node.degree > 0 for node in graph.nodes if not node.repeated} == {True}
    every = connected(kg, ontology="b", neighbours=2, repeated=True)
    assert (every.repeated, every.edges[0].near_duplicate) == ([], True)
    around = connected(kg, source_ids=[apart[0].source_id], ontology="b", neighbours=3)
    assert around.repeated == []
    assert around.edges, "what was asked for is connected"
