from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extraction.replies import clean_value
from kg_api.graph.concepts import clean_name
from kg_api.schemas.base import normalize_concept_name, normalize_spaces

JOINERS = "\u200c\u200d"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Ada\u202e \x00Love\u200blace", "Ada Lovelace"),
        ("a\x1bb\x85c\u2028d\u2029e", "a b c d e"),
        ("co\u00adoperate\ufeff", "cooperate"),
        ("x\U000e0041\U000e007fy\U000e0000", "xy"),
        ("\ud83dx", "x"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क\u094d\u200dष", "क\u094d\u200dष"),
        ("a\u200d", "a"),
        ("\u200ca 1\u200d2 b\u200c\u200cb", "a 12 bb"),
        (" two\t\nlines ", "two lines"),
    ],
)
def test_one_line_shows_all_it_says(text: str, seen: str) -> None:
    assert normalize_spaces(text) == seen
    assert clean_value(text, 100) == clean_name(text, 100) == seen, "there is one way to clean"


@given(st.text())
def test_a_line_is_its_own_line(text: str) -> None:
    once = normalize_spaces(text)
    assert normalize_spaces(once) == once
    assert not any(unicodedata.category(each) in {"Cc", "Cs", "Zl", "Zp"} for each in once)
    assert all(each in JOINERS for each in once if unicodedata.category(each) == "Cf")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Foo-Bar", "foo bar"),
        ("  snake_case ", "snake case"),
        ("a + b", "a b"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("C", "c"),
        ("#include", "include"),
        ("Straße", "strasse"),
        ("ＷＩＤＥ", "wide"),
        ("???", "???"),
        ("P = NP", "p = np"),
        ("P != NP", "p != np"),
        ("x > 5", "x > 5"),
        ("-1", "-1"),
        ("COVID-19", "covid 19"),
        ("@property", "@property"),
        ("$5", "$5"),
        ("Yahoo!", "yahoo"),
        ("AT&T", "at t"),
    ],
)
def test_normalized_name_ignores_case_and_punctuation(label: str, name: str) -> None:
    assert normalize_concept_name(label) == name
