from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.concepts import network
from kg_api.concepts.network import find_both_ends, find_related, find_shortest_paths
from kg_api.concepts.search import _fuse, merge_passages
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.concepts import Appearance, ReachedConcept
from kg_api.graph.relations import report_unknown_type
from kg_api.graph.search import ConceptLaneHit, Meaning
from kg_api.schemas.concepts import Concept, ConceptHit, Evidence, Fits, RelatedConcept
from kg_api.schemas.search import Place
from tests.support.hits import make_place
from tests.unit.search.found import SPACE

Edges = set[tuple[int, int]]


def neighbours_of(edges: Edges) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for a, b in edges:
        found.setdefault(str(a), []).append(str(b))
        found.setdefault(str(b), []).append(str(a))
    return found


def all_shortest(start: str, end: str, known: Mapping[str, Sequence[str]], hops: int) -> set[tuple[str, ...]]:
    todo, found = deque[tuple[str, ...]]([(start,)]), set[tuple[str, ...]]()
    while todo:
        way = todo.popleft()
        if found and len(way) > len(next(iter(found))):
            break
        if way[-1] == end:
            found.add(way)
        elif len(way) <= hops:
            todo.extend((*way, each) for each in known.get(way[-1], ()) if each not in way)
    return found


@given(
    edges=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20),
    end=st.integers(0, 8),
    hops=st.integers(1, 4),
)
def test_all_shortest_ways_are_found_and_no_other(edges: Edges, end: int, hops: int) -> None:
    known = neighbours_of(edges)

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        return {node: ReachedConcept(known.get(node, []) * 2, cut=False) for node in nodes}

    found = find_shortest_paths("0", str(end), expand, hops, 10_000)
    assert len(found) == len(set(map(tuple, found)))
    assert set(map(tuple, found)) == all_shortest("0", str(end), known, hops)


def test_paths_are_bounded_in_number_and_length() -> None:
    known = neighbours_of({(0, middle) for middle in range(2, 9)} | {(middle, 1) for middle in range(2, 9)})
    asked: list[Sequence[str]] = []

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        asked.append(nodes)
        return {node: ReachedConcept(known[node], cut=False) for node in nodes}

    assert len(find_shortest_paths("0", "1", expand, 4, 3)) == 3
    assert [list(each) for each in asked] == [["0"], ["1"]], "from both ends, one step each"
    assert find_shortest_paths("0", "1", expand, 1, 3) == []


@pytest.mark.parametrize(("end", "hops", "found"), [("b", 2, True), ("b", 1, True), ("far", 1, False)])
def test_hub_is_expanded_from_the_other_end(end: str, hops: int, found: bool) -> None:
    """The hub has one neighbour only. The search looks one step further than its result."""
    known = {"hub": ["a"], "a": ["hub"], "b": ["hub"], "far": ["b"]}

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        return {node: ReachedConcept(known[node], cut=node == "hub") for node in nodes}

    assert find_shortest_paths("hub", end, expand, hops, 3) == ([["hub", "b"]] if found else [])


ID = "a" * 32


def hit(label: str, ontology: str = "notes", score: float = 1.0, fits: Fits | None = "meaning") -> ConceptHit:
    return ConceptHit(
        concept_id=f"{ontology}/{label}",
        ontology=ontology,
        label=label,
        description="",
        search_terms=[],
        sources=1,
        similarity=None,
        score=score,
        fits=fits,
    )


def known(identity: str) -> Concept:
    if identity != ID:
        raise NotFound(f"concept {identity!r} not found")
    return Concept(**hit("known", "of the id").model_dump(include=set(Concept.model_fields)))


def ends(
    start: str, end: str, *hits: ConceptHit, within: Sequence[str] | None = None
) -> tuple[str, str, list[str]]:
    def search(text: str, names: Sequence[str] | None) -> list[ConceptHit]:
        there = [each for each in hits if names is None or each.ontology in names]
        return [each.model_copy(update={"fits": "name"}) if each.label == text else each for each in there]

    found = find_both_ends(start, end, within, known, search)
    return found.start.concept_id, found.end.concept_id, [each.effect for each in found.degraded]


def test_exact_name_precedes_better_match() -> None:
    assert ends("lease", "right", hit("other", score=9), hit("lease"), hit("right")) == (
        "notes/lease",
        "notes/right",
        [],
    )


def test_phrase_selects_best_concept_with_note() -> None:
    hits = hit("nearest", score=2, fits=None), hit("far", score=0.1), hit("near", score=0.9)
    first, last, told = ends("what is it", "lease", *hits, hit("lease", score=0.5))
    assert (first, last) == ("notes/near", "notes/lease")
    assert told == ["no concept is called 'what is it': 'near' was taken, which fits best"]


def test_both_ends_are_of_one_ontology() -> None:
    found = ends("lease", "retry", hit("lease", "a", 9), hit("lease", "b"), hit("retry", "b"))
    assert found == ("b/lease", "b/retry", [])
    first, last, _ = ends("what", "retry", hit("best", "a", 9), hit("good", "b"), hit("retry", "b"))
    assert (first, last) == ("b/good", "b/retry"), "a phrase is looked for where the name is"


def test_phrase_is_searched_where_the_name_is() -> None:
    asked = list[tuple[str, Sequence[str] | None]]()

    def search(text: str, names: Sequence[str] | None) -> list[ConceptHit]:
        asked.append((text, names))
        if text == "retry":
            return [hit("retry", "b", fits="name"), hit("retry", "c", fits="name"), hit("tries", "b")]
        return [hit("best", "a" if names is None else names[0])]  # others are beyond the limit

    found = find_both_ends("what", "retry", None, known, search)
    assert (found.start.concept_id, found.end.concept_id) == ("b/best", "b/retry")
    assert asked == [("what", None), ("retry", None), ("what", ["b", "c"])]


@pytest.mark.parametrize("start", ["lease", ID])
def test_name_is_not_replaced_across_ontologies(start: str) -> None:
    near = [hit("other", "x"), hit("more", "y"), hit("else", "of the id")]
    with pytest.raises(InvalidInput, match="Choose both ends from one ontology") as caught:
        ends(start, "retry", hit("lease", "x"), hit("retry", "y"), *near)
    told = "'lease' is in 'x'" if start == "lease" else "'known' is in 'of the id'"
    assert str(caught.value).startswith(f"{told} and 'retry' is in 'y':")


def test_deleted_id_is_not_found() -> None:
    with pytest.raises(NotFound, match="concept 'bbb"):
        ends("b" * 32, "lease", hit("lease"))
    with pytest.raises(NotFound, match=r"no concept matches 'what' \(nearest: 'lease'"):
        ends("what", "lease", hit("lease", fits=None))


LENGTH = 12


def place(document: str, paragraph: int) -> Place:
    about = {"document": document, "document_id": document, "paragraph": paragraph, "heading": []}
    return make_place(f"{document}{paragraph}", "ten chars\n", 10 * paragraph, **about)


def appearance(document: str, paragraph: int) -> Appearance:
    own = place(document, paragraph)
    quote = Evidence(instance_id="i", quote="ten", start=own.start, end=own.start + 3, score=1, source=own)
    return Appearance(own, [quote])


def around(found: list[Appearance], window: int) -> dict[str, list[Place]]:
    return {
        each.place.source_id: [
            place(each.place.document, at)
            for at in range(
                max(0, each.place.paragraph - window), min(LENGTH, each.place.paragraph + window + 1)
            )
        ]
        for each in found
    }


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, LENGTH - 1)), unique=True, max_size=12),
    st.integers(0, 3),
)
def test_paragraphs_and_appearances_are_in_one_passage(places: list[tuple[str, int]], window: int) -> None:
    found = [appearance(*each) for each in places]
    passages = merge_passages(found, around(found, window))
    shown = [each.source_id for passage in passages for each in passage.sources]
    assert len(shown) == len(set(shown))
    wanted = {each.source_id for near in around(found, window).values() for each in near}
    assert set(shown) == wanted
    carried = [each for passage in passages for each in passage.carried_by]
    assert sorted(carried) == sorted(each.place.source_id for each in found)
    for passage in passages:
        numbers = [each.paragraph for each in passage.sources]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), "in reading order without a gap"
        assert len({each.document_id for each in passage.sources}) == 1
        assert len(passage.quotes) == len(passage.carried_by)
    if found:
        assert passages[0].source_id == found[0].place.source_id, "that of the best source first"


def test_adjacent_windows_are_joined() -> None:
    found = [appearance("a", 5), appearance("a", 2), appearance("a", 9)]
    passages = merge_passages(found, around(found, 1))
    assert [[each.paragraph for each in passage.sources] for passage in passages] == [
        [1, 2, 3, 4, 5, 6],
        [8, 9, 10],
    ]


def test_all_relationships_of_direct_neighbours_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = {"own": ["b", "b"], "b": ["own", "c", "c"]}
    stated = {
        one: [
            RelatedConcept(
                concept=Concept(**hit(label, "").model_dump(include=set(Concept.model_fields))),
                type=f"type {number}",
                outgoing=True,
                confidence=1,
                sources=["s"],
            )
            for number, label in enumerate(labels)
        ]
        for one, labels in edges.items()
    }

    def read(_: object, frontier: Sequence[str], *__: object) -> list[RelatedConcept]:
        return [each for one in frontier for each in stated[one.rpartition("/")[2]]]

    monkeypatch.setattr(network, "read_related_concepts", read)
    own = Concept(**hit("own", "").model_dump(include=set(Concept.model_fields)))
    found = find_related(cast("Any", None), own, 2, 9).related
    assert [(each.concept.label, each.type) for each in found] == [
        ("b", "type 0"),
        ("b", "type 1"),
        ("c", "type 1"),
    ]
    for limit, more in ((2, 1), (1, 1)):  # the second hop is not needed for one
        page = find_related(cast("Any", None), own, 2, limit)
        assert (len(page.related), page.more_related) == (limit, more)


def test_equal_ranks_are_ordered_by_similarity_then_sources() -> None:
    about = {"a": (0.5, 1), "b": (0.9, 1), "c": (None, 5), "e": (None, 9), "d": (None, 9), "z": (0.1, 1)}
    found = [
        ConceptLaneHit(
            Concept(**hit(label).model_dump(include={*Concept.model_fields} - {"sources"}), sources=sources),
            similarity,
        )
        for label, (similarity, sources) in about.items()
    ]
    lanes = [[each] for each in found[:-1]] + [found[-1:]] * 2
    hits = _fuse(lanes, [Meaning(SPACE, np.ones(3, np.float32), ["notes"])])
    assert [each.label for each in hits] == ["z", "b", "a", "d", "e", "c"]
    assert [each.space for each in hits] == ["default"] * 3 + [None] * 3
    assert [each.score for each in hits] == pytest.approx([2 / 61, *[1 / 61] * 5])


@pytest.mark.parametrize(("ontology", "quoted"), [("notes", "notes"), ("my notes", "'my notes'")])
def test_command_for_unknown_types_quotes_the_ontology(ontology: str, quoted: str) -> None:
    assert f"relationship-types list --ontology {quoted}`" in str(report_unknown_type(ontology, ["needs"]))
