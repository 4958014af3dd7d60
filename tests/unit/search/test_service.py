from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import Conflict, EmbeddingUnavailable, InvalidInput, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.search import ChunkText, FoundChunk, LaneHit, LaneHits
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.schemas.spaces import ModelChoice
from kg_api.search.retrieve import TEXT, find_needed_texts, merge
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from tests.unit.search.canned import LARGE, POPULATING, SMALL, CannedGraph
from tests.unit.search.found import SAID, START, found, hits, lanes, ranked, source


def searched(graph: Graph, embedder: Embedder | None = None, **asked: Any) -> SourceHits:
    def open_model(choice: ModelChoice | None) -> Embedder:
        return LARGE if choice else embedder or SMALL

    service = SearchService(graph, SpaceRegistry(graph, open_model))
    try:
        return service.search(SourceSearch.model_validate({"query_text": "two words", **asked}))
    finally:
        service.close()


def ids(answer: SourceHits) -> list[str]:
    return sorted(hit.source_id for hit in answer.sources)


def parts(answer: SourceHits) -> list[str]:
    return [each.part for each in answer.degraded]


def test_both_retrievers_are_queried_once() -> None:
    graph = CannedGraph()
    answer = searched(graph)
    assert (answer.mode, ids(answer), parts(answer)) == ("hybrid", ["by text", "by vector"], [])
    assert graph.times("search/by_vector") == graph.times("search/by_text") == 1
    assert graph.times("similar/by_ids") == 1, "what is shown is read once"


@pytest.mark.parametrize("asked", [{}, {"collapse_duplicates": True}, {"limit": 1}])
def test_hits_deleted_before_display_are_omitted(asked: dict[str, Any]) -> None:
    graph = CannedGraph()
    graph.gone = {"by text"}
    answer = searched(graph, **asked)
    assert (ids(answer), bool(answer.next_cursor)) == (["by vector"], "limit" in asked)


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_populating_vector_index_leaves_keyword_search(mode: str) -> None:
    graph = CannedGraph(passage_embedding=POPULATING)
    answer = searched(graph, mode=mode)
    assert (answer.mode, ids(answer), parts(answer)) == ("text", ["by text"], ["vector_index"])
    assert "populating, 40 % populated" in answer.degraded[0].effect
    assert graph.times("search/by_vector") == 0


def test_populating_keyword_index_leaves_vector_search() -> None:
    answer = searched(CannedGraph(source_words=POPULATING))
    assert (answer.mode, ids(answer), parts(answer)) == ("vector", ["by vector"], ["text_index"])
    assert searched(CannedGraph(source_words=POPULATING), mode="vector").degraded == []


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        ({"source_words": POPULATING, "passage_embedding": POPULATING}, {}),
        ({"source_words": POPULATING}, {"mode": "text"}),
        (
            {"passage_embedding": POPULATING},
            {"query_text": None, "query_vector": [1.0] * 256, "space": "default", "mode": "vector"},
        ),
    ],
)
def test_no_available_index_is_an_error(states: dict[str, Any], asked: dict[str, Any]) -> None:
    with pytest.raises(Unavailable, match="Try again"):
        searched(CannedGraph(**states), **asked)


class UnavailableEmbedder(DeterministicEmbedder):
    def embed_query(self, text: str) -> NoReturn:  # noqa: ARG002
        raise EmbeddingUnavailable("no model")


@pytest.mark.parametrize("least", [None, 0.99])
def test_without_model_keywords_ignore_the_threshold(least: float | None) -> None:
    answer = searched(CannedGraph(), UnavailableEmbedder(), min_similarity=least)
    assert (answer.mode, answer.space, ids(answer)) == ("text", None, ["by text"])
    effect = "the question could not be embedded (no model): searched by full text only"
    applied = "" if least is None else ", and min_similarity was not applied"
    assert [each.effect for each in answer.degraded] == [effect + applied]
    assert answer.sources[0].explanation is None, "only if requested"


def test_vector_of_wrong_size_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="has 3 dimensions, but the space 'default' has 256"):
        searched(CannedGraph(), query_vector=[1.0] * 3, space="default")
    with pytest.raises(Conflict, match="cannot be compared"):
        searched(CannedGraph(), query_vector=[1.0] * 256, space="other")


def test_keyword_search_ignores_the_query_vector() -> None:
    answer = searched(CannedGraph(), query_vector=[1.0] * 256, space="default", mode="text")
    assert (answer.mode, ids(answer)) == ("text", ["by text"])


def test_question_without_words_is_searched_by_vector_with_note() -> None:
    answer = searched(CannedGraph(), query_text="?!")
    assert (ids(answer), [each.effect for each in answer.degraded]) == (
        ["by vector"],
        ["full text: the query contains no word to search for"],
    )


def test_relevance_of_an_unfinished_question_is_unknown() -> None:
    assert [searched(CannedGraph(), prefix=prefix).near for prefix in (False, True)] == [True, None]


def test_hypothetical_answers_allow_no_further_page() -> None:
    answer = searched(CannedGraph(), limit=1, hyde=1)
    assert (parts(answer), answer.next_cursor) == (["hyde"], None)


def test_many_documents_are_filtered_after_keyword_search() -> None:
    graph = CannedGraph()
    ids = [f"{n:032x}" for n in range(600)]
    answer = searched(graph, documents=ids, mode="text", ontology=["o0"])
    (given,) = (given for name, given in graph.asked if name == "search/by_text")
    assert set(given["document_ids"]) >= set(ids)
    assert len(answer.sources) == 1


def test_query_vector_searches_its_space_and_reports_others() -> None:
    graph = CannedGraph()
    graph.further = "large"
    answer = searched(graph, query_text=None, query_vector=[1.0] * 512, space="large", mode="vector")
    assert answer.spaces == ["large"]
    assert answer.degraded[0].effect.endswith(": o0, o1, o2, o3, o4")


def test_one_threshold_for_two_models_is_reported() -> None:
    graph = CannedGraph()
    graph.further = "large"
    assert "2 spaces alike" in searched(graph, min_similarity=0.1).degraded[0].effect
    assert searched(CannedGraph(), min_similarity=0.1).degraded == searched(graph).degraded == []


def test_vector_search_reports_pending_sources() -> None:
    graph = CannedGraph()
    graph.unfinished = [{"ontology": "o1", "done": 3, "total": 9}, {"ontology": "o2", "done": 0, "total": 1}]
    told = searched(graph, mode="vector", ontology="o1").degraded
    assert [each.effect[:50] for each in told] == ["o1: embedding is in progress (3 of 9 sources). The"]
    assert len(searched(graph, mode="vector").degraded) == 2
    assert searched(graph).degraded == [], "words tell it by what they find"


def test_fused_hits_contain_both_ranks() -> None:
    given = lanes(
        vectors={"default": [found("a", 0.9, 0.9), found("b", 0.8, 0.8)]},
        text=[found("b", 7.0, 0.8), found("c", 5.0)],
    )
    answer = hits(given, 10)
    assert answer[0].source_id == "b"
    assert {hit.source_id: (hit.ranks.vector, hit.ranks.text) for hit in answer} == {
        "b": (2, 1),
        "a": (1, None),
        "c": (None, 2),
    }
    assert {hit.ranks.pictures for hit in answer} == {None}
    assert {hit.source_id: hit.space for hit in answer} == {"a": "default", "b": "default", "c": None}


def test_results_of_a_retriever_from_several_lookups_are_merged() -> None:
    halves = ([found("b", 0.8), found("d", 0.2)], [found("c", 0.9), found("a", 0.8)])
    merged = merge((TEXT, LaneHits(hits, cut=False)) for hits in halves)
    assert [hit.source.source_id for hit in merged[TEXT]] == ["c", "a", "b", "d"]


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
def test_chunk_offsets_match_its_text(text: str, offset: int, length: int) -> None:
    document = "x" * START + text
    (hit,) = hits(
        lanes(
            vectors={
                "default": [
                    LaneHit(source("a"), 0.5, 0.5, FoundChunk("c", offset, offset + length, ("a",), None))
                ]
            }
        ),
        10,
        said=text,
    )
    assert document[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    assert hit.chunk.text == text[offset : offset + length].strip()


def test_each_space_is_a_separate_retriever() -> None:
    given = lanes({"small": [found("a", 0.2, 0.2), found("b", 0.1, 0.1)], "large": [found("c", 0.9, 0.9)]})
    answer = hits(given, 10)
    assert {(hit.source_id, hit.ranks.vector) for hit in answer} == {("a", 1), ("c", 1), ("b", 2)}
    by_rank = ranked(given, 10, fusion="rrf")
    assert [hit.identity for hit in by_rank] == ["a", "c", "b"]
    assert by_rank[0].score == by_rank[1].score == pytest.approx(1 / 61)


def test_keyword_hits_have_a_vector_score_in_their_space() -> None:
    given = lanes({"large": [found("a", 0.9, 0.9)], "default": [found("b", 0.8, 0.8)]}, [found("c", 7, 0.4)])
    (own,) = [hit for hit in ranked(given, 10) if hit.identity == "c"]
    assert [(part.lane, part.rank) for part in own.parts] == [("vector:default", None), ("text", 1)]


def test_chunk_across_sources_represents_best_keyword_source() -> None:
    vector = [found("a", 0.9, 0.9, chunk=(0, 5), covers=("a", "b", "c"))]
    text = ChunkText("all of it", START, START + 9, ("a", "b", "c"))
    (hit,) = hits(lanes({"default": vector}, [found("b", 5.0)]), 10, c_a=text)
    assert (hit.source_id, hit.ranks.vector, hit.ranks.text) == ("b", 1, 1)
    assert (hit.chunk.text, hit.chunk.source_ids) == ("all of it", ["a", "b", "c"])
    several = [found("c", 7.0), found("b", 5.0)]
    assert hits(lanes({"default": vector}, several), 10, c_a=text)[0].source_id == "c"
    (alone,) = hits(lanes({"default": vector}), 10, c_a=text)
    assert alone.source_id == "a"
    (deleted,) = hits(lanes({"default": vector}), 10)
    assert deleted.chunk.text == SAID.strip(), "the chunk was deleted during the search"


def test_children_of_a_parent_are_one_hit_unless_grouped_by_chunk() -> None:
    children = [found(name, 0.9, 0.9, chunk=(0, 3), parent="p") for name in "ab"]
    for group_by, kept in (("source", ["a"]), ("chunk", ["c-a", "c-b"])):
        joined = ranked(lanes({"default": children}), 10, group_by=group_by)
        assert [hit.identity for hit in joined] == kept


def test_hit_includes_its_parent() -> None:
    given = lanes({"default": [found("a", 0.9, 0.9, chunk=(6, 9), parent="p")]})
    assert find_needed_texts(hit.found for hit in ranked(given, 10)) == ["p"]
    (hit,) = hits(given, 10, p=ChunkText(" a larger part ", 90, 105, ("a", "b")))
    assert hit.chunk.text == "fox"
    assert hit.parent is not None
    assert (hit.parent.text, hit.parent.start, hit.parent.end) == ("a larger part", 91, 104)
