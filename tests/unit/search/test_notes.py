from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from kg_api.graph.search import ConceptLaneHit, Meaning
from kg_api.schemas.base import build_name_id
from kg_api.schemas.concepts import Concept
from kg_api.schemas.search import CarriedConcept, Degradation
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.search import retrieve
from kg_api.search.notes import Notes
from kg_api.search.plan import SearchPlan, Wording, describe_concept_degradations
from kg_api.search.question import QueryVector
from kg_api.search.rank import fuse_lanes, join_further
from kg_api.search.retrieve import (
    CONCEPTS,
    MAX_NAMES,
    MAX_WORDS,
    PICTURES,
    ConceptLane,
    is_part_of_name,
    iterate_candidate_names,
)
from kg_api.search.scope import Scope
from kg_api.spaces.snapshot import get_snapshots
from tests.unit.search.canned import CannedGraph
from tests.unit.search.found import SPACE, found, lanes, plan

SMALL = "bge-small-en-v1.5"  # knows English only


def note(effect: str) -> Degradation:
    return Degradation(part="query", effect=effect)


def test_notes_keep_the_order_of_steps() -> None:
    notes = Notes()
    notes.record("context", [note("c")])
    notes.record("plan", [note("a"), note("b")])
    assert [each.effect for each in notes.all] == ["a", "b", "c"]


def test_without_vector_concepts_are_matched_by_name() -> None:
    vectors = [QueryVector(SPACE, None, usable=False, fault="it is down")]
    (told,) = describe_concept_degradations(Scope([], {}, []), vectors)
    assert told.part == "embedding"
    assert told.effect == "the question could not be embedded (it is down): kg matched names only"


BEE = CarriedConcept(concept_id="c", label="bee")


def test_names_are_sought_in_consecutive_words() -> None:
    assert list(iterate_candidate_names("Who is Ada Lovelace?"))[:3] == [
        "who is ada lovelace",
        "who is ada",
        "is ada lovelace",
    ]
    assert "ada lovelace" in set(iterate_candidate_names("Who is Ada Lovelace?"))
    assert {"who", "ada"} <= set(iterate_candidate_names("Who is Ada Lovelace?"))
    assert "is" not in set(iterate_candidate_names("Who is Ada Lovelace?"))


def test_names_without_spaces_use_consecutive_characters() -> None:
    found = list(iterate_candidate_names("托马斯·戴维斯在哪个球队？"))
    assert {"托马斯 戴维斯", "托马斯", "戴维斯", "球队"} <= set(found)
    assert len(found) == len(set(found))
    assert not {"在", "队", "斯 戴 "} & set(found)
    assert "ラ・ガ" not in found
    assert {"neo4j", "数据库"} <= set(iterate_candidate_names("什么是 Neo4j 数据库？"))


def plan_for(text: str, language: str | None, model: str) -> SearchPlan:
    space = replace(SPACE, identity=replace(SPACE.identity, model=model))
    scope = cast("Scope", SimpleNamespace(models=[space], names=["notes"]))
    return replace(plan(query_text=text), wording=Wording(language=language), scope=scope)


@pytest.mark.parametrize(("text", "language"), [("球队在哪个城市", "chinese"), ("김치 발효", "korean")])
def test_question_in_an_unknown_language_adds_no_concept_hits(
    text: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups = list[Any]()
    monkeypatch.setattr(retrieve, "look_up_concepts", lambda _, given: lookups.extend(given) or [[]])
    lane, asked = ConceptLane(CannedGraph(), get_snapshots(CannedGraph())), plan_for(text, language, SMALL)
    assert lane._find_seeds(asked, [text], [Meaning(SPACE, np.ones(3, np.float32), ["notes"])]) == {}
    assert len(lookups) == 1, "only names are looked up"
    assert lane.retrieve(asked, [], [found("a", 1)]) == []


@pytest.mark.parametrize(
    ("text", "language", "model", "needed"),
    [
        ("김치 발효", "korean", SMALL, True),
        ("김치 발효", "korean", "a model that kg does not know", False),
        ("Kafka 발효", "korean", SMALL, True),
        ("wer leitet die Bahn", "german", SMALL, True),
        ("who leads the railway", "english", SMALL, False),
        ("42", None, SMALL, False),
    ],
)
def test_question_in_an_unknown_language_needs_names(
    text: str, language: str | None, model: str, *, needed: bool
) -> None:
    assert retrieve._needs_names(plan_for(text, language, model)) == needed


def test_concept_hits_are_fused_by_rank() -> None:
    passages = fuse_lanes(plan(), lanes(text=[found("a", 3), found("b", 2), found("c", 1)]))
    carried = [found("x", 9, through=(BEE,)), found("b", 5, through=(BEE,))]
    joined = join_further(passages, {CONCEPTS: carried})
    assert [hit.identity for hit in joined] == ["b", "a", "x", "c"]
    assert joined[0].score == 1 / 62 + 1 / 62
    assert [hit.fused_rank for hit in joined] == [1, 2, 3, 4]
    assert [hit.passage_rank for hit in joined] == [2, 1, None, 3]
    assert [hit.ranks.concepts for hit in joined] == [2, None, 1, None]
    assert joined[0].found.through == (BEE,)
    assert joined[2].parts[-1].lane == CONCEPTS
    seen = join_further(passages, {f"{PICTURES}images": [found("x", 9), found("b", 5)]})
    assert [(hit.identity, hit.ranks.pictures, hit.ranks.vector) for hit in seen[:2]] == [
        ("b", 2, None),
        ("a", None, None),
    ]


def concept(label: str, similarity: float | None = None) -> ConceptLaneHit:
    empty: dict[str, Any] = {"description": "", "search_terms": [], "sources": 1}
    return ConceptLaneHit(Concept(concept_id=label, ontology="notes", label=label, **empty), similarity)


@pytest.mark.parametrize(
    ("name", "other", "part"),
    [
        ("york", "new york", True),
        ("art", "part of it", False),
        ("art", "art", False),
        ("学习", "机器学习", True),
    ],
)
def test_part_of_a_name_has_whole_words(name: str, other: str, *, part: bool) -> None:
    assert is_part_of_name(name, other) == part


def test_longest_names_of_a_question_count() -> None:
    named = [concept(each) for each in ("New York", "york", "art", "the part")]
    assert [each.concept.label for each in retrieve._keep_longest(named)] == ["New York", "art", "the part"]


@pytest.mark.parametrize(
    ("similarity", "weight"), [(None, 0), (0.3, 0), (0.5, 0), (0.6, 0.25), (0.9, 1), (1, 1)]
)
def test_weight_of_a_similar_concept_is_bounded(similarity: float | None, weight: float) -> None:
    calibration = SimilarityCalibration(related=0.6, unrelated=0.4)
    assert retrieve._to_weight(concept("a", similarity), calibration) == pytest.approx(weight)


def test_lookups_of_names_are_bounded() -> None:
    names = set(iterate_candidate_names(" ".join(f"word{n}" for n in range(MAX_WORDS + 1))))
    assert f"word{MAX_WORDS - 1}" in names
    assert f"word{MAX_WORDS}" not in names
    ontologies = [f"o{n}" for n in range(MAX_NAMES // 2)]
    few = list(retrieve._list_name_ids(["one of them", "one"], ontologies[:2]))
    assert few == [build_name_id(each, name) for name in ("one of them", "one") for each in ontologies[:2]]
    many = list(retrieve._list_name_ids(["one of all of them", "two words", "one"], ontologies))
    assert many == [build_name_id(each, name) for name in ("two words", "one") for each in ontologies]
