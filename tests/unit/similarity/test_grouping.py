from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.jobs import Progress
from kg_api.graph.similar import NearSource, VectorPart
from kg_api.schemas.image_search import RelatedThrough
from kg_api.schemas.search import Place
from kg_api.schemas.similarity import SimilarSearch
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.search import related, similar, source_graph
from kg_api.search.near import build_comparable, deduplicate_sources, group_duplicates, to_matched_chunk
from kg_api.search.notes import describe_embedding_progress
from kg_api.search.passage_map import Projection
from kg_api.search.related import Found, RelatedService, add_no_close_match_note, rank_by_similarity
from kg_api.search.similar import MAX_COMPARED, MAX_EXACT, SimilarityService, sample_evenly
from kg_api.search.source_graph import Vectors, find_nearest_pairs
from tests.unit.search.found import SPACE, found, place

LONG = "The lease of a job is renewed while its worker lives, and taken over when it no longer is"


def near(
    identity: str,
    similarity: float,
    text: str | None = None,
    covers: tuple[str, ...] = (),
    parent: str | None = None,
) -> NearSource:
    where: Place = place(identity, text or f"about {identity} and nothing else")
    return NearSource(0, 0, where, similarity, None, covers or (identity,), parent)


def test_each_source_and_parent_appears_once() -> None:
    found = [near("a", 0.9, parent="p"), near("a", 0.8), near("b", 0.7, parent="p"), near("c", 0.6)]
    found.append(near("d", 0.5, covers=("d", "own")))
    once = list(deduplicate_sources(found, "own", None))
    assert [(each.place.source_id, each.similarity) for each in once] == [("a", 0.9), ("c", 0.6)]
    assert list(deduplicate_sources(found, "own", 0.6)) == once
    assert list(deduplicate_sources(found, "own", 0.61)) == once[:1]


def test_near_duplicates_are_grouped_under_the_nearest() -> None:
    found = [near("a", 0.9, LONG), near("b", 0.8), near("c", 0.7, LONG.upper()), near("d", 0.6, LONG + "!")]
    groups = group_duplicates(place("own", "something else"), found, together=True)
    assert [each.first.place.source_id for each in groups] == ["a", "b"]
    assert [[each.source_id for each in group.duplicates] for group in groups] == [["c", "d"], []]
    assert [each.similarity for each in groups[0].duplicates] == [0.7, 0.6]
    assert not any(group.near_duplicate for group in groups)
    apart = group_duplicates(place("own", "something else"), found, together=False)
    assert [(each.first.place.source_id, each.others) for each in apart] == [(n, []) for n in "abcd"]


@pytest.mark.parametrize("together", [True, False])
def test_copies_of_the_requested_source_are_marked(together: bool) -> None:
    found = [near("a", 0.9), near("b", 0.8, LONG), near("c", 0.7, LONG)]
    groups = group_duplicates(place("own", LONG), found, together=together)
    assert [group.near_duplicate for group in groups] == ([False, True] if together else [False, True, True])
    assert group_duplicates(place("own"), [], together=together) == []


def test_many_parts_are_sampled_evenly() -> None:
    parts = [VectorPart(np.zeros(1, dtype=np.float32), str(number)) for number in range(100)]
    assert [part.chunk_id for part in sample_evenly(parts, 4)] == ["0", "33", "66", "99"]
    assert sample_evenly(parts[:4], 5) == parts[:4]


def test_part_is_stripped_and_missing_chunk_falls_back() -> None:
    where = place("a", "  one\n")
    assert to_matched_chunk(where, "gone", {}) == to_matched_chunk(where)
    chunk = to_matched_chunk(where)
    assert (chunk.text, chunk.start, chunk.end) == ("one", 102, 105)


def test_only_ontologies_of_the_same_model_are_compared() -> None:
    other, second = replace(SPACE, slug="other"), replace(SPACE, slot="b")
    others = {f"o{n:02}": other for n in range(11)}
    known: Any = SimpleNamespace(
        require_known=lambda _: None, answering={"z": SPACE, **others, "a": SPACE, "s": second}
    )
    scope = build_comparable(SPACE, None, known)
    assert [(space.key, names) for space, names in scope.slots] == [
        (SPACE.key, ["z", "a"]),
        (second.key, ["s"]),
    ]
    (told,) = scope.degradations()
    assert told.effect.endswith(f"'default': {', '.join([*others][:10])} and more")
    few = build_comparable(SPACE, ["o07", "a", "o03"], known)
    assert (few.ontologies, few.degradations()[0].effect.partition(": ")[2]) == (["a"], "o03, o07")
    assert build_comparable(SPACE, ["a"], known).degradations() == []


def test_progress_is_described_for_ten_ontologies() -> None:
    progress = {f"o{n}": Progress(done=n, total=20) for n in range(13)}
    told = describe_embedding_progress(progress, {f"o{n}" for n in range(2, 13)})
    assert [each.effect for each in told] == [
        f"o{n}: embedding is in progress ({n} of 20 sources). The others are not compared"
        for n in range(2, 12)
    ]


Steps = list[tuple[int, bool]]


def deepen(
    monkeypatch: pytest.MonkeyPatch,
    hits: list[NearSource],
    *,
    sources: int = 0,
    exact: bool = False,
    **asked: Any,
) -> tuple[Steps, int, bool]:
    """Search at increasing depths, of which each returns the same hits and has more."""
    steps: Steps = []

    def nearest(*given: Any, exact: bool) -> tuple[list[NearSource], bool]:
        steps.append((given[2], exact))
        return hits, True

    unused: Any = None
    snapshots = SimpleNamespace(filters=None, get_progress=str)
    monkeypatch.setattr(similar, "get_snapshots", lambda _: snapshots)
    monkeypatch.setattr(similar, "count_sources", lambda *_: sources)
    service = SimilarityService(unused)
    monkeypatch.setattr(service, "_find_nearest", nearest)
    scope: Any = SimpleNamespace(ontologies=["notes"], documents=None, sources=None)
    query: Any = SimpleNamespace(place=place("own"))
    groups, more = service._reach(query, scope, SimilarSearch.model_validate(asked), exact=exact)
    return steps, len(groups), more


def test_search_goes_deeper_until_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [near("a", 0.9), near("b", 0.8)]
    assert deepen(monkeypatch, few, limit=2) == ([(50, False)], 2, True)
    assert deepen(monkeypatch, few, limit=20)[0][:2] == [(60, False), (240, False)]
    every = [(60, False), (240, False), (960, False), (3840, True), (MAX_COMPARED, True)]
    assert deepen(monkeypatch, few, sources=MAX_EXACT, limit=20) == (every, 2, True)
    assert deepen(monkeypatch, few, sources=MAX_EXACT + 1, limit=20) == (every[:3], 2, True)
    assert deepen(monkeypatch, few, sources=MAX_EXACT + 1, limit=20, exact=True)[0][-1] == (
        MAX_COMPARED,
        True,
    )


@pytest.mark.parametrize(("least", "steps", "groups"), [(0.85, 1, 1), (0.81, 1, 1), (0.8, 5, 2)])
def test_search_ends_below_the_minimum_similarity(
    monkeypatch: pytest.MonkeyPatch, least: float, steps: int, groups: int
) -> None:
    found = deepen(monkeypatch, [near("a", 0.9), near("b", 0.8)], limit=5, min_similarity=least)
    assert (len(found[0]), *found[1:]) == (steps, groups, steps > 1)


def test_related_source_has_its_nearest_part() -> None:
    query: Any = SimpleNamespace(own=place("own"), depth=2)
    hits = [
        ("s", found("b", 1, 0.5)),
        ("s", found("a", 1, 0.5)),
        ("t", found("b", 1, 0.9)),
        ("s", found("own", 1, 1)),
    ]
    ranked = rank_by_similarity(query, [*hits, ("s", found("c", 1, 0.4))], "words")
    assert {name: (each.rank, each.similarity, each.space) for name, each in ranked.items()} == {
        "b": (1, 0.9, "t"),
        "a": (2, 0.5, "s"),
    }


def test_only_distant_texts_are_noted() -> None:
    space = replace(SPACE, calibration=SimilarityCalibration(related=0.65, unrelated=0.38))

    def texts(*similarities: float) -> Found:
        ways = enumerate(similarities, start=1)
        return {str(n): RelatedThrough(lane="words", rank=n, similarity=each) for n, each in ways}

    note = add_no_close_match_note(space, [{}, texts(0.5, 0.45)])
    assert (
        note
        == "no close match: the most similar text has a similarity of 0.50, and close matches start at 0.60"
    )
    document = {"a": RelatedThrough(lane="document", rank=1, distance=9)}
    assert add_no_close_match_note(space, [document, texts(0.5)]) is None
    assert add_no_close_match_note(space, [texts(0.61, 0.45)]) is None
    assert add_no_close_match_note(space, [{}]) is None
    assert add_no_close_match_note(replace(space, calibration=None), [texts(0.5)]) is None


def test_deleted_related_sources_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    unused: Any = None
    snapshots = SimpleNamespace(filters=None, get_progress=str)
    monkeypatch.setattr(related, "get_snapshots", lambda _: snapshots)
    monkeypatch.setattr(related, "PictureQuestions", lambda *_: None)
    there = [place(each) for each in "bcd"]
    monkeypatch.setattr(
        related, "describe_places", lambda _, ids: [each for each in there if each.source_id in ids]
    )
    one = {name: RelatedThrough(lane="document", rank=rank) for rank, name in enumerate("abc", start=1)}
    other = {name: RelatedThrough(lane="link", rank=rank) for rank, name in enumerate("cd", start=1)}
    joined = RelatedService(unused)._join([one, other], 2)
    assert [(each.source_id, [way.lane for way in each.through]) for each in joined] == [
        ("c", ["document", "link"]),
        ("b", ["document"]),
    ]
    assert [each.score for each in joined] == pytest.approx([1 / 63 + 1 / 61, 1 / 62])


def test_edges_are_nearest_first_with_links_and_copies() -> None:
    places = [place(each) for each in "abcd"]
    pairs = {(0, 1): 0.7, (1, 2): 1.0000001, (0, 3): 0.7}
    links = {(0, 1): source_graph._Link("p", 0.7), (2, 3): source_graph._Link("q", 0.1)}
    edges = source_graph._build_edges(places, pairs, {0: 6, 1: 5, 2: 5, 3: 7}, links)
    assert [(each.a, each.b, each.similarity, each.near_duplicate, each.linked) for each in edges] == [
        ("b", "c", 1.0, True, None),
        ("a", "b", 0.7, False, "p"),
        ("a", "d", 0.7, False, None),
    ]
    nodes = source_graph._build_nodes(places, pairs, {1: 5})
    assert [(each.degree, each.group) for each in nodes] == [(2, None), (2, 5), (1, None), (1, None)]


def test_missing_parts_of_a_graph_are_noted() -> None:
    places: list[Place] = [place(each) for each in "abc"]
    vectors = {each: [VectorPart(np.zeros(1, dtype=np.float32), None)] for each in "abc"}

    def effects(total: int, *spaces: str, **found: Any) -> list[str]:
        nodes = source_graph.ChosenSources(places, total)
        told = source_graph._describe_degradations(nodes, {**vectors, **found}, spaces)
        return [each.effect for each in told]

    assert effects(3, "default") == []
    assert effects(3, "default", b=[]) == ["1 of 3 sources have no vector yet: they have no edges"]
    assert effects(4, "s", "t") == [
        "sources of different spaces cannot be compared and have no edges: s, t",
        "3 of 4 sources. Raise max_nodes, or name documents",
    ]


SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=14)


def made(seed: int, counts: list[int]) -> list[list[source_graph.Floats]]:
    dice = np.random.default_rng(seed)
    return [[(dice.normal(size=4) * 3).astype(np.float32) for _ in range(count)] for count in counts]


def cosine(a: source_graph.Floats, b: source_graph.Floats) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def by_hand(
    parts: list[list[source_graph.Floats]], documents: list[str], k: int, least: float | None, *, across: bool
) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for a, own in enumerate(parts):
        near = {
            b: max(cosine(x, y) for x in own for y in other)
            for b, other in enumerate(parts)
            if b != a and not (across and documents[a] == documents[b])
        }
        best = sorted(near.items(), key=lambda each: -each[1])[:k]
        found |= {(min(a, b), max(a, b)): s for b, s in best if least is None or s >= least}
    return found


@given(SEEDS, COUNTS, st.integers(1, 5), st.none() | st.floats(-0.9, 0.9), st.booleans())
def test_pairs_equal_pairwise_comparison(
    seed: int, counts: list[int], k: int, least: float | None, across: bool
) -> None:
    parts = made(seed, counts)
    documents = ["abc"[(seed >> at) % 3] for at in range(len(parts))]
    found = find_nearest_pairs(Vectors.join(parts), documents, k, least, across=across)
    assert found == pytest.approx(by_hand(parts, documents, k, least, across=across), abs=1e-5)
    assert all(a < b for a, b in found)


def test_pairs_are_independent_of_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_graph, "BLOCK", 2)
    parts = made(7, [1, 3, 1, 1, 2, 1, 1, 1])
    found = find_nearest_pairs(Vectors.join(parts), ["d"] * len(parts), 2, None, across=False)
    assert found == pytest.approx(by_hand(parts, ["d"] * len(parts), 2, None, across=False), abs=1e-5)


random = np.random.default_rng(3)


def test_axes_follow_the_largest_variance() -> None:
    """If the points are on two of nine directions, they should be returned as they were."""
    turned, _ = np.linalg.qr(random.standard_normal((9, 9)))
    laid = random.standard_normal((500, 9)) * np.array([9, 4, *[0.01] * 7])
    vectors = (laid @ turned.T + 5).astype(np.float32)
    found = Projection.fit(vectors)
    assert np.abs(found.axes @ turned[:, :2]) == pytest.approx(np.eye(2), abs=0.05)
    variances = laid.var(axis=0)
    assert found.explained == pytest.approx(tuple(variances[:2] / variances.sum()), abs=0.01)
    assert np.abs(found.project(vectors)[:, 0]) == pytest.approx(
        np.abs(laid[:, 0] - laid[:, 0].mean()), abs=0.3
    )
