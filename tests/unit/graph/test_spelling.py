"""Words that no text has, and those that may be meant."""

from __future__ import annotations

import pytest

from kg_api.graph.fulltext import fuzzy_queries
from kg_api.graph.text_analysis import fold, fuzzy_clauses, may_be_misspelt, meant_by


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Kürbis", "kurbis"), ("Straße", "strasse"), ("Długość", "dlugosc"), ("œuvre", "oeuvre")),
        *(("Việt", "viet"), ("ёлка", "елка"), ("Ελλάς", "ελλασ"), ("مُحَمَّد", "محمد")),
    ],
)
def test_accents_and_case_make_no_other_word(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_vowel_signs_of_hindi_are_letters() -> None:
    assert fold("कि") != fold("का")


@pytest.mark.parametrize(
    ("word", "texts", "meant"),
    [
        ("kubernetse", ["A Kubernetes cluster", "kubernetes"], ["Kubernetes"]),
        ("Kurbis", ["der Kürbis und der Kubus"], ["Kürbis"]),
        ("wrod", ["a word, the ward"], ["word"]),
        ("hope", ["at home"], []),
        ("uber", ["über"], ["über"]),
        ("cat", ["car", "cät"], ["cät"]),
        ("percentage", ["parentage"], []),
        ("verblieb", ["er verlief", "verblieben"], ["verblieben"]),
        ("zebra", ["nothing of it"], []),
    ],
)
def test_the_nearest_word_is_meant(word: str, texts: list[str], meant: list[str]) -> None:
    assert meant_by(word, texts) == meant


def test_names_with_signs_and_numbers_are_meant_as_they_are() -> None:
    assert not any(map(may_be_misspelt, ["a~", "C++", "2026.08.1", "foo/bar", "ab", "v2x"]))
    assert may_be_misspelt("kubernetse")


def test_a_fuzzy_query_has_letters_and_our_own_signs_only() -> None:
    (asked,) = fuzzy_queries(fuzzy_clauses("Straßenbahn"), ["a"])
    assert "full_text:(straßenbahn~2 strassenbahn~2" in asked
    assert " straße*)" in asked
    assert "+scope:(" in asked
