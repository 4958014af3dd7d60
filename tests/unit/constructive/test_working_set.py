"""Nodes and edges as steps build them."""

from __future__ import annotations

from kg_api.discovery.subgraph import WorkingEdge, WorkingNode, WorkingSet, connections, pagerank
from kg_api.schemas.constructive import Reached


def node(identity: str, *, hops: int = 0, rank: int = 1, step: int = 1) -> WorkingNode:
    return WorkingNode(identity, "concept", "notes", None, [Reached(step=step, hops=hops, rank=rank)])


def built(*pairs: str, seeds: str = "a") -> WorkingSet:
    """Edges between nodes of one letter."""
    made = WorkingSet()
    for letter in sorted({letter for pair in pairs for letter in pair} | {*seeds}):
        made.add(node(letter, hops=0 if letter in seeds else 1))
    for one, other in pairs:
        made.connect(WorkingEdge("related_to", one, other, "is", "is", steps=[1]))
    return made


def order(made: WorkingSet) -> str:
    return "".join(each.id for each in made.ranked())


def test_a_node_that_is_reached_twice_is_there_once_by_its_best_way() -> None:
    made = WorkingSet()
    assert made.add(node("a", hops=2, rank=1))
    assert not made.add(node("a", hops=1, rank=7, step=2))
    assert not made.add(node("a", hops=1, rank=7, step=2))
    assert [(way.hops, way.rank) for way in made.nodes["a"].ways] == [(1, 7), (2, 1)]
    assert made.nodes["a"].best.step == 2


def test_the_nearest_come_first_then_the_best_of_a_step() -> None:
    made = WorkingSet()
    for identity, hops, rank in (("a", 1, 1), ("b", 0, 2), ("c", 1, 2), ("d", 0, 1)):
        made.add(node(identity, hops=hops, rank=rank))
    assert order(made) == "dbac"
    made.rank({"c": 0.5, "a": 0.1})
    assert order(made) == "cadb"
    assert made.nodes["d"].score is None


def test_what_is_removed_takes_its_edges_along() -> None:
    made = built("ab", "bc", "ca")
    assert made.keep(lambda each: each.id != "b") == 1
    assert [edge.ends for edge in made.edges.values()] == [("c", "a")]


def test_an_edge_that_is_found_again_is_one() -> None:
    made = built("ab")
    assert not made.connect(WorkingEdge("related_to", "a", "b", "is", "is", steps=[4]))
    assert made.connect(WorkingEdge("related_to", "b", "a", "is", "is", steps=[4]))
    assert [edge.steps for edge in made.edges.values()] == [[1, 4], [4]]


def test_pagerank_goes_back_to_the_seeds() -> None:
    scores = pagerank(built("ab", "bc", "cd", "de"))
    assert abs(sum(scores.values()) - 1) < 1e-6
    assert sorted("bcde", key=lambda each: -scores[each]) == ["b", "c", "d", "e"]
    cycle = pagerank(built("ab", "bc", "ca", "xy", seeds="ax"))
    assert abs(cycle["b"] - cycle["c"]) < 1e-9
    assert pagerank(built(seeds="a")) == {"a": 1.0}


def test_pagerank_of_two_nodes_is_what_the_formula_says() -> None:
    scores = pagerank(built("ab"))
    assert abs(scores["a"] - 1 / 1.85) < 1e-6  # a = 0.85 b + 0.15, b = 0.85 a


def test_connections_are_counted() -> None:
    assert connections(built("ab", "bc", seeds="ad")) == {"a": 1.0, "b": 2.0, "c": 1.0, "d": 0.0}
