"""Stems in the language of a text, and words that an ontology takes for each other."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from kg_api.graph.fulltext import MAX_ADDED, MAX_STEMS, lucene_queries, synonyms_in
from kg_api.graph.text_analysis import (
    language_of,
    scope_of_source,
    stems_of_question,
    stems_of_texts,
    stop_words_of,
)
from kg_api.schemas.languages import SynonymList

GERMAN = "Die Zwiebeln sind auf dem Brett und werden mit dem Messer geschnitten."
SPANISH = "Los jugadores de la selección han ganado en el estadio de la ciudad."
ENGLISH = "The onions are on the board and they will be cut with the knife."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "german"),
        (SPANISH, "spanish"),
        (ENGLISH, "english"),
        ("a resume is short", "english"),
        ("Neo4j Kubernetes Helm", None),
    ],
)
def test_the_language_of_a_text_is_told_by_its_stop_words(text: str, language: str | None) -> None:
    assert language_of(text.lower().split()) == language


def test_a_word_has_the_stem_of_its_other_forms_and_accents() -> None:
    (stored,) = stems_of_texts([GERMAN])
    assert {*stems_of_question(["Zwiebel"])} & {*stored.split()}
    (stored,) = stems_of_texts([SPANISH])
    asked = ["¿Cuál", "es", "la", "seleccion", "de", "los", "jugador?"]
    assert {*stems_of_question(asked)} & {*stored.split()}
    assert "kgsdie" not in stems_of_texts([GERMAN])[0].split(), "stop words have none"


def test_english_and_what_is_of_no_language_is_indexed_as_before() -> None:
    assert stems_of_texts([ENGLISH]) == stems_of_texts(["Neo4j"]) == []
    assert stems_of_question(["who", "is", "on", "call", "and", "where", "is", "the", "runbook"]) == []
    assert len(scope_of_source("o", "d", [ENGLISH])) == 2
    assert stems_of_texts(["Neo4j", "die der", "die der"]) == [], "its name is said twice"


def test_what_the_index_takes_apart_has_no_stem() -> None:
    """Its characters would be found there as if each were rare: nDCG@10 of Chinese fell by six points."""
    assert stems_of_texts([f"{SPANISH} 黑豹队的防守只丢了 308分"]) == stems_of_texts([f"{SPANISH} 308"])
    assert stems_of_question(["黑豹队的防守", "ひらがな"]) == []


def test_a_sentence_whose_language_is_not_told_is_not_guessed() -> None:
    assert stems_of_question(["zwiebel"])
    assert stems_of_question([f"xyzzy{letter}" for letter in "abcdefghij"]) == []


def test_a_query_with_stems_is_within_the_clauses_of_the_server() -> None:
    words = [f"é{n}" for n in range(64)]
    stems = [f"kgs{n}" for n in range(2 * MAX_STEMS)]
    (query,) = lucene_queries(words, None, [f"{n:032x}" for n in range(366)], stems=stems)
    assert query.count('"') / 2 + 366 <= 1024


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("restart K8S now", ["kubernetes"]),
        ("what is machine   learning?", ["ML"]),
        ("learning by machine", []),
        ("kubernetes and k8s", []),
        ("k8smith", []),
    ],
)
def test_what_an_ontology_takes_for_a_word_is_added(text: str, added: list[str]) -> None:
    assert synonyms_in(text, [["k8s", "kubernetes"], ["ML", "machine learning"]]) == added


def test_so_many_words_are_added_at_most() -> None:
    groups = [["a", *(f"b{n}x{m}" for m in range(9))] for n in range(5)]
    assert len(synonyms_in("a", groups)) == MAX_ADDED


@pytest.mark.parametrize(
    "group", [["one"], ["a", "b=c"], ["a", "?"], ["a", " "], ["a"] * 11, ["a", "x" * 101]]
)
def test_what_can_be_no_synonym_is_refused(group: list[str]) -> None:
    with pytest.raises(ValidationError, match="groups"):
        SynonymList.model_validate({"groups": [group]})


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("C++ guide", ["cpp"]),
        ("is c++11 old?", ["cpp"]),
        ("vitamin C", []),
        ("what is C#?", ["c sharp"]),
        ("a C#-developer", ["c sharp"]),
        ("c sharp and cpp", ["C#", "C++"]),
        ("a fishing net.", []),
        ("the .NET runtime", ["dotnet"]),
        ("salt+pepper, machine-learning", ["sodium chloride", "ML"]),
    ],
)
def test_signs_make_other_words(text: str, added: list[str]) -> None:
    groups = [["C#", "c sharp"], ["C++", "cpp"], [".NET", "dotnet"]]
    groups += [["salt", "sodium chloride"], ["ML", "machine learning"]]
    assert synonyms_in(text, groups) == added


def test_stop_words_of_a_language_that_is_told_count_less_even_alone() -> None:
    assert stop_words_of(["der", "Zwiebel"]) == frozenset()
    assert stop_words_of(["der", "Zwiebel"], ["german", None]) == {"der"}
    assert stop_words_of(["who", "is", "on", "der"], ["german"]) >= {"who", "is", "on", "der"}
