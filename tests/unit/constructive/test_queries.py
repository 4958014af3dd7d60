from typing import Any, cast

import pytest

from kg_api.discovery import constructive
from kg_api.discovery.subgraph import WorkingEdge, WorkingNode, WorkingSet, compute_pagerank
from kg_api.errors import InvalidInput
from kg_api.schemas.constructive import ConstructiveQuery, Cut, Reached, StepReport
from kg_api.schemas.problems import validate
from kg_api.schemas.search import Degradation

SEED = {"step": "seed", "value": "leases"}


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "steps"),
        ([{"step": "filter", "kinds": ["concept"]}], "step 1 is 'filter' and has no nodes"),
        ([{"step": "expand", "along": ["part_of"]}, SEED], "Start with 'seed'"),
        ([{"step": "match", "value": "a"}], "'seed', 'expand', 'filter', 'rank', 'limit'"),
        ([{"value": "a"}], "step"),
        ([{**SEED, "value": " "}], "blank"),
        ([{**SEED, "by": "cypher"}], "by"),
        ([{**SEED, "by": "concept", "kinds": ["image"]}], "only allowed in a seed by 'text'"),
        ([SEED, {"step": "expand", "along": ["KNOWS"]}], "along"),
        ([SEED, {"step": "expand", "along": ["appears_in"], "types": ["needs"]}], "only edges along"),
        ([SEED, {"step": "filter"}], "a filter needs kinds, where or documents"),
        ([SEED, {"step": "filter", "where": ["what"]}], "is not a condition"),
        ([SEED, {"step": "rank", "by": "pagerank", "text": "a"}], "only allowed in a rank by 'text'"),
        ([{**SEED, "by": "concept"}, {"step": "rank", "by": "text"}], "no seed has one"),
        ([SEED, {"step": "limit"}], "nodes"),
        ([SEED, {"step": "limit", "nodes": 1001}], "nodes"),
        ([{**SEED, "cypher": "MATCH (n) DETACH DELETE n"}], "cypher"),
    ],
)
def test_invalid_query_is_rejected_with_reason(steps: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validate(ConstructiveQuery, {"steps": steps})
    assert told in str(refused.value)


def node(identity: str, *, hops: int = 0, rank: int = 1, step: int = 1) -> WorkingNode:
    return WorkingNode(identity, "concept", "notes", None, [Reached(step=step, hops=hops, rank=rank)])


def built(*pairs: str, seeds: str = "a") -> WorkingSet:
    made = WorkingSet()
    for letter in sorted({letter for pair in pairs for letter in pair} | {*seeds}):
        made.add(node(letter, hops=0 if letter in seeds else 1))
    for one, other in pairs:
        made.connect(WorkingEdge("related_to", one, other, "is", "is", steps=[1]))
    return made


def order(made: WorkingSet) -> str:
    return "".join(each.id for each in made.sort_nodes())


def test_node_keeps_its_best_path() -> None:
    made = WorkingSet()
    assert made.add(node("a", hops=2, rank=1))
    assert not made.add(node("a", hops=1, rank=7, step=2))
    assert not made.add(node("a", hops=1, rank=7, step=2))
    assert [(way.hops, way.rank) for way in made.nodes["a"].ways] == [(1, 7), (2, 1)]
    assert made.nodes["a"].best.step == 2
    assert made.list_kind("document") == []


def test_edge_is_verified_by_any_of_its_steps() -> None:
    made = built("ab")
    edge = next(iter(made.edges.values()))
    edge.verified = False
    for steps in ([1], [2]):
        assert not made.connect(WorkingEdge("related_to", "a", "b", "is", "is", steps=steps))
    assert (edge.steps, edge.verified) == ([1, 2], True)


def test_nearest_nodes_precede_best_scores() -> None:
    made = WorkingSet()
    for identity, hops, rank in (("a", 1, 1), ("b", 0, 2), ("c", 1, 2), ("d", 0, 1)):
        made.add(node(identity, hops=hops, rank=rank))
    assert order(made) == "dbac"
    made.rank({"c": 0.5, "a": 0.1})
    assert order(made) == "cadb"
    assert made.nodes["d"].score is None


def test_removed_node_removes_its_edges() -> None:
    made = built("ab", "bc", "ca")
    assert made.keep(lambda each: each.id != "b") == 1
    assert [edge.ends for edge in made.edges.values()] == [("c", "a")]


def test_pagerank_favours_the_seeds() -> None:
    scores = compute_pagerank(built("ab", "bc", "cd", "de"))
    assert abs(sum(scores.values()) - 1) < 1e-6
    assert sorted("bcde", key=lambda each: -scores[each]) == ["b", "c", "d", "e"]
    cycle = compute_pagerank(built("ab", "bc", "ca", "xy", seeds="ax"))
    assert abs(cycle["b"] - cycle["c"]) < 1e-9
    assert compute_pagerank(built(seeds="a")) == {"a": 1.0}
    assert compute_pagerank(built("ab", seeds="")) == pytest.approx({"a": 0.5, "b": 0.5})


def progress(*ontologies: str, documents: frozenset[str] | None = None) -> constructive._Progress:
    query, unused = validate(ConstructiveQuery, {"steps": [SEED]}), cast("Any", None)
    return constructive._Progress(query, unused, frozenset(ontologies), unused, float("inf"), documents)


@pytest.mark.parametrize(
    ("ontology", "document", "within", "included"),
    [
        ("notes", None, None, True),
        ("notes", "a", None, True),
        ("other", "a", frozenset("a"), False),
        ("notes", "a", frozenset("a"), True),
        ("notes", "b", frozenset("a"), False),
        ("notes", None, frozenset[str](), True),
    ],
)
def test_scope_has_ontologies_and_documents(
    ontology: str, document: str | None, within: frozenset[str] | None, *, included: bool
) -> None:
    found = WorkingNode("n", "passage", ontology, document)
    assert progress("notes", documents=within).includes(found) == included


def test_nodes_are_added_up_to_both_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constructive, "MAX_SUBGRAPH_NODES", 4)
    made = progress("notes")
    assert made.add([node("a"), node("b"), node("a", hops=1)], 2) == 2
    assert (order(made.built), made.cut) == ("ab", [])
    assert made.add([node("b", hops=1), node("c"), node("d"), node("e")], 1) == 1
    assert order(made.built) == "abc"
    assert [way.hops for way in made.built.nodes["b"].ways] == [0, 1], "a further way to a known node"
    assert made.add([node("d"), node("e"), node("f")], 2) == 1
    assert order(made.built) == "abcd"
    assert [(each.by, each.left_out) for each in made.cut] == [("limit", 2), ("nodes", 2)]


def test_late_query_only_runs_its_first_step() -> None:
    late, searched = progress("notes"), list[int]()
    late.until = 0.0
    service: Any = object.__new__(constructive.ConstructiveService)
    step: Any = late.query.steps[0]
    service._seeds = {step.by: lambda _, to: searched.append(to.number)}
    for late.number in (1, 2):
        service._seed(step, late)
    assert (searched, [each.by for each in late.cut]) == ([1], ["time"])


def test_edges_join_known_nodes_up_to_the_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constructive, "MAX_SUBGRAPH_EDGES", 1)
    made = progress("notes")
    made.add([node("a"), node("b")], 9)

    def edge(one: str, other: str) -> WorkingEdge:
        return WorkingEdge("related_to", one, other, "is", "is")

    assert [made.connect(edge(*ends)) for ends in ("ac", "ab", "ab", "ba")] == [True, True, True, False]
    assert [each.ends for each in made.built.edges.values()] == [("a", "b")]


def test_note_is_recorded_once() -> None:
    made, note = progress("notes"), Degradation(part="query", effect="x")
    made.note_degraded([note])
    made.note_degraded([note, Degradation(part="query", effect="y")])
    assert [each.effect for each in made.degraded] == ["x", "y"]


def report(number: int, nodes: int, removed: int = 0, *cut: Cut) -> StepReport:
    return StepReport(
        number=number,
        step="filter",
        added=0,
        removed=removed,
        nodes=nodes,
        edges=0,
        cut=[*cut],
        milliseconds=0,
    )


@pytest.mark.parametrize(
    ("reports", "told"),
    [
        (
            [report(1, 3), report(2, 2, 1), report(3, 0, 2), report(4, 0)],
            "step 3 (filter) left nothing of 2 nodes",
        ),
        ([report(1, 0, 0, Cut(by="time", left_out=None, effect=""))], "the time limit ended"),
        ([report(1, 0, 0, Cut(by="limit", left_out=1, effect=""))], "no seed was found"),
        ([], "no seed was found"),
    ],
)
def test_empty_subgraph_is_explained(reports: list[StepReport], told: str) -> None:
    assert constructive._explain_nothing(reports).startswith(told)


def test_excluded_seed_is_explained() -> None:
    made = progress("notes")
    assert "which this query does not include" in str(constructive._report_excluded_seed("x", "other", made))
    assert "in no document that the query sees" in str(constructive._report_excluded_seed("x", "notes", made))
    made.note_cut("hub", "too many sources")
    told = str(constructive._report_excluded_seed("x", "notes", made))
    assert told == "'x' was not found in the documents that the query sees: too many sources"
