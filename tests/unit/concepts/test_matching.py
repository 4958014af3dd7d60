from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kg_api.concepts import grounding
from kg_api.concepts.grounding import compute_grounding, form_opinion
from kg_api.concepts.merging import (
    MIN_LIKENESS,
    compare_spelling,
    find_merge_reason,
    get_min_merge_cosine,
    scale_similarity,
)
from kg_api.concepts.relations import RelationshipSearcher, group_similar_types, may_mean
from kg_api.graph.concepts import Text
from kg_api.graph.relation_search import StatedRelationship
from kg_api.graph.relations import StoredType
from kg_api.schemas.concepts import RelationshipEnd, RelationshipEvidence, RelationshipType, choose_stance
from kg_api.schemas.spaces import SimilarityCalibration
from tests.support.hits import make_place

BGE = SimilarityCalibration(related=0.65, unrelated=0.38)

TWO_THINGS = [
    ("Python 3.1", "Python 3.10"),
    ("the 80's", "80"),
    ("4 July", "July 14"),
    ("August 6, 1945", "8 June 1945"),
    ("C++", "C"),
    ("IPv4", "IPv6"),
    ("Austria", "Australia"),
    ("South Africa", "South African"),
    ("New York", "New York City"),
    ("Samuel Taylor Coleridge", "Samuel Coleridge Taylor"),
    ("Steve Job", "Steve Jobs"),
    ("Peter", "Peters"),
    ("Mary", "Maries"),
    ("window", "Windows"),
    ("Peters Red House", "Peter red house"),
    ("Who", "The Who"),
    ("http", "https"),
    ("new", "news"),
    ("glass", "glasses"),
    ("statistic", "statistics"),
    ("Mars", "Mar"),
    ("schon", "schön"),
    ("Muller", "Müller"),
    ("résumé", "resume"),
    ("résumé", "Resume"),
    ("poured", "pored"),
    ("prised", "prized"),
    ("TypeError", "type error"),
    ("__call__", "calls"),
    ("context manager", "contextmanager"),
    ("class method", "method class"),
    ("non-zéro", "nonzéro"),
    ("US", "UK"),
    ("May Queen", "Queen May"),
    ("Treaty of Versailles", "Paris Treaty"),
    ("us", "United States"),
    ("lets", "let's"),
    ("", "a"),
    ("Windows API", "window API"),
    ("she'll", "Shell"),
    ("Lévi", "Levì"),
    ("24 7", "7 24"),
    ("Of Mice", "Mice"),
    ("here's", "here"),
    ("जाती", "जीता"),
    ("पूरे", "पेरू"),
]

ONE_THING = [
    ("Antonín Dvořák", "Antonin Dvorak", "mark"),
    ("U.S. Senate", "US Senate", "mark"),
    ("Leader of the Opposition", "Leader of Opposition", "mark"),
    ("The Bank of England", "Bank of England", "mark"),
    ("Python's standard library", "Python standard library", "mark"),
    ("14th Amendment", "Fourteenth Amendment", "mark"),
    ("August 6, 1945", "6th August 1945", "mark"),
    ("Rock & Roll", "rock and roll", "mark"),
    ("default behaviour", "default behavior", "mark"),
    ("generator expression", "generator expressions", "plural"),
    ("third-party libraries", "third party library", "plural"),
    ("class", "classes", "plural of one word"),
    ("query", "queries", "plural of one word"),
    ("Treaty of Versailles", "Versailles Treaty", "order"),
    ("re-use", "reuse", "hyphen"),
    ("UK Parliament", "United Kingdom Parliament", "acronym"),
    ("European Union", "EU", "acronym alone"),
    ("Federal Bureau of Investigation", "FBI", "acronym alone"),
    ("Newton\u2019s law", "Newton's law", "mark"),
    ("Bose\u2013Einstein condensate", "Bose-Einstein condensate", "mark"),
    ("Seven Years' War", "7 Years War", "mark"),
    ("organisation", "organization", "mark"),
    ("Generator Expression", "generator expressions", "plural"),
    ("box", "boxes", "plural of one word"),
]


@pytest.mark.parametrize(("one", "other"), TWO_THINGS)
def test_different_names_stay_separate_despite_near_vectors(one: str, other: str) -> None:
    assert find_merge_reason(Text(one), Text(other), 1.0) is None
    assert find_merge_reason(Text(other), Text(one), 1.0) is None


@pytest.mark.parametrize(("one", "other", "reason"), ONE_THING)
def test_spelling_variants_match_in_both_directions(one: str, other: str, reason: str) -> None:
    assert compare_spelling(one, other) == compare_spelling(other, one) == reason


@pytest.mark.parametrize("reason", [reason for reason in MIN_LIKENESS if "alias" not in reason])
def test_each_spelling_needs_vectors_that_are_alike(reason: str) -> None:
    one, other = next((Text(one), Text(other)) for one, other, kind in ONE_THING if kind == reason)
    least = MIN_LIKENESS[reason]  # type: ignore[index]
    assert find_merge_reason(one, other, least) == reason
    assert find_merge_reason(one, other, least - 0.001) is None


def test_stated_alias_needs_similar_vectors() -> None:
    one, other = Text("myocardial infarction", terms=("Heart Attack",)), Text("heart attack")
    for pair in ((one, other), (other, one)):
        assert find_merge_reason(*pair, MIN_LIKENESS["alias"]) == "alias"
    assert find_merge_reason(one, other, MIN_LIKENESS["mutual alias"]) is None
    both = Text("heart attack", terms=("myocardial infarction", "cardiac arrest"))
    assert find_merge_reason(one, both, MIN_LIKENESS["mutual alias"]) == "mutual alias"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("synchronous call", "asynchronous call"),
        ("mutable", "immutable"),
        ("with a lock", "without a lock"),
        ("zero value", "non-zero value"),
        ("England", "New England"),
        ("king of Spain", "queen of Spain"),
    ],
)
def test_numbers_negations_and_opposites_never_match(one: str, other: str) -> None:
    a, b = Text(one, terms=(other,)), Text(other, terms=(one,))
    assert find_merge_reason(a, b, 1.0) is None
    assert find_merge_reason(b, a, 1.0) is None


def test_title_before_a_name_is_optional() -> None:
    title = "Queen Elizabeth II"
    assert find_merge_reason(Text("Elizabeth II", terms=(title,)), Text(title), 0.8) == "alias"


def test_a_number_may_be_another_name_of_words() -> None:
    guide = Text("style guide for Python code", terms=("PEP 8",))
    assert find_merge_reason(guide, Text("PEP 8"), 0.8) == "alias"
    assert find_merge_reason(guide, Text("PEP 9"), 1.0) is None
    duty = Text("collective defence of Article 5", terms=("Article 5",))
    assert find_merge_reason(duty, Text("Article 5"), 0.8) == "alias", "the number is the same"


def test_counterparts_keep_their_concepts_separate() -> None:
    one, other = Text("treaty articles", terms=("Article 5",)), Text("treaty article", terms=("Article 6",))
    assert find_merge_reason(one, other, 1.0) is None
    assert find_merge_reason(other, one, 1.0) is None
    assert find_merge_reason(one, Text("treaty article", terms=("Article 5",)), 1.0) == "plural"
    house, upper = Text("articles of law", terms=("Senate",)), Text("article of law", terms=("upper Senate",))
    assert find_merge_reason(house, upper, 1.0) is None
    assert find_merge_reason(upper, house, 1.0) is None
    bank, left = Text("river bank", terms=("left bank",)), Text("left bank", terms=("river bank",))
    assert find_merge_reason(bank, left, 1.0) == "mutual alias"
    assert find_merge_reason(Text("August 6", terms=("6 August",)), Text("6th August"), 1.0) == "mark"


def test_third_name_does_not_match_through_the_second() -> None:
    merged = Text("European Union", terms=("EU", "Union of Europe"))
    assert find_merge_reason(merged, Text("Europe Unions"), 1.0) is None
    assert find_merge_reason(merged, Text("EU"), 0.5) is None


def test_likeness_is_the_same_scale_for_all_models() -> None:
    assert scale_similarity(1.0, BGE) == scale_similarity(1.0, None) == 1
    assert scale_similarity(BGE.unrelated, BGE) == 0
    for calibration in (BGE, None):
        least = scale_similarity(get_min_merge_cosine(calibration), calibration)
        assert least == pytest.approx(min(MIN_LIKENESS.values()), abs=1e-5), "no rule looks below it"
    assert scale_similarity(0.9, BGE) > scale_similarity(0.9, None), "an unknown model is trusted least"


TEXTS = st.text(max_size=30) | st.text("aábs'’-._ 12IVXThe&", max_size=20)


@given(TEXTS, TEXTS)
def test_name_comparison_is_symmetric_for_any_text(one: str, other: str) -> None:
    assert compare_spelling(one, other) == compare_spelling(other, one)


@given(st.text("aeinrst", min_size=2, max_size=8), st.integers(0, 3000), st.integers(0, 3000))
def test_another_number_is_another_thing(word: str, one: int, other: int) -> None:
    labels = [f"{word} {number}" for number in (one, other)]
    found = find_merge_reason(Text(labels[0]), Text(labels[1], terms=(labels[0],)), 1.0)
    assert found is None or one == other


def named(name: str) -> StoredType:
    stance = choose_stance(name, None)
    return StoredType(
        name, [name], RelationshipType(name=name, relations=1, also=[], stance=stance, embedded=True)
    )


def at(degrees: float) -> NDArray[np.float32]:
    return np.asarray([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32) * 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("supports", "contradicts"),
        ("supports", "supported by"),
        ("requires", "required by"),
        ("is", "is not"),
        ("works with", "never works with"),
    ],
)
def test_opposites_are_never_proposed_however_alike(one: str, other: str) -> None:
    assert not may_mean(named(one), named(other))
    assert group_similar_types([named(one), named(other)], {one: at(0), other: at(0)}, 0.5) == []


def test_types_of_a_group_are_nearest_first() -> None:
    types = [named(name) for name in ("needs", "requires", "demands", "has")]
    vectors = {each.type_id: at(20 - 10 * n) for n, each in enumerate(types[1:3])} | {"needs": at(0)}
    ((first, near),) = group_similar_types(types, vectors, 0.9)
    assert (first, [other for other, _ in near]) == (0, [2, 1])
    assert near[0][1] == pytest.approx(np.cos(np.radians(10)))
    assert group_similar_types(types, {}, 0.9) == [], "none is embedded yet"
    between = {"needs": at(0), "requires": at(24), "demands": at(12)}
    ((first, near),) = group_similar_types(types, between, np.cos(np.radians(13)))
    assert (first, [other for other, _ in near]) == (0, [2]), "each type is in one group"


EVIDENCE = st.floats(0, 1e6)


@given(EVIDENCE, EVIDENCE)
def test_it_is_an_opinion(supporting: float, contradicting: float) -> None:
    opinion = form_opinion(supporting, contradicting)
    parts = (opinion.belief, opinion.disbelief, opinion.uncertainty)
    assert all(0 <= each <= 1 for each in parts)
    assert sum(parts) == pytest.approx(1)
    assert opinion.strength == pytest.approx((supporting + 1) / (supporting + contradicting + 2))


def evidence(source: str, confidence: float = 1) -> RelationshipEvidence:
    return RelationshipEvidence(
        relation_id=f"of {source}",
        type="t",
        statement="a t b",
        quote="",
        start=None,
        end=None,
        confidence=confidence,
        source=make_place(source),
    )


def test_omitted_evidence_of_both_sides_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = [("for", evidence(f"for {n}")) for n in range(3)]
    stated += [("against", evidence(f"against {n}")) for n in range(4)]
    monkeypatch.setattr(grounding, "read_stances", lambda *_: {"for": "supports", "against": "contradicts"})
    monkeypatch.setattr(grounding, "read_statements", lambda *_, **__: stated)
    graph: Any = None
    concept: Any = SimpleNamespace(ontology="notes", concept_id="c")
    for limit, left in ((2, 3), (3, 1), (4, 0)):
        found = compute_grounding(graph, concept, limit)
        assert found is not None
        assert found.more_evidence == left, limit


def test_statements_of_a_relationship_are_one_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [RelationshipEnd(concept_id=each, label=each) for each in "ab"]
    said = [
        (
            StatedRelationship(ends[0], "needs", "needs", ends[1], "notes", 2, evidence(source, sure)),
            near,
            "s",
        )
        for source, sure, near in (("x", 0.4, 0.9), ("y", 0.8, 0.7))
    ]
    unused: Any = SimpleNamespace(snapshots=None)
    monkeypatch.setattr(
        "kg_api.concepts.relations.get_snapshots", lambda _: SimpleNamespace(get_progress=str)
    )
    searcher = RelationshipSearcher(unused, unused)
    monkeypatch.setattr(searcher, "_read_statements", lambda *_: said)
    scope: Any = SimpleNamespace(request=SimpleNamespace(limit=5))
    (hit,) = searcher._collect_hits(scope)
    assert (hit.similarity, hit.confidence) == (0.9, 0.8), "of the nearest, and of the surest"
    assert [each.source.source_id for each in hit.evidence] == ["x", "y"]
