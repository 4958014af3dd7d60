"""Keyphrases: nouns and verbs of English, and other languages."""

from __future__ import annotations

import pytest

from kg_api.extraction.language import detect_language
from tests.support.keyphrases import labels


@pytest.mark.parametrize(
    "text",
    [
        "Tobias measures the time that is left.",
        "Python disallows this.",
        "The named function exits the block.",
        "The outer exception bubbles up.",
        "The small subroutine implements a lock.",
        "The given form communicates that it is over.",
        "PEPs MUST describe it, and RFCs SHOULD too.",
    ],
)
def test_verbs_that_look_like_nouns_end_no_phrase(text: str) -> None:
    verbs = {"measures", "disallows", "exits", "bubbles", "implements", "communicates"}
    verbs |= {"MUST", "SHOULD"}
    assert not [label for label in labels(text) if verbs.intersection(label.split())]


def test_a_verb_behind_a_noun_stays_one_where_a_sentence_asks_for_it() -> None:
    text = "The lock is held. Let the worker lock it. Does the worker lock now? The worker can lock it."
    assert "worker lock" not in labels(text)


def test_a_version_belongs_to_its_word() -> None:
    found = labels(
        "It has the CC0-1.0-Universal license, and that has the Apache-2.0 license. It was Python3."
    )
    assert {"CC0-1.0-Universal license", "Apache-2.0 license"} <= set(found)


GERMAN = (
    "Die Grammy-Gewinnerin Lady Gaga führte die Nationalhymne auf, und sie übersetzte in die "
    "Amerikanische Gebärdensprache, die nicht jeder von uns kann."
)
SPANISH = (
    "El mariscal de campo Peyton Manning se convirtió en el primero de la historia, y el récord estaba en "
    "las manos de John Elway."
)
RUSSIAN = (
    "Фридрих Вильгельм принял их в своих владениях. Их род вели многие, и в их числе был поэт Теодор "
    "Фонтен, а не только они."
)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", GERMAN, {"Nationalhymne", "Amerikanische Gebärdensprache"}),
        ("es", SPANISH, {"Peyton Manning", "John Elway"}),
        ("ru", RUSSIAN, {"Фридрих Вильгельм", "Теодор Фонтен"}),
    ],
)
def test_names_of_other_languages(language: str, text: str, expected: set[str]) -> None:
    assert detect_language(text.split()) == language
    assert expected <= set(labels(text))
