from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from kg_api.graph.search import MAX_CHUNKS, LaneHit
from kg_api.schemas.answers import Threshold, ThresholdSource
from kg_api.schemas.search import CarriedConcept, LeftOut
from kg_api.search.fusion import BoundFilter, build_vector_filter, left_out
from kg_api.search.question import SimilarityFilter, build_similarity_filter
from kg_api.search.rank import PlaceReader, fill_from_graph
from kg_api.search.retrieve import Hit, Ranking
from tests.unit.search.canned import CannedGraph
from tests.unit.search.found import found, lanes, plan

HALF = SimilarityFilter({"default": 0.5})
BROUGHT = (CarriedConcept(concept_id="c", label="C"),)


def bound(similar: SimilarityFilter, blind: Collection[str] = ()) -> BoundFilter:
    def space_of(ontology: str) -> str:
        return "large" if ontology == "far" else "default"

    return BoundFilter(similar, frozenset(blind), space_of)


def hits(*of: LaneHit) -> list[Hit]:
    return [Hit(each, each.source.source_id, each.score) for each in of]


def ids(filtered: Ranking) -> list[str]:
    return [hit.identity for hit in filtered.hits]


def far(each: LaneHit) -> LaneHit:
    return each._replace(source=each.source._replace(ontology="far"))


def test_dissimilar_or_unmeasured_hits_are_counted() -> None:
    kept = bound(HALF).apply(
        hits(found("a", 1, 0.8), found("b", 1, 0.5), found("c", 1), found("d", 1, 0.49), found("e", 1, 0.1))
    )
    assert ids(kept) == ["a", "b"]
    assert left_out(kept) == LeftOut(below_similarity=2, without_vector=1, nearest=0.49)


def test_each_space_has_its_own_threshold() -> None:
    both = hits(found("a", 1, 0.8), far(found("b", 1, 0.8)))
    assert ids(bound(SimilarityFilter({"default": 0.5, "large": 0.9})).apply(both)) == ["a"]
    assert ids(bound(SimilarityFilter({"large": 0.9})).apply(both)) == ["a"]
    assert ids(bound(SimilarityFilter()).apply(hits(found("c", 1)))) == ["c"]


def test_without_query_vector_hits_are_unmeasured() -> None:
    words = hits(found("a", 1), far(found("b", 1, 0.9)))
    assert ids(bound(HALF, ["default"]).apply(words)) == ["a", "b"]
    strict = bound(replace(HALF, keep_unmeasured=False), ["default"]).apply(words)
    assert (ids(strict), left_out(strict).without_vector) == (["b"], 1)


def test_dissimilar_graph_hits_are_counted_once() -> None:
    asked = plan(0.5, graph=True)
    ranking = build_vector_filter(asked).apply(hits(found("a", 1, 0.9), found("b", 1, 0.2)))
    carried = [found(name, 1, near, through=BROUGHT) for name, near in (("a", 0.9), ("b", 0.2), ("c", 0.3))]
    filled = fill_from_graph(asked, ranking, ranking.hits, carried, PlaceReader(CannedGraph()))
    assert ids(filled) == ["a"]
    assert left_out(filled) == LeftOut(below_similarity=2, nearest=0.3)


def test_concept_hits_are_kept_among_near_ones() -> None:
    similar = bound(replace(HALF, keep_carried=True))
    brought = found("b", 1, 0.1, through=BROUGHT)
    assert ids(similar.apply(hits(brought, found("a", 1, 0.8), found("d", 1, 0.1)))) == ["b", "a"]
    alone = similar.apply(hits(brought))
    assert (alone.hits, left_out(alone).below_similarity) == ([], 1)
    assert ids(bound(HALF).apply(hits(brought, found("a", 1, 0.8)))) == ["a"]


def test_deeper_search_runs_only_if_useful() -> None:
    similar = bound(HALF)
    near, reached = found("a", 0.9, 0.9), found("b", 0.4, 0.4)
    assert similar.may_hide(lanes(vectors={"default": [near]}), ["default"])
    assert not similar.may_hide(lanes(vectors={"default": [near, reached]}), ["default"])
    assert similar.may_hide(lanes(text=[near, reached]), ["default"]), "words are ordered by something else"
    assert similar.may_hide(lanes(vectors={"default": [near, reached]}), ["default", "large"])
    assert not similar.may_hide(lanes(vectors={"default": []}, text=[near]), ["default"])
    blind = bound(replace(HALF, keep_unmeasured=False), ["default"])
    assert not blind.may_hide(lanes(text=[near]), ["default"]), "none of them will be taken"


def test_lanes_are_deepened_in_few_steps() -> None:
    def depths(**asked: Any) -> list[int]:
        at, found = plan(**asked), list[int]()
        while at.depth < MAX_CHUNKS:
            at = at.deeper
            found.append(at.depth)
        return found

    assert depths() == [200, MAX_CHUNKS]
    assert depths(exact=True) == [MAX_CHUNKS], "an exact lane looks at all there is each time"


def test_explicit_threshold_rejects_unmeasured_hits() -> None:
    def threshold(source: ThresholdSource, value: float | None = 0.7) -> Threshold:
        return Threshold(space="default", min_similarity=value, source=source)

    assert build_similarity_filter({"default": threshold("request")}) == SimilarityFilter(
        {"default": 0.7}, keep_unmeasured=False
    )
    assert build_similarity_filter({"default": threshold("model")}, keep_carried=True) == SimilarityFilter(
        {"default": 0.7}, keep_carried=True
    )
    assert build_similarity_filter({"default": threshold("none", None)}) == SimilarityFilter()
